"""Data frame in, Altair chart out. Knows nothing of Streamlit or the database, so reports can draw the same.

Every chart takes its orders (versions, buckets) from the caller: text never decides what comes first.
A failed measurement has a mark of its own on a rail below the data and never a value.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Final

import altair as alt
import pandas as pd

from app import theme
from app.vega import Spec, inline, layered, named

PANEL_HEIGHT: Final = 190
# The part of a panel's height kept free below the data for the rail of failures.
RAIL_SHARE: Final = 0.2
# A browser needs 15 s for 100,000 marks; beyond this many, the replicas' points give way to the interval.
MOST_POINTS: Final = 4_000
# First letters of statuses that are their marks on the rail: measured, but no value of the axis.
OWN_SIGNS: Final = ("∞", "=")
# Slanting labels for which half of a laptop's window has room.
MOST_LABELLED: Final = 16
# Selections of ``history``: the evaluation behind a median, and the one behind a failure.
PICKED: Final = ("picked", "picked_failure")

PHASE_COLORS: Final = ("#0072B2", "#56B4E9", "#009E73", "#E69F00", "#8C8C8C")
_FOUR_DIGITS: Final = ",.4~g"


def history(
    points: pd.DataFrame,
    summary: pd.DataFrame,
    failures: pd.DataFrame,
    *,
    title: str,
    unit: str,
    versions: Sequence[str],
    buckets: Sequence[str],
    legend: bool = True,
    domain: tuple[float, float] | None = None,
    apart: Mapping[str, str] | None = None,
) -> Spec:
    """One metric of one workload over torch versions: a line a bucket through the medians, a band where an
    interval exists, and each replica as a point. A click on a mark selects its evaluation (see ``PICKED``).

    ``points``: version, bucket, replica, value. ``summary``: version, bucket, median, low, high (null: no interval),
    n, evaluation, note (null: none; else the median's mark is hollow). ``failures``: version, bucket, status (as shown), failed (false: there is no
    value, but nothing failed), reason, evaluation. All values are in ``unit``; ``domain``: ends of the axis; ``apart``: of each version a name: a line joins only versions of one name.
    """
    color, fill, shape = bucket_encodings(buckets, legend)
    x = version_axis(versions)
    ends = domain or panel_domain(points, summary, rail=not failures.empty)
    measured = not (points.empty and summary.empty)
    scale = alt.Scale(type="log", nice=False, domain=list(ends))
    shared = {"scale": scale, "axis": value_axis(*ends, rail=not failures.empty, measured=measured)}

    def y(field: str) -> alt.Y:
        return alt.Y(f"{field}:Q", title=f"{title} ({unit})", **shared)

    if len(points) > MOST_POINTS:
        points = points.iloc[:0]
    medians = with_gaps(summary, versions, buckets)
    medians["line"] = [(apart or {}).get(version, "") for version in medians["version"]]
    data = {"points": points, "medians": medians}
    banded = "medians"
    if not medians["low"].notna().any():
        banded, data["none"] = "none", medians.iloc[:0]
    joined = alt.Detail("line:N")
    band = alt.Chart(named(banded)).encode(x=x, y=y("low"), y2=alt.Y2("high:Q"), color=color, detail=joined)
    dots = alt.Chart(named("points")).encode(
        x=x, y=y("value"), color=color, shape=shape, tooltip=point_tip(unit)
    )
    line = alt.Chart(named("medians")).encode(x=x, y=y("median"), color=color)
    # A median with a note is hollow: it is not the time of what its panel's title says.
    inside = alt.FillOpacityValue(1, condition=[{"test": "isValid(datum.note)", "value": 0}])
    picked = alt.selection_point(name=PICKED[0], fields=["evaluation"], on="click", empty=False, toggle=False)
    layers = [
        band.mark_area(opacity=0.14),
        band.mark_rule(opacity=0.55, strokeWidth=1.5),
        dots.mark_point(size=18, opacity=1, strokeWidth=1, aria=False),
        line.encode(detail=joined).mark_line(strokeWidth=2),
        line.mark_point(size=60, opacity=1, cursor="pointer")
        .encode(shape=shape, fill=fill, fillOpacity=inside, tooltip=median_tip(medians, unit))
        .add_params(picked),
    ]
    if not failures.empty:
        rail, data["missing"] = failure_rail(failures, x, color, buckets)
        layers += rail
    elif not measured:
        layers.append(remark("not measured"))
    return panel(layers, **data)


def panel(layers: Sequence[alt.Chart], **frames: pd.DataFrame) -> Spec:
    """The layers in the size of a panel, with the frames that they name."""
    return layered(layers, frames, height=PANEL_HEIGHT)


def version_axis(versions: Sequence[str]) -> alt.X:
    """Versions in the given order, all of them, whether or not anything was measured."""
    axis = alt.Axis(
        title="torch",
        values=labelled(versions),
        labelAngle=0 if len(versions) <= 6 else -40,
        labelOverlap=False,
        grid=False,
        labelLimit=120,
    )
    scale = alt.Scale(domain=list(versions), padding=0.4)
    return alt.X("version:N", sort=list(versions), scale=scale, axis=axis)


def labelled(order: Sequence[str], most: int = MOST_LABELLED) -> list[str]:
    """Which of many in order have a label on the axis: the last always, the first always, between them every n-th. A
    renderer that drops those for which there is no room drops the last one, which is the one that is looked for."""
    if len(order) <= most:
        return list(order)
    every = math.ceil((len(order) - 1) / (most - 1))
    places = list(range(len(order) - 1, every - 1, -every))
    return [order[place] for place in (0, *reversed(places))]


def value_axis(low: float, high: float, *, rail: bool, measured: bool) -> alt.Axis:
    """The log axis of a measured quantity: no number on the rail of failures, none at all if nothing was measured."""
    floor = low * (high / low) ** RAIL_SHARE if rail else low
    values = log_ticks(floor, high) if measured else []
    return alt.Axis(values=values, format="~s" if high >= 10_000 else "~g", grid=True, minExtent=34)


def log_ticks(low: float, high: float) -> list[float]:
    """Round numbers from ``low`` to ``high``: the coarsest of three sets that has at least three of them."""
    found: list[float] = []
    for steps in ((1.0,), (1.0, 2.0, 5.0), (1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0)):
        powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
        every = [float(f"{step}e{power}") for power in powers for step in steps]
        found = [value for value in every if low <= value <= high]
        if len(found) >= 3:
            break
    return found


def bucket_encodings(buckets: Sequence[str], legend: bool) -> tuple[alt.Color, alt.Fill, alt.Shape]:
    """Colour, fill and shape by bucket, in declared order, under one legend above the panel (or none)."""
    shown = (
        alt.Legend(orient="top", title=None, columns=4, labelLimit=160, symbolOpacity=1)
        if legend and list(buckets) != [theme.NO_BUCKET]
        else None
    )
    order = list(buckets)
    colors = alt.Scale(domain=order, range=[theme.PALETTE[i % len(theme.PALETTE)] for i in range(len(order))])
    shapes = alt.Scale(domain=order, range=[theme.SHAPES[i % len(theme.SHAPES)] for i in range(len(order))])
    return (
        alt.Color("bucket:N", sort=order, scale=colors, legend=shown),
        alt.Fill("bucket:N", sort=order, scale=colors, legend=None),
        alt.Shape("bucket:N", sort=order, scale=shapes, legend=shown),
    )


def _who() -> list[alt.Tooltip]:
    return [alt.Tooltip("version:N", title="torch"), alt.Tooltip("bucket:N", title="bucket")]


def point_tip(unit: str) -> list[alt.Tooltip]:
    """What a replica's point says."""
    value = alt.Tooltip("value:Q", title=f"replica's value ({unit})", format=_FOUR_DIGITS)
    return [*_who(), alt.Tooltip("replica:Q", title="replica"), value]


