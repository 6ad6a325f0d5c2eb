"""Charts of two evaluations beside each other. Data frame in, Altair chart out; knows nothing of Streamlit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import altair as alt
import pandas as pd

from app.charts import PHASE_COLORS
from app.vega import Spec, layered, named

_BAR: Final = 18


def phases(frame: pd.DataFrame, sides: Sequence[str], order: Sequence[str]) -> Spec:
    """Where two cold compiles went: a stacked bar a side on one axis. ``frame``: side, phase, value (s); ``order``:
    the phases as they are stacked, with the same colour on both sides."""
    ranks = {phase: rank for rank, phase in enumerate(order)}
    stacked = frame.assign(rank=frame["phase"].map(ranks)).sort_values("rank")
    ends = stacked.groupby("side")["value"].cumsum()
    colors = [PHASE_COLORS[rank % len(PHASE_COLORS)] for rank in ranks.values()]
    color = alt.Color(
        "phase:N",
        sort=list(order),
        scale=alt.Scale(domain=list(order), range=colors),
        legend=alt.Legend(orient="top", title=None, labelLimit=220),
    )
    tips = [
        alt.Tooltip("side:N"),
        alt.Tooltip("phase:N"),
        alt.Tooltip("value:Q", title="s", format=",.4~g"),
    ]
    bars = (
        alt.Chart(named("phases"))
        .mark_bar(height=_BAR)
        .encode(
            x=alt.X("start:Q", title="cold compile, medians of the replicas (s)", axis=alt.Axis(grid=False)),
            x2=alt.X2("end:Q"),
            y=alt.Y(
                "side:N",
                sort=list(sides),
                title=None,
                scale=alt.Scale(domain=list(sides)),
                axis=alt.Axis(grid=False, ticks=False, domain=False, labelLimit=240),
            ),
            color=color,
            tooltip=tips,
        )
    )
    height = (_BAR + 10) * len(sides)
    spans = stacked.assign(start=ends - stacked["value"], end=ends).drop(columns="rank")
    return layered([bars], {"phases": spans}, height=height)
