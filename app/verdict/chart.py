"""The forest plot of a comparison: for each cell the ratio with its interval, and the band that is too small to matter.

Data frame in, Altair chart out; knows no Streamlit.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import altair as alt
import pandas as pd

from app import theme
from app.vega import Spec, layered, named
from app.verdict.frames import UNCONFIRMED

# The selection: the evaluation of the row that was clicked.
PICKED: Final = "picked"
ROW: Final = 20
WORSE: Final = theme.PALETTE[1]
BETTER: Final = theme.PALETTE[0]
# Colour is never alone: which way a mark points says the same.
_LOOKS: Final = {
    "regressed": (WORSE, "triangle-right"),
    UNCONFIRMED: (theme.PALETTE[4], "triangle-right"),
    "newly_failing": (WORSE, "triangle-right"),
    "improved": (BETTER, "triangle-left"),
    "fixed": (BETTER, "triangle-left"),
    "unchanged": (theme.NEUTRAL_COLOR, "circle"),
    "inconclusive": (theme.NEUTRAL_COLOR, "diamond"),
    "flaky": (theme.NEUTRAL_COLOR, "cross"),
    "changed": (theme.NEUTRAL_COLOR, "square"),
}
_TICKS: Final = (0.1, 0.2, 0.25, 1 / 3, 0.5, 2 / 3, 0.8, 0.9, 0.95, 1, 1.05, 1.1, 1.25, 1.5, 2, 3, 4, 5, 10)
# Ratios beyond these are drawn at the edge; the tooltip and the table have the number.
_FARTHEST: Final = 8.0
# The axis is never narrower than this many margins, so that noise does not look like news.
_LEAST_MARGINS: Final = 2.0


def forest(frame: pd.DataFrame, *, title: str) -> Spec:
    """One row a cell, in the frame's order. ``frame``: as ``verdict_frames.forest`` makes it, not empty."""
    low, high = domain(frame)
    order = frame["cell"].tolist()
    drawn = frame.assign(
        left=low,
        right=high,
        **{
            name: frame[name].clip(low, high)
            for name in ("ratio", "low", "high", "margin_low", "margin_high")
        },
    )
    scale = alt.Scale(type="log", nice=False, domain=[low, high], clamp=True)
    axis = alt.Axis(values=ticks(low, high), labelExpr=_TICK_LABEL, grid=True, orient="top", labelFlush=False)
    y = alt.Y(
        "cell:N",
        sort=order,
        title=None,
        axis=alt.Axis(labelLimit=340, labelFlush=False, ticks=False, domain=False),
    )

    def x(field: str) -> alt.X:
        return alt.X(f"{field}:Q", title=f"{title}: candidate ÷ base", scale=scale, axis=axis)

    words = [state for state in _LOOKS if state in set(frame["state"])]
    colors = alt.Scale(domain=words, range=[_LOOKS[word][0] for word in words])
    shapes = alt.Scale(domain=words, range=[_LOOKS[word][1] for word in words])
    color = alt.Color("state:N", scale=colors, legend=_legend(words))
    shape = alt.Shape("state:N", scale=shapes, legend=_legend(words))
    base = alt.Chart(named("cells"))
    quiet = theme.NEUTRAL_COLOR
    picked = alt.selection_point(name=PICKED, fields=["evaluation"], on="click", empty=False, toggle=False)
    tips = [
        alt.Tooltip("cell:N", title="cell"),
        alt.Tooltip("word:N", title="verdict"),
        alt.Tooltip("interval:N", title="change"),
        alt.Tooltip("values:N", title="medians"),
    ]
    layers = [
        base.mark_bar(height=ROW, color=quiet, opacity=0.22).encode(
            x=x("margin_low"), x2=alt.X2("margin_high:Q"), y=y
        ),
        base.mark_rule(strokeDash=[2, 3], color=quiet)
        .encode(x=alt.X("one:Q", scale=scale))
        .transform_calculate(one="1"),
        base.mark_rule(strokeWidth=2).encode(x=x("low"), x2=alt.X2("high:Q"), y=y, color=color),
        base.mark_point(filled=True, size=110, opacity=1).encode(x=x("ratio"), y=y, color=color, shape=shape),
        base.mark_text(align="left", dx=7, fontSize=11, style="ink").encode(
            x=x("high"), y=y, text=alt.Text("label:N")
        ),
        # What is clicked and hovered is the whole row, not a mark of a few pixels.
        base.mark_bar(height=ROW, opacity=0, cursor="pointer")
        .encode(x=x("left"), x2=alt.X2("right:Q"), y=y, tooltip=tips)
        .add_params(picked),
    ]
    return layered(layers, {"cells": drawn}, height={"step": ROW}, config={"axisY": {"labelAlign": "right"}})


_TICK_LABEL: Final = "datum.value == 1 ? 'equal' : '×' + format(datum.value, '.3~g')"


def _legend(words: Sequence[str]) -> alt.Legend:
    labels = {
        word: theme.verdict_text("regressed", False) if word == UNCONFIRMED else theme.verdict_text(word)
        for word in words
    }
    choose = " : ".join(f"datum.label == '{word}' ? '{label}'" for word, label in labels.items())
    return alt.Legend(orient="top", title=None, labelExpr=f"{choose} : datum.label", symbolOpacity=1)


def domain(frame: pd.DataFrame) -> tuple[float, float]:
    """Ends of the axis: around every interval and some margins on both sides of 1, with room for the words at the right."""
    widest = float(frame["margin_high"].max()) ** _LEAST_MARGINS
    low = max(1 / _FARTHEST, min(float(frame["low"].min()), 1 / widest))
    high = min(_FARTHEST, max(float(frame["high"].max()), widest))
    span = (high / low) ** 0.04
    return round(low / span, 4), round(high * span**2.5, 4)


def ticks(low: float, high: float) -> list[float]:
    """Ratios worth a line, from ``low`` to ``high``."""
    return [round(value, 4) for value in _TICKS if low <= value <= high]