def median_tip(medians: pd.DataFrame, unit: str) -> list[alt.Tooltip]:
    """What a median's mark says; a column in which no row has anything is left out."""
    numbers = (("median", f"median ({unit})"), ("low", "95% interval from"), ("high", "to"))
    tips = [alt.Tooltip(f"{field}:Q", title=title, format=_FOUR_DIGITS) for field, title in numbers]
    tips += [alt.Tooltip("n:Q", title="replicas"), alt.Tooltip("note:N", title="note")]
    known = [field for field in ("median", "low", "high", "n", "note") if medians[field].notna().any()]
    return [*_who(), *(tip for tip in tips if tip["shorthand"].partition(":")[0] in known)]


def with_gaps(summary: pd.DataFrame, versions: Sequence[str], buckets: Sequence[str]) -> pd.DataFrame:
    """A row for every version and bucket, null where nothing was measured, so that no line bridges a failure."""
    every = pd.MultiIndex.from_product([versions, buckets], names=["version", "bucket"])
    filled = summary.set_index(["version", "bucket"]).reindex(every).reset_index()
    # A column of nothing but nulls has no type, and its NaN would not be JSON.
    numbers = {name: filled[name].astype("float64") for name in ("median", "low", "high", "n", "evaluation")}
    return filled.assign(**numbers, note=filled["note"].astype("str"))


def log_domain(values: Sequence[float], rail: bool) -> tuple[float, float]:
    """Ends of a log axis around positive ``values``, at least a factor of two apart, so that noise of one percent
    does not fill the panel; with ``rail`` the lower end makes room for the marks of failures."""
    low, high = min(values), max(values)
    widen = math.sqrt(2 / (high / low)) if high / low < 2 else 1.0
    low, high = low / widen, high * widen
    # Room for a mark's own size: 5% of the value, or of the axis where that is more.
    margin = max(1.05, (high / low) ** 0.05)
    low, high = low / margin, high * margin
    if rail:
        low /= (high / low) ** (RAIL_SHARE / (1 - RAIL_SHARE))
    return low, high


