"""The charts of Trends: data frame in, Altair chart out. Knows nothing of Streamlit or the database.

Every frame has ``point`` (its key, which a click selects) and ``label`` (what stands on the axis); ``order`` are all
labels as they come, so that text never decides what comes first and a point without a value keeps its place.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any, Final

import altair as alt
import pandas as pd

from app import theme
from app.charts import PHASE_COLORS
from app.trends.axes import EAGER_NAME, counted, legend, named, ratio_domain, ratio_ticks, x_axis
from app.vega import Spec, layered
from app.vega import named as named_data

HEIGHT: Final = 190
PICKED: Final = "picked"
_POINT: Final = ("point", "label", "torch", "started")
# With more points than this, numbers beside the marks would overlap, and with more than that even a few of them.
MOST_NUMBERED: Final = 16
MOST_MARKED: Final = 30
OUTCOMES: Final[Mapping[str, tuple[str, str]]] = {
    "ok": ("✓ ok", "#009E73"),
    "wrong": ("≠ wrong results", "#CC79A7"),
    "failed": ("✗ failed", "#D55E00"),
    "unclear": ("? can't be judged", "#E69F00"),
    "not_run": ("○ not run", "#8C8C8C"),
    "open": ("… not finished", "#56B4E9"),
}
TOTALS: Final[Mapping[str, str]] = {"graph_breaks": "graph breaks", "recompiles": "recompiles"}


def ratios(frame: pd.DataFrame, order: Sequence[str], *, margin: float) -> Spec:
    """Geometric means relative to the reference, a line a series; eager's dashed.

    ``frame``: point, label, torch, started, series, name (the series, or EAGER_NAME), ratio (missing: left out, and
    marked so), low, high (missing: no interval), cells, wrong (how many of them have wrong results there or at the
    reference: their mark is hollow; missing: none), note. ``margin``: from which difference a change counts, a grey
    band.
    """
    x = x_axis(order)
    ends = ratio_domain([*frame["ratio"], *frame["low"], *frame["high"]])
    scale = alt.Scale(type="log", nice=False, domain=list(ends))
    axis = alt.Axis(values=ratio_ticks(*ends), format=".4~f", grid=True, minExtent=34)

    def y(field: str) -> alt.Y:
        return alt.Y(f"{field}:Q", title="ratio to the reference", scale=scale, axis=axis)

    mine, eager = frame[frame["name"] != EAGER_NAME], frame[frame["name"] == EAGER_NAME]
    names = list(dict.fromkeys([*mine["name"], *eager["name"]]))
    color, fill, shape = named(names)
    tip = [
        *_who(),
        alt.Tooltip("name:N", title="line"),
        alt.Tooltip("ratio:Q", title="ratio", format=".4~f"),
        *([] if frame["low"].isna().all() else _interval()),
        alt.Tooltip("cells:Q", title="the same cells"),
    ]
    wrong = bool((mine["wrong"] > 0).any())
    inside = {}
    if wrong:
        tip.append(alt.Tooltip("wrong:Q", title="of them with wrong results"))
        within = alt.FillOpacityValue(1, condition=[{"test": "datum.wrong > 0", "value": 0}])
        inside = {"fill": fill, "fillOpacity": within}
    band = alt.Chart(named_data("band"))
    base = alt.Chart(named_data("mine")).encode(x=x, color=color, detail=alt.Detail("series:N"))
    beside = alt.Chart(named_data("eager")).encode(
        x=x, y=y("ratio"), color=color, detail=alt.Detail("series:N"), tooltip=tip
    )
    layers = [
        band.mark_rect(color=theme.NEUTRAL_COLOR, opacity=0.12).encode(y=y("from"), y2=alt.Y2("to:Q")),
        band.mark_rule(color=theme.NEUTRAL_COLOR, opacity=0.7).encode(y=y("one")),
        beside.mark_line(strokeDash=[4, 3], strokeWidth=1.5),
        beside.mark_point(size=30, filled=False, strokeWidth=1.5).encode(shape=shape),
        base.encode(y=y("low"), y2=alt.Y2("high:Q")).mark_rule(strokeWidth=2, opacity=0.7),
        base.encode(y=y("ratio")).mark_line(strokeWidth=2),
        # Hollow: not all of it is what the panel's title says.
        base.encode(y=y("ratio"), shape=shape, tooltip=tip, **inside)
        .mark_point(size=60, filled=not wrong, opacity=1, cursor="pointer")
        .add_params(_click()),
        _left_out(x),
    ]
    bounds = pd.DataFrame({"from": [1 / (1 + margin)], "to": [1 + margin], "one": [1.0]})
    kept = [*_POINT, "series", "name", "ratio", "low", "high", "cells", "wrong"]
    left = mine[mine["ratio"].isna()][[*_POINT, "note"]]
    return _finished(layers, band=bounds, mine=mine[kept], eager=eager[kept], left=left)


def outcomes(frame: pd.DataFrame, order: Sequence[str]) -> Spec:
    """How the evaluations of each point ended, stacked counts with the share that is ok above them. ``frame``: point,
    label, torch, started, rate, evaluated and a column for each of OUTCOMES."""
    present = [name for name in OUTCOMES if frame[name].sum() > 0]
    words = [OUTCOMES[name][0] for name in present]
    long = frame.melt(id_vars=[*_POINT, "rate"], value_vars=present, var_name="outcome", value_name="n")
    long = long.assign(
        rank=long["outcome"].map({name: rank for rank, name in enumerate(present)}),
        outcome=long["outcome"].map({name: OUTCOMES[name][0] for name in OUTCOMES}),
    )
    x = x_axis(order)
    colors = alt.Scale(domain=words, range=[OUTCOMES[name][1] for name in present])
    color = alt.Color("outcome:N", sort=words, scale=colors, legend=legend())
    tip = [
        *_who(),
        alt.Tooltip("outcome:N", title="outcome"),
        alt.Tooltip("n:Q", title="cells"),
        alt.Tooltip("rate:Q", title="ok of those evaluated", format=".1%"),
    ]
    bars = (
        alt.Chart(named_data("counts"))
        .mark_bar(cursor="pointer")
        .encode(x=x, y=counted("n", "cells"), color=color, order=alt.Order("rank:Q"), tooltip=tip)
        .add_params(_click())
    )
    # Where there is no room for every share, what matters is where more or fewer fail, or are wrong, than just before.
    many = len(frame) > MOST_NUMBERED
    before = {name: frame[name].shift(fill_value=0) for name in ("failed", "wrong")}
    moved = (frame["failed"] != before["failed"]) | (frame["wrong"] != before["wrong"])
    numbered = frame[moved & (len(frame) <= MOST_MARKED)] if many else frame
    text = numbered.assign(
        top=numbered[present].sum(axis=1),
        said=[
            "" if pd.isna(row["rate"]) else _amiss(row) if many else f"{row['rate']:.0%}"
            for row in numbered.to_dict("records")
        ],
    )[["label", "top", "said"]]
    share = alt.Chart(named_data("shares")).mark_text(dy=-6, fontSize=11, style="quiet")
    # A layer without rows has no extent, which Vega-Lite warns of.
    layers = [
        bars,
        *([share.encode(x=x, y=counted("top", "cells"), text=alt.Text("said:N"))] if len(text) else []),
    ]
    return _finished(layers, counts=long, shares=text)


def _amiss(row: Mapping[Hashable, Any]) -> str:
    """How many of a point's cells failed, and how many gave wrong results where any did: ``✗2 ≠1``."""
    return f"✗{row['failed']:.0f}" + (f" ≠{row['wrong']:.0f}" if row["wrong"] else "")


