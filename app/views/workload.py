"""Workload: since when, and how sure? One workload over torch versions, a line a shape bucket."""

from __future__ import annotations

from typing import Any, Final

import pandas as pd
import streamlit as st

from app import charts, empty, state, tables, theme
from app.data import Database, read
from app.findings import note
from app.history_frames import frames, remarks, rows
from db.queries import history, versions

# Cold and warm-cache compile in the first row, eager and compiled calls in the second, on one axis each row of calls.
PANELS: Final = ("compile.cold_s", "compile.warm_cache_s", "eager.wall_ms", "compiled.wall_ms")
DEVICE_PANELS: Final = ("compile.cold_s", "compile.warm_cache_s", "eager.stream_ms", "compiled.stream_ms")


def panels(
    newest: pd.DataFrame, summary: pd.DataFrame, failed: pd.DataFrame, choices: history.Choices
) -> None:
    """Four charts; a click on a mark opens the evaluation behind it."""
    order = versions.in_order(newest["torch"])
    metrics = DEVICE_PANELS if summary["metric"].isin(DEVICE_PANELS[2:]).any() else PANELS
    drawn = {metric: frames(newest, summary, failed, metric) for metric in metrics}
    calls = [drawn[metric] for metric in metrics[2:]]
    shared = charts.panel_domain(
        pd.concat([c[0] for c in calls]), pd.concat([c[1] for c in calls]), any(len(c[2]) for c in calls)
    )
    columns = [*st.columns(2), *st.columns(2)]
    for index, (metric, place) in enumerate(zip(metrics, columns, strict=True)):
        points, medians, failures = drawn[metric]
        chart = charts.history(
            points,
            medians,
            failures,
            title=theme.metric_title(metric),
            unit=theme.metric_unit(metric),
            versions=order,
            buckets=choices.buckets,
            legend=index < 2,
            domain=shared if index >= 2 else None,
        )
        with place:
            event: Any = st.altair_chart(chart, key=f"chart-{metric}", on_select="rerun")
        for name in charts.PICKED:
            for chosen in event.selection.get(name) or []:
                open_evaluation(newest, chosen.get("evaluation"))


def open_evaluation(newest: pd.DataFrame, evaluation: float | None) -> None:
    """Go to the evidence of an evaluation (a browser knows no integers); the shared filters go with it."""
    found = newest[newest["evaluation"] == evaluation]
    if not found.empty:
        row = found.iloc[0]
        st.switch_page("views/why.py", query_params={"b": row["bucket"], "e": str(row["evaluation"])})


def table(newest: pd.DataFrame, summary: pd.DataFrame, choices: history.Choices) -> None:
    """The same numbers as rows, newest version first."""
    shown = rows(newest, summary, PANELS, choices.buckets)
    columns = {
        "torch": tables.text("torch", width=100),
        "bucket": tables.text("bucket", width=125),
        "run": tables.whole("run", width=40),
        "status": tables.status(width=115),
        "note": tables.text("note", width=150),
        "compile.cold_s": tables.number("cold s", 2, width=65),
        "compile.warm_cache_s": tables.number("warm s", 2, width=65),
        "eager.wall_ms": tables.significant("eager ms", 4, width=75),
        "compiled.wall_ms": tables.significant("compiled ms", 4, width=85),
        "graphs": tables.whole("graphs", width=55),
        "graph_breaks": tables.whole("breaks", width=55),
        "recompiles": tables.whole("recomp.", width=60),
    }
    row = tables.show(
        shown,
        columns,
        key="history",
        rows=12,
        pick="cell",
        csv="workload.csv",
        caption="Click a row to see why.",
    )
    if row is not None:
        open_evaluation(newest, int(shown["evaluation"].iloc[row]))


def page(database: Database) -> None:
    filters = state.filters()
    if filters is None:
        st.title("Workload", anchor=False)
        empty.nothing_evaluated(database)
        return
    st.title(theme.literal(filters.workload), anchor=False)
    if filters.choices.stands_for:
        st.text(filters.choices.stands_for)
    cell = {"target": filters.target, "variant": filters.variant, "machine": filters.machine}
    found = read(database, history.evaluations, filters.choices.definition, **cell)
    newest = history.newest_of_each_version(found)
    if newest.empty:
        st.info(
            "This workload was not evaluated with this target, variant and machine: choose others on the left."
        )
        return
    newest = newest.assign(note=[note(row) for row in newest.to_dict("records")])
    ids = tuple(int(one) for one in newest["evaluation"])
    summary = read(database, history.summaries, ids, tuple(dict.fromkeys((*PANELS, *DEVICE_PANELS))))
    panels(newest, summary, read(database, history.failed_probes, ids), filters.choices)
    st.caption(" ".join(remarks(found, newest, filters.choices.older)))
    table(newest, summary, filters.choices)


page(state.database())