def panel_domain(points: pd.DataFrame, summary: pd.DataFrame, rail: bool) -> tuple[float, float]:
    """The log axis that holds every point and interval; 1 to 10 (never labelled) where nothing was measured."""
    columns = [points["value"], summary["median"], summary["low"], summary["high"]]
    values = pd.concat([column.astype("float64") for column in columns]).dropna()
    values = values[values > 0]
    return log_domain(values.tolist(), rail) if len(values) else (1.0, 10.0)


def failure_rail(
    failures: pd.DataFrame, x: alt.X, color: alt.Color, buckets: Sequence[str]
) -> tuple[list[alt.Chart], pd.DataFrame]:
    """Layers: a cross for a failed bucket, a ring for one that was not to be measured, for others the sign of their status, stacked from the bottom of the
    panel in declared order; how high they are is no value. With them the frame that they draw as ``missing``."""
    ranks = {bucket: rank for rank, bucket in enumerate(buckets)}
    ordered = failures.assign(order=failures["bucket"].map(ranks)).sort_values(["version", "order"])
    place = ordered.groupby("version").cumcount()
    # Heights are shares of the panel: with many failed buckets the marks overlap rather than climb into the data.
    step = min(0.06, (RAIL_SHARE - 0.04) / (int(place.max()) + 1))
    ordered["down"] = PANEL_HEIGHT * (1 - 0.04 - place * step)
    tips = [*_who(), alt.Tooltip("status:N", title="no value"), alt.Tooltip("reason:N", title="reason")]
    picked = alt.selection_point(name=PICKED[1], fields=["evaluation"], on="click", empty=False, toggle=False)
    ordered["reason"] = ordered["reason"].astype("str")
    ordered["sign"] = [
        "×" if failed else status[0] if status[:1] in OWN_SIGNS else "○"
        for failed, status in zip(ordered["failed"], ordered["status"], strict=True)
    ]
    # What was measured and has no place on the axis is told apart from what was not measured, in words.
    own = dict.fromkeys(ordered.loc[ordered["sign"].isin(list(OWN_SIGNS)), "status"])
    marks = (
        alt.Chart(named("missing"))
        .mark_text(size=18, fontWeight="bold", baseline="middle", cursor="pointer")
        # Pixels, without a scale: these are no values of the axis.
        .encode(x=x, y=alt.Y("down:Q", scale=None), color=color, text=alt.Text("sign:N"), tooltip=tips)
        .add_params(picked)
    )
    rail = alt.Chart(inline(word=" · ".join(["no value", *own]))).encode(
        y=alt.YValue(PANEL_HEIGHT * (1 - RAIL_SHARE))
    )
    quiet = theme.NEUTRAL_COLOR
    word = rail.mark_text(align="right", baseline="top", dy=3, dx=-2, fontSize=10, style="quiet")
    drawn = [
        rail.mark_rule(strokeDash=[2, 3], color=quiet, opacity=0.6),
        word.encode(x=alt.XValue("width"), text=alt.Text("word:N")),
        marks,
    ]
    return drawn, ordered.drop(columns="order")


def remark(text: str) -> alt.Chart:
    """Words in the upper right corner of a panel."""
    mark = alt.Chart(inline(word=text)).mark_text(align="right", baseline="top", dx=-4, dy=4, style="quiet")
    return mark.encode(x=alt.XValue("width"), y=alt.YValue(0), text=alt.Text("word:N"))


def phases(frame: pd.DataFrame, *, unit: str = "s") -> Spec:
    """Where a cold compile went: one stacked bar. ``frame``: phase, value (in ``unit``), in the order to stack."""
    order = frame["phase"].tolist()
    ends = frame["value"].cumsum()
    colors = [PHASE_COLORS[i % len(PHASE_COLORS)] for i in range(len(order))]
    color = alt.Color(
        "phase:N",
        sort=order,
        scale=alt.Scale(domain=order, range=colors),
        legend=alt.Legend(orient="top", title=None, labelLimit=220),
    )
    title = f"cold compile, medians of the replicas ({unit})"
    bar = (
        alt.Chart(named("phases"))
        .mark_bar(height=18)
        .encode(
            x=alt.X("start:Q", title=title, axis=alt.Axis(grid=False, tickCount=8)),
            x2=alt.X2("end:Q"),
            color=color,
            tooltip=[alt.Tooltip("phase:N"), alt.Tooltip("value:Q", title=unit, format=_FOUR_DIGITS)],
        )
    )
    spans = frame.assign(start=ends - frame["value"], end=ends)
    return layered([bar], {"phases": spans}, height=32)