def totals(frame: pd.DataFrame, order: Sequence[str]) -> Spec:
    """Counts over the same cells, a line each, with the numbers beside the marks. ``frame``: point, label, torch,
    started, series, what (one of TOTALS), total (missing: left out, and marked so), cells, note."""
    shown = frame.assign(name=[TOTALS[what] for what in frame["what"]])
    x = x_axis(order)
    color, _, shape = named([TOTALS[what] for what in TOTALS])
    y = counted("total", "in all of the same cells", empty=not shown["total"].any())
    tip = [*_who(), alt.Tooltip("name:N", title="count"), alt.Tooltip("total:Q"), alt.Tooltip("cells:Q")]
    base = alt.Chart(named_data("totals")).encode(x=x, y=y, color=color, detail=alt.Detail("series:N"))
    layers = [
        base.mark_line(strokeWidth=2),
        base.encode(shape=shape, tooltip=tip)
        .mark_point(size=60, filled=True, opacity=1, cursor="pointer")
        .add_params(_click()),
    ]
    if len(order) <= MOST_NUMBERED:
        number = alt.Chart(named_data("totals")).mark_text(dy=-10, fontSize=11, style="ink")
        layers.append(number.encode(x=x, y=y, text=alt.Text("total:Q", format=",d")))
    layers.append(_left_out(x))
    left = shown[shown["total"].isna()].drop_duplicates("point")[[*_POINT, "note"]]
    return _finished(layers, totals=shown[[*_POINT, "series", "name", "total", "cells"]], left=left)


