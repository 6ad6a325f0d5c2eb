"""Trends: better over time? Geometric means, pass rate, breaks, recompiles and compile phases over the same cells."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import streamlit as st

from app import data, empty, state, theme
from app.data import Database, read
from app.trends import controls as trend_controls
from app.trends import panels as trend_panels
from app.trends import shown as trend_data
from app.trends import tables as trend_tables
from app.trends.panels import Specs
from app.trends.shown import Recorded, Shown
from db.queries import trends
from evaluator.verdicts.words import is_codegen

TABS: Final = ("Ratios", "Pass rate", "Breaks and recompiles", "Compile phases", "Cells")


# Not a copy for each reader, as data.read gives: these frames are large, and nothing changes them.
@st.cache_resource(show_spinner=False, max_entries=16)
def _recorded(
    url: str, rests: tuple[Any, ...], scope: trends.Scope, metric: str, _database: Database
) -> Recorded:
    with data.connected(_database) as reads:
        points, at = trends.recorded(reads, scope, trend_data.metrics_with(metric))
    return trend_data.recorded(scope.over, metric, points, at)


@st.cache_resource(show_spinner=False, max_entries=16)
def _shown(
    url: str, rests: tuple[Any, ...], scope: trends.Scope, metric: str, reference: str | None, _of: Recorded
) -> tuple[Shown, Specs]:
    found = trend_data.shown(_of, reference)
    return found, trend_panels.specs(_of, found)


def charts(of: Recorded, shown: Shown, drawn: Specs, at: str) -> list[str | None]:
    """Two rows of two charts; the points that were clicked."""
    (first, second), (third, fourth) = st.columns(2), st.columns(2)
    with first:
        clicks = [trend_panels.ratios(of, shown, drawn, at)]
    with second:
        clicks.append(trend_panels.outcomes(of, drawn, at))
    with third:
        clicks.append(trend_panels.graphs(of, shown, drawn, at))
    with fourth:
        clicks.append(trend_panels.phases(of, shown, drawn, at))
    return clicks


def tables(drawers: Sequence[Callable[[], str | None]]) -> str | None:
    """The tab that is open, in the order of TABS; the point that was clicked in it."""
    state.check("table", TABS, what="tab")
    for tab, draw in zip(
        st.tabs(TABS, key="table", bind="query-params", on_change="rerun"), drawers, strict=True
    ):
        if tab.open:
            with tab:
                return draw()
    return None


def page(database: Database) -> None:
    st.title("Trends", anchor=False)
    known = data.resting(database, read(database, trends.choices_rest_on), trends.choices)
    if not known.targets:
        empty.nothing_evaluated(database)
        return
    metric, scope = trend_controls.choose(known)
    # While somebody records a run that is not among them, the points stay what they are.
    rests = read(database, trends.rests_on, scope)
    of = _recorded(database.url, rests, scope, metric, database)
    if not of.points:
        st.info("Nothing was evaluated with this target, variant and machine: choose others.")
        return
    if is_codegen(scope.target):
        st.info(theme.NOTHING_RAN)
    reference = trend_controls.pick_reference(of)
    shown, drawn = _shown(database.url, rests, scope, metric, reference, of)
    at = trend_controls.picked_point(of, shown.same)
    if len(of.points) == 1:
        trend_panels.alone(database, of)
    else:
        st.markdown(trend_data.headline(of, shown, at))
    clicks = charts(of, shown, drawn, at)
    drawers = (
        lambda: trend_tables.ratios(of, shown.ratios, at),
        lambda: trend_tables.outcomes(of, shown.outcomes, at),
        lambda: trend_tables.graphs(of, shown.graphs, at),
        lambda: trend_tables.phases(of, shown.phases, at),
        lambda: trend_tables.cells(database, scope, of, shown.same, at),
    )
    clicks.append(tables(drawers))
    moved = next((point for point in clicks if point is not None and point != at), None)
    if moved is not None:
        st.query_params[trend_controls.AT[of.over]] = moved
        st.rerun()


page(state.database())
