"""The heat map of a comparison: a tile a cell. Data frame in, Altair chart out; knows nothing of Streamlit."""

from __future__ import annotations

from typing import Any, Final

import altair as alt
import pandas as pd

from app import metric_words
from app.matrix.words import FAILURE, FIXED, NOT_COMPARED, OPEN, SETTLED
from app.vega import Spec, layered, named

# Fixed, so that 1% of noise never looks like much: what is beyond the ends has their colour.
ENDS: Final = (0.9, 1.1)
# From here on the scale is so dark that only white can be read on it.
_DARK_BEYOND: Final = 0.075
TILE_HEIGHT: Final = 38
# A map of fewer places leaves the rest of its width free: one tile across the page would be a bar.
LEAST_PLACES: Final = 5
# Up to five marks a tile; of more tiles the worst rows are drawn, and the table has all.
MOST_TILES: Final = 900
PICKED: Final = "picked"

_PAPER: Final = "#FFFFFF"
_INK: Final = "#1F2430"
_FAILED_EDGE: Final = "#B84A00"
_FIXED_EDGE: Final = "#5E3C99"
_DRAWN: Final = (
    *("cell", "row", "place", "workload", "bucket", "variant", "target", "metric", "kind", "shade", "edge"),
    *("word", "base_text", "candidate_text", "change", "interval", "why"),
)
# What stands in a tile: column, distance from its middle, size of the letters, weight.
_LINES: Final = (("said", -7, 12, "bold"), ("bucket", 8, 10.5, "normal"), ("title", 21, 10.5, "normal"))
_THIRD_LINE: Final = 14
_STRIPES: Final = 14


def worst_rows(frame: pd.DataFrame) -> pd.DataFrame:
    """The cells of as many rows of the map as can be drawn, of the first in ``frame`` (worst first)."""
    if len(frame) <= MOST_TILES:
        return frame
    sizes = frame.groupby("row", sort=False)["cell"].count().cumsum()
    return frame[frame["row"].isin({frame["row"].iloc[0], *sizes.index[sizes <= MOST_TILES]})]


def matrix(frame: pd.DataFrame, *, base: str, candidate: str) -> Spec:
    """A row a workload (in the order of ``frame``), a column a bucket's place in its walk; see ``matrix_frames.rows``.

    Settled tiles are filled by their ratio, those without a verdict, or with one that no rerun confirmed, faintly and with
    a dashed edge; a cell that was not compared is hatched, one that failed has no filling and a thick edge, one whose
    results are wrong, or that is fixed, a thick edge. Each has its icon and words. A click selects the tile's
    ``cell`` (see ``PICKED``).
    """
    order = list(dict.fromkeys(frame["row"]))
    most = int(frame["place"].max())
    drawn = frame[list(_DRAWN)].assign(
        said=frame["icon"] + " " + frame["change"],
        title=["" if metric == "status" else metric_words.title(metric) for metric in frame["metric"]],
        dark=(frame["kind"] == SETTLED) & ((frame["shade"] - 1).abs() > _DARK_BEYOND),
    )
    shared = _place(order, most)
    picked = alt.selection_point(name=PICKED, fields=["cell"], on="click", empty=False, toggle=False)
    tips = _tips(base, candidate)

    everything = alt.Chart(named("cells"))

    def tiles(kind: str) -> alt.Chart:
        return everything.transform_filter(f"datum.kind == '{kind}'")

    # Where tiles are about different metrics each says of which.
    several = drawn["metric"].nunique() > 1
    lines = _LINES if several else _LINES[:2]
    color = _color(legend=bool(frame["ratio"].notna().any()))
    ink = alt.ColorValue(_INK, condition=[{"test": "datum.dark", "value": _PAPER}])
    edge = alt.StrokeValue(
        _FAILED_EDGE, condition=[{"test": f"datum.edge == '{FIXED}'", "value": _FIXED_EDGE}]
    )
    words = everything.encode(**shared, color=ink, tooltip=tips)
    layers: list[Any] = [
        everything.mark_rect(color=_PAPER, cursor="pointer")
        .encode(**shared, tooltip=tips)
        .add_params(picked),
        tiles(SETTLED).mark_rect(cursor="pointer").encode(**shared, color=color, tooltip=tips),
        tiles(OPEN)
        .mark_rect(opacity=0.4, stroke=_INK, strokeDash=[3, 3], strokeOpacity=0.9, cursor="pointer")
        .encode(**shared, color=color, tooltip=tips),
        tiles(NOT_COMPARED).mark_rect(color=_hatched(), cursor="pointer").encode(**shared, tooltip=tips),
        tiles(FAILURE)
        .mark_rect(color=_PAPER, strokeWidth=2.5, cursor="pointer")
        .encode(**shared, stroke=edge, tooltip=tips),
        everything.transform_filter("datum.edge != ''")
        .mark_rect(fillOpacity=0, strokeWidth=2.5, cursor="pointer")
        .encode(**shared, stroke=edge, tooltip=tips),
        *(
            words.mark_text(
                dy=down - _THIRD_LINE / 2 * several,
                fontSize=size,
                fontWeight=weight,
                limit=_within(),
                cursor="pointer",
            ).encode(text=alt.Text(f"{field}:N"))
            for field, down, size, weight in lines
        ),
    ]
    height = TILE_HEIGHT + _THIRD_LINE * several
    padding = {"bandPaddingInner": 0.06, "bandPaddingOuter": 0.03}
    return layered(layers, {"cells": drawn}, height={"step": height}, config={"scale": padding})


