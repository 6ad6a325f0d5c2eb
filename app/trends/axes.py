"""Axes, colours and legends of the charts of Trends. Knows nothing of Streamlit or the database."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

import altair as alt

from app import theme
from app.charts import MOST_LABELLED, labelled

# The least that a panel of ratios shows: on an axis that fits the noise, noise looks like news.
LEAST_SPAN: Final = (0.9, 1.1)
# More than these would leave no room for the panel: the tooltips name the rest.
MOST_NAMED: Final = 12
# The name of eager's line beside that of compiled code.
EAGER_NAME: Final = "eager"


def x_axis(order: Sequence[str]) -> alt.X:
    """Every point in the given order. A line break in a label is one on the axis."""
    few = len(order) <= 8
    lines = max((label.count("\n") + 1 for label in order), default=1)
    axis = alt.Axis(
        title=None,
        labelAngle=0 if few else -50,
        labelExpr="split(datum.label, '\\n')",
        values=labelled(order, MOST_LABELLED // lines),
        labelOverlap=False,
        labelLimit=90,
        grid=False,
    )
    scale = alt.Scale(domain=list(order), paddingInner=0.35, paddingOuter=0.2, type="band")
    return alt.X("label:N", sort=list(order), scale=scale, axis=axis)


def ratio_domain(found: Sequence[float]) -> tuple[float, float]:
    """Ends of a log axis around these ratios and 1, at least ``LEAST_SPAN``."""
    known = [value for value in found if value is not None and not math.isnan(value) and value > 0]
    low, high = min([*known, LEAST_SPAN[0]]), max([*known, LEAST_SPAN[1]])
    room = (high / low) ** 0.05
    return low / room, high * room


def ratio_ticks(low: float, high: float) -> list[float]:
    """Round ratios with 1 among them, at most nine: even steps where the axis spans little, doublings where much."""
    if high / low > 6:
        powers = range(math.ceil(math.log2(low)), math.floor(math.log2(high)) + 1)
        every = max(1, math.ceil(len(powers) / 9))
        return [2.0**power for power in powers if power % every == 0]
    found: list[float] = []
    for step in (0.05, 0.1, 0.2, 0.5, 1.0):
        first, last = math.ceil((low - 1) / step), math.floor((high - 1) / step)
        found = [round(1 + step * k, 4) for k in range(first, last + 1)]
        if len(found) <= 9:
            break
    return found


def named(names: Sequence[str]) -> tuple[alt.Color, alt.Fill, alt.Shape]:
    """Colour, filling and shape by name under one legend, none for a single name; eager is grey."""
    rank = {name: index for index, name in enumerate(name for name in names if name != EAGER_NAME)}
    colors = [
        theme.NEUTRAL_COLOR if name == EAGER_NAME else theme.PALETTE[rank[name] % len(theme.PALETTE)]
        for name in names
    ]
    shapes = [
        "diamond" if name == EAGER_NAME else theme.SHAPES[rank[name] % len(theme.SHAPES)] for name in names
    ]
    shown = legend() if len(names) > 1 else None
    order = list(names)
    scale = alt.Scale(domain=order, range=colors)
    return (
        alt.Color("name:N", sort=order, scale=scale, legend=shown),
        alt.Fill("name:N", sort=order, scale=scale, legend=None),
        alt.Shape("name:N", sort=order, scale=alt.Scale(domain=order, range=shapes), legend=shown),
    )


def legend(columns: int = 5) -> alt.Legend:
    return alt.Legend(
        orient="top", title=None, columns=columns, symbolLimit=MOST_NAMED, labelLimit=180, symbolOpacity=1
    )


def counted(field: str, title: str, *, empty: bool = False) -> alt.Y:
    # Of nothing but zeros Vega-Lite would make an axis with zero in its middle.
    scale = alt.Scale(zero=True, domain=[0, 1]) if empty else alt.Scale(zero=True, nice=True)
    axis = alt.Axis(tickMinStep=1, format=",d", minExtent=34)
    return alt.Y(f"{field}:Q", title=title, scale=scale, axis=axis)
