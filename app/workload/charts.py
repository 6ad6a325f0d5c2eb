"""Charts of Workload that are not of a measured quantity on a log axis: counts, and stacked phases.

Data frame in, Altair chart out; knows no Streamlit.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import altair as alt
import pandas as pd

from app import charts, metric_words
from app.pair.numbers import PHASES, REST
from app.vega import Spec, named

# With more versions than this the numbers beside the marks would overlap.
MOST_NUMBERED: Final = 12
# Never less on the axis of a count, so that its ticks are whole numbers.
_LEAST: Final = 4.0
_LARGE: Final = 100_000.0


def counts(
    medians: pd.DataFrame,
    missing: pd.DataFrame,
    *,
    title: str,
    versions: Sequence[str],
    buckets: Sequence[str],
    legend: bool = True,
) -> Spec:
    """A count over torch versions, a line a bucket, from 0 on; what has none is on a rail below. A click on a mark
    selects its evaluation (see ``charts.PICKED``). Frames: see ``measures``."""
    color, fill, shape = charts.bucket_encodings(buckets, legend)
    x = charts.version_axis(versions)
    high = max(_LEAST, 1.15 * float(medians["median"].max())) if len(medians) else _LEAST
    low = -high * charts.RAIL_SHARE / (1 - charts.RAIL_SHARE) if len(missing) else 0.0
    # Of large numbers (bytes) round ones, written short.
    step = max(1, int(float(f"{high / 5:.0e}")))
    form = "d" if high < _LARGE else "~s"
    axis = alt.Axis(values=list(range(0, int(high) + 1, step)), format=form, grid=True, minExtent=34)
    y = alt.Y("median:Q", title=title, scale=alt.Scale(domain=[low, high], nice=False), axis=axis)
    filled = charts.with_gaps(medians, versions, buckets)
    data = {"medians": filled}
    base = alt.Chart(named("medians")).encode(x=x, y=y, color=color)
    tip = [
        alt.Tooltip("version:N", title="torch"),
        alt.Tooltip("bucket:N", title="bucket"),
        alt.Tooltip("median:Q", title=title, format=",d"),
    ]
    # Buckets often have the same count: the later one's mark is smaller and lies on the earlier one's.
    # Two at least: a range of one number draws nothing.
    sizes = [max(30, 150 - 40 * place) for place in range(max(2, len(buckets)))]
    size = alt.Size("bucket:N", scale=alt.Scale(domain=list(buckets), range=sizes), legend=None)
    layers = [
        base.mark_line(strokeWidth=2),
        base.mark_point(opacity=1, cursor="pointer")
        .encode(shape=shape, fill=fill, size=size, tooltip=tip)
        .add_params(_click()),
    ]
    if len(missing):
        rail, data["missing"] = charts.failure_rail(missing, x, color, buckets)
        layers += rail
    elif medians.empty:
        layers.append(charts.remark("not measured"))
    return charts.panel(layers, **data)


def phases(frame: pd.DataFrame, *, versions: Sequence[str]) -> Spec:
    """Where a bucket's cold compiles went, a stacked bar a version. ``frame``: see ``measures.phases``, not empty."""
    order = [metric_words.title(metric) for metric in PHASES] + [REST]
    present = [phase for phase in order if phase in set(frame["phase"])]
    colors = alt.Scale(domain=present, range=[charts.PHASE_COLORS[order.index(one)] for one in present])
    ranked = frame.assign(rank=[order.index(phase) for phase in frame["phase"]])
    bars = (
        alt.Chart(named("phases"))
        .mark_bar(cursor="pointer")
        .encode(
            x=charts.version_axis(versions),
            y=alt.Y("seconds:Q", title="cold compile, medians (s)", axis=alt.Axis(minExtent=34)),
            color=alt.Color(
                "phase:N", sort=present, scale=colors, legend=alt.Legend(orient="top", title=None, columns=5)
            ),
            order=alt.Order("rank:Q"),
            tooltip=[
                alt.Tooltip("version:N", title="torch"),
                alt.Tooltip("phase:N"),
                alt.Tooltip("seconds:Q", title="s", format=",.4~g"),
            ],
        )
        .add_params(_click())
    )
    return charts.panel([bars], phases=ranked)


def _click() -> alt.Parameter:
    name = charts.PICKED[0]
    return alt.selection_point(name=name, fields=["evaluation"], on="click", empty=False, toggle=False)