def _place(order: list[str], most: int) -> dict[str, Any]:
    places = list(range(1, max(most, LEAST_PLACES) + 1))
    title = "shape bucket, in the order in which a walk visits them"
    x_axis = alt.Axis(
        title=title,
        orient="top",
        titleAnchor="start",
        values=places[:most],
        labelAngle=0,
        ticks=False,
        domain=False,
    )
    y_axis = alt.Axis(title=None, labelLimit=230, ticks=False, domain=False)
    return {
        "x": alt.X("place:O", scale=alt.Scale(domain=places), axis=x_axis),
        "y": alt.Y("row:N", sort=order, scale=alt.Scale(domain=order), axis=y_axis),
    }


def _color(*, legend: bool) -> alt.Color:
    """The diverging scale, with its legend where a tile has a ratio."""
    low, high = ENDS
    shown = alt.Legend(
        title="candidate ÷ base",
        orient="top",
        direction="horizontal",
        gradientLength=280,
        gradientThickness=10,
        gradientOpacity=1,
        values=[low, (1 + low) / 2, 1.0, (1 + high) / 2, high],
        labelExpr="datum.value == 1 ? 'equal' : format(datum.value - 1, '+.0%')",
        labelOverlap=False,
    )
    scale = alt.Scale(scheme="purpleorange", domain=list(ENDS), domainMid=1.0, clamp=True)
    return alt.Color("shade:Q", scale=scale, legend=shown if legend else None)


def _hatched() -> dict[str, Any]:
    """Stripes across a tile: a gradient with hard steps, which every renderer of Vega draws."""
    stops = []
    for stripe in range(_STRIPES):
        tone = "#C9CDD3" if stripe % 2 else "#EEF0F2"
        stops += [
            {"offset": stripe / _STRIPES, "color": tone},
            {"offset": (stripe + 1) / _STRIPES, "color": tone},
        ]
    return {"gradient": "linear", "x1": 0, "y1": 0, "x2": 1, "y2": 1, "stops": stops}


def _within() -> dict[str, str]:
    """The width that words have in a tile: longer ones end in dots."""
    return {"expr": "bandwidth('x') - 6"}


def _tips(base: str, candidate: str) -> list[alt.Tooltip]:
    named = (
        ("workload", "workload"),
        ("bucket", "bucket"),
        ("variant", "variant"),
        ("target", "target"),
        ("word", "verdict"),
        ("metric", "metric"),
        ("base_text", base),
        ("candidate_text", candidate),
        ("change", "change"),
        ("interval", "interval"),
        ("why", "why"),
    )
    return [alt.Tooltip(f"{field}:N", title=title) for field, title in named]
