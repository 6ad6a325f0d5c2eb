"""The four charts of Trends, one function each: what it is about, the chart, and how many cells it is made of.

Each returns the point that was clicked, or None.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import streamlit as st

from app import comparing, metric_words, theme
from app.data import Database
from app.drawing import ready, themed
from app.trends import charts as trend_charts
from app.trends import shown as trend_data
from app.trends.shown import Recorded, Shown
from app.vega import Spec
from evaluator.verdicts.policy import Policy

# The charts that there are values for, as JSON, by name.
Specs = Mapping[str, Spec]


def specs(of: Recorded, shown: Shown) -> Specs:
    """Every chart that has something to show."""
    made: dict[str, Callable[[], Spec]] = {
        "outcomes": partial(trend_charts.outcomes, shown.outcomes, of.order)
    }
    # A reference alone would draw a 1, as if it had been compared and found unchanged.
    if shown.same and shown.same.cells and len(shown.same.points) > 1:
        margin = Policy().margin(of.metric)
        made["ratios"] = partial(trend_charts.ratios, shown.ratios, of.order, margin=margin)
    if shown.graph_cells and shown.graph_cells.cells:
        made["graphs"] = partial(trend_charts.totals, shown.graphs, of.order)
    if len(shown.phases):
        made["phases"] = partial(trend_charts.phases, shown.phases, of.order)
    return {name: ready(build) for name, build in made.items()}


def alone(database: Database, of: Recorded) -> None:
    """With one point there is no trend, and the page says what makes a second."""
    point = of.points[0]
    what = "torch version" if of.over == "versions" else "run"
    with st.container(border=True, key="one-point"):
        st.subheader(f"One {what} only: no trend yet", anchor=False)
        st.text(
            f"All that is recorded here is torch {point.torch or 'unknown'}. This evaluates another beside it:"
        )
        st.code(comparing.command(database, point.torch), language="bash")
        st.caption("Write the other version in place of `NEWER`.")


def ratios(of: Recorded, shown: Shown, drawn: Specs, at: str) -> str | None:
    """The geometric means, or why there are none."""
    st.markdown(f"**{metric_words.title(of.metric)}**, geometric mean of the ratios to the reference")
    if shown.same is None:
        st.info("No cell has a number for it.")
        return None
    if "ratios" not in drawn:
        alone = len(shown.same.points) == 1
        st.info(
            "Only the reference has it: nothing to compare." if alone else trend_data.said(of, shown.same)
        )
        return None
    picked = _draw(of, "ratios", drawn, at)
    words = [
        trend_data.said(of, shown.same),
        f"Reference: {of.name(shown.same.reference)}. Below 1 is less. "
        f"Grey band: ±{Policy().margin(of.metric):.0%}, too small to matter.",
    ]
    if (shown.ratios["wrong"] > 0).any():
        words.append("Hollow: some of its cells have wrong results, there or at the reference.")
    if (built := trend_data.builds_differ(of)) is not None:
        words.append(built)
    if shown.redefined:
        words.append(
            f"{theme.counted(shown.redefined, 'cell')} of it changed definition elsewhere: not followed across that."
        )
    st.caption(" ".join(words))
    return picked


def outcomes(of: Recorded, drawn: Specs, at: str) -> str | None:
    """How evaluations ended."""
    st.markdown("**Pass rate**, ok of the cells evaluated")
    picked = _draw(of, "outcomes", drawn, at)
    st.caption("Every cell that was evaluated there. Unsupported and skipped ones are not part of the rate.")
    return picked


def graphs(of: Recorded, shown: Shown, drawn: Specs, at: str) -> str | None:
    """Breaks and recompiles."""
    st.markdown("**Graph breaks and recompiles**, totals")
    if "graphs" not in drawn:
        st.info("No cell compiled at every point." if shown.graph_cells else "No walk left evidence.")
        return None
    picked = _draw(of, "graphs", drawn, at)
    said = trend_data.said(of, shown.graph_cells)
    st.caption(f"{said} Those that compiled nothing, or ran eager, are not among them.")
    return picked


def phases(of: Recorded, shown: Shown, drawn: Specs, at: str) -> str | None:
    """Where cold compiles went."""
    st.markdown("**Cold compile by phase**, sum of medians")
    if "phases" not in drawn:
        st.info("No cell has a cold compile at every point.")
        return None
    picked = _draw(of, "phases", drawn, at)
    st.caption(trend_data.said(of, shown.phase_cells))
    return picked


def _draw(of: Recorded, name: str, drawn: Specs, at: str) -> str | None:
    """One chart; the point that is clicked in it. Its key holds the picked one, so that Back moves the pick too."""
    spec = trend_charts.marked(drawn[name], of.label(at))
    event: Any = st.vega_lite_chart(themed(spec), key=f"trend-{name}-chart-{at}", on_select="rerun")
    chosen = event.selection.get(trend_charts.PICKED) or []
    point = chosen[0].get("point") if chosen else None
    return str(point) if point in set(of.about["point"]) else None