def phases(frame: pd.DataFrame, order: Sequence[str]) -> Spec:
    """Where the cold compiles of the same cells went, stacked seconds. ``frame``: point, label, torch, started, phase,
    seconds, cells; phases in the order to stack."""
    words = list(dict.fromkeys(frame["phase"]))
    ranks = {phase: rank for rank, phase in enumerate(words)}
    colors = alt.Scale(
        domain=words, range=[PHASE_COLORS[rank % len(PHASE_COLORS)] for rank in range(len(words))]
    )
    x = x_axis(order)
    tip = [
        *_who(),
        alt.Tooltip("phase:N"),
        alt.Tooltip("seconds:Q", title="s, all cells", format=",.4~g"),
        alt.Tooltip("cells:Q", title="the same cells"),
    ]
    bars = (
        alt.Chart(named_data("phases"))
        .mark_bar(cursor="pointer")
        .encode(
            x=x,
            y=alt.Y("seconds:Q", title="cold compile (s), same cells", axis=alt.Axis(minExtent=34)),
            color=alt.Color("phase:N", sort=words, scale=colors, legend=legend(columns=3)),
            order=alt.Order("rank:Q"),
            tooltip=tip,
        )
        .add_params(_click())
    )
    rows = frame.assign(rank=frame["phase"].map(ranks))
    return _finished([bars], phases=rows[[*_POINT, "phase", "seconds", "cells", "rank"]])


def marked(found: Spec, label: str) -> Spec:
    """A copy of the spec of a chart of this module, with a pale column behind the point of this label."""
    x = next(layer["encoding"]["x"] for layer in found["layer"] if "x" in layer.get("encoding", {}))
    column = {
        "data": {"values": [{"label": label}]},
        "mark": {"type": "rect", "color": theme.NEUTRAL_COLOR, "opacity": 0.13},
        "encoding": {"x": x},
    }
    return {**found, "layer": [column, *found["layer"]]}


def _who() -> list[alt.Tooltip]:
    return [
        alt.Tooltip("point:N", title="point"),
        alt.Tooltip("torch:N", title="torch"),
        alt.Tooltip("started:N", title="measured (UTC)"),
    ]


def _interval() -> list[alt.Tooltip]:
    return [
        alt.Tooltip("low:Q", title="95% interval from", format=".4~f"),
        alt.Tooltip("high:Q", title="to", format=".4~f"),
    ]


def _click() -> alt.Parameter:
    return alt.selection_point(name=PICKED, fields=["point"], on="click", empty=False, toggle=False)


def _left_out(x: alt.X) -> alt.Chart:
    """A ring at the foot of the panel for a point without a value; how high it is means nothing."""
    tip = [*_who(), alt.Tooltip("note:N", title="no value")]
    marks = alt.Chart(named_data("left"))
    return marks.mark_text(text="○", size=15, color=theme.NEUTRAL_COLOR, fontWeight="bold").encode(
        x=x, y=alt.YValue(HEIGHT - 9), tooltip=tip
    )


def _finished(layers: Sequence[Any], **frames: pd.DataFrame) -> Spec:
    """The layers in the size of a panel, with the frames that they name."""
    return layered(layers, frames, height=HEIGHT)
