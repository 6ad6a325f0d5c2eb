"""A picture of lanes as an Altair chart. Knows nothing of Streamlit, nor whether the picture is of a model or of a trace."""

from __future__ import annotations

import json
from typing import Any, Final

import altair as alt

from app import theme
from app.timeline.picture import KINDS, Picture
from app.vega import Spec, layered, named

LANE_HEIGHT: Final = 44
# Half the height of a bar, as a share of its lane's.
_HALF: Final = 0.3
# Bars in which words can be read; of more, pointing at them says what they are.
MOST_LABELS: Final = 60
# The width of a letter as a share of the picture's, at the width of a laptop's window.
_LETTER: Final = 0.008
# A browser draws this many at once and stays quick.
MOST_MARKS: Final = 5_000
# Whole, so that words in a bar can be read in both themes; the edge tells bars apart that touch or lie in each other.
_EDGE: Final[dict[str, Any]] = {
    "opacity": 1,
    "clip": True,
    "stroke": "#FFFFFF",
    "strokeOpacity": 0.35,
    "strokeWidth": 0.5,
}
_LIGHT: Final = "#FFFFFF"
_DARK: Final = "#10141A"


def timeline(picture: Picture, *, zoom: bool = False) -> Spec:
    """Time to the right, a lane below the other. Bars in the colour of their kind, those that are wrong with a thick edge, waits
    hollow and dashed; thin lines from the host to what it submitted, thicker ones to a wait from what it waited for. ``zoom``: in
    time, by shift and the wheel."""
    present = [kind for kind in KINDS if kind in set(picture.bars["kind"])]
    bars = picture.bars.assign(
        top=picture.bars["lane"] - _HALF,
        bottom=picture.bars["lane"] + _HALF,
        middle=(picture.bars["start"] + picture.bars["end"]) / 2,
        word=[KINDS[kind][0] for kind in picture.bars["kind"]],
        label=_labels(picture),
    )
    low, high = picture.ends
    axis = alt.Axis(grid=True, tickCount=10, format=",.10~g")
    x_scale = alt.Scale(domain=[low, high], nice=False)
    across: dict[str, Any] = {"scale": x_scale, "axis": axis}
    color = alt.Color(
        "word:N",
        sort=[KINDS[kind][0] for kind in present],
        scale=alt.Scale(
            domain=[KINDS[kind][0] for kind in present], range=[KINDS[kind][1] for kind in present]
        ),
        legend=alt.Legend(orient="top", title=None, labelLimit=260, symbolStrokeWidth=0),
    )
    y = _lanes(picture.lanes)
    shape: dict[str, Any] = {
        "x": alt.X("start:Q", title=picture.unit, **across),
        "x2": alt.X2("end:Q"),
        "y": alt.Y("top:Q", **y),
        "y2": alt.Y2("bottom:Q"),
    }
    drawn = alt.Chart(named("bars")).encode(**shape, color=color, tooltip=[alt.Tooltip("tip:N", title=" ")])
    layers: list[Any] = [
        drawn.transform_filter("datum.kind != 'wait' && datum.kind != 'alarm'").mark_rect(**_EDGE),
        drawn.transform_filter("datum.kind == 'alarm'").mark_rect(
            opacity=1, clip=True, stroke=theme.STATUS_COLORS["failed"][0], strokeWidth=3
        ),
        drawn.transform_filter("datum.kind == 'wait'").mark_rect(
            clip=True, fillOpacity=0.18, stroke=theme.NEUTRAL_COLOR, strokeDash=[4, 3], strokeWidth=1.2
        ),
        *_links(picture, across, y),
    ]
    if not picture.points.empty:
        calls = alt.Chart(named("points")).encode(x=alt.X("x:Q", **across), y=alt.Y("lane:Q", **y))
        tick = calls.encode(tooltip=[alt.Tooltip("tip:N", title=" ")])
        layers.append(
            tick.mark_point(shape="circle", filled=True, size=55, color=theme.NEUTRAL_COLOR, opacity=1)
        )
    if len(bars) <= MOST_LABELS:
        words = alt.Chart(named("bars")).encode(
            x=alt.X("middle:Q", **across), y=alt.Y("lane:Q", **y), text=alt.Text("label:N")
        )
        layers += [
            words.transform_filter("datum.kind != 'wait'")
            .encode(color=_on_bars())
            .mark_text(fontWeight="bold"),
            words.transform_filter("datum.kind == 'wait'").mark_text(style="quiet"),
        ]
    if zoom:
        layers[0] = layers[0].add_params(
            alt.selection_interval(
                name="zoom", bind="scales", encodings=["x"], zoom="wheel![event.shiftKey]", clear="dblclick"
            )
        )
    data = {"bars": bars, "links": picture.links, "points": picture.points}
    return layered(layers, data, height=LANE_HEIGHT * len(picture.lanes))


def on_bar(kind: str) -> str:
    """The colour of words in a bar of this kind."""
    return _LIGHT if KINDS[kind][1] == theme.PALETTE[0] else _DARK


def _on_bars() -> alt.ColorValue:
    light = json.dumps([kind for kind in KINDS if on_bar(kind) == _LIGHT])
    return alt.ColorValue(_DARK, condition=[{"test": f"indexof({light}, datum.kind) >= 0", "value": _LIGHT}])


def _labels(picture: Picture) -> list[str]:
    """The words in the bars, cut to what fits; none where not three letters do."""
    per_letter = (picture.ends[1] - picture.ends[0]) * _LETTER
    found = []
    for label, start, end in zip(
        picture.bars["label"], picture.bars["start"], picture.bars["end"], strict=True
    ):
        fits = int((end - start) / per_letter) if per_letter > 0 else 0
        found.append(label if len(label) <= fits else f"{label[: fits - 1]}…" if fits > 3 else "")
    return found


def _lanes(lanes: tuple[str, ...]) -> dict[str, Any]:
    """The axis of lanes, from top to bottom, each with its name."""
    axis = alt.Axis(
        values=list(range(len(lanes))),
        labelExpr=f"{json.dumps(list(lanes))}[datum.value]",
        grid=False,
        ticks=False,
        domain=False,
        labelLimit=220,
    )
    scale = alt.Scale(domain=[-0.5, len(lanes) - 0.5], reverse=True, nice=False, zero=False)
    return {"title": None, "axis": axis, "scale": scale}


def _links(picture: Picture, across: dict[str, Any], y: dict[str, Any]) -> list[Any]:
    if picture.links.empty:
        return []
    line = alt.Chart(named("links")).encode(
        x=alt.X("x:Q", **across), x2=alt.X2("x2:Q"), y=alt.Y("lane:Q", **y), y2=alt.Y2("lane2:Q")
    )
    # Where it leads to has a mark, so that it reads as an arrow.
    tip = alt.Chart(named("links")).encode(x=alt.X("x2:Q", **across), y=alt.Y("lane2:Q", **y))
    waits = "datum.kind == 'wait'"
    return [
        line.transform_filter("datum.kind != 'wait'").mark_rule(
            clip=True, color=theme.NEUTRAL_COLOR, strokeDash=[2, 3], strokeWidth=1
        ),
        line.transform_filter(waits).mark_rule(color=theme.PALETTE[2], strokeWidth=2),
        tip.transform_filter(waits).mark_point(
            shape="diamond", filled=True, size=70, color=theme.PALETTE[2], opacity=1
        ),
    ]
