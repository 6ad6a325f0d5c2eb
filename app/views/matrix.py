"""Matrix: which workloads, which buckets? A tile a cell, and the same cells as a table."""

from __future__ import annotations

from typing import Any, Final

import pandas as pd
import streamlit as st

from app import choices, comparing, links, state, tables, theme
from app.comparing import Compared
from app.data import Database
from app.matrix import chart as matrix_chart
from app.matrix import frames as matrix_frames
from app.matrix.words import FAILURE, NOT_COMPARED
from evaluator.verdicts.sides import CellName

ROWS: Final = ("all", "regressed")
CLICKS: Final = ("Why", "Workload")


def choose(found: Compared) -> tuple[str, str, str]:
    """What the map is about, which cells it shows, and where a click goes."""
    left, middle, right = st.columns([2, 1, 1.4], vertical_alignment="bottom")
    with left:
        known = matrix_frames.metrics(found.verdicts)
        metric = choices.pick("Metric", "m", known, what="metric", page="matrix")
    with middle:
        only = choices.pick("Cells", "only", ROWS, what="choice of cells", page="matrix", bar=True)
    with right:
        goes = st.segmented_control("A click opens", CLICKS, default=CLICKS[0], required=True, key="goes")
    return metric, only, goes or CLICKS[0]


def coverage(found: Compared, shown: pd.DataFrame, metric: str) -> None:
    """How much there is to judge by, before any tile is looked at."""
    verdicts = found.verdicts
    silent = int(shown["kind"].isin([NOT_COMPARED, FAILURE]).sum())
    words = [f"**{verdicts.compared} of {verdicts.total} cells compared**"]
    if metric != matrix_frames.WORST:
        words.append(
            f"{theme.literal(metric)} ({theme.metric_title(metric)}) in {len(shown) - silent} of {len(shown)}"
        )
    bad, unsettled = int(shown["bad"].sum()), int((shown["verdict"] == "inconclusive").sum())
    words.append(
        f"{theme.counted(bad, 'cell')} regressed or newly failing" if bad else "none of those regressed"
    )
    words += [f"{unsettled:,} inconclusive"] if unsettled else []
    st.markdown(" · ".join(words))


def heat_map(found: Compared, shown: pd.DataFrame) -> int | None:
    """The map; the cell of the clicked tile."""
    drawn = matrix_chart.worst_rows(shown)
    chart = matrix_chart.matrix(drawn, base=found.verdicts.base, candidate=found.verdicts.candidate)
    event: Any = st.altair_chart(chart, key="matrix-chart", on_select="rerun")
    legend = (
        "Orange: slower or more than the base; purple: faster or less; the scale is fixed at ±10%. Faint with a dashed edge: "
        "not settled, or changed with no better side. Hatched: not compared, which is no sign of health. Thick edge: failed "
        "or fixed. Worst workload first."
    )
    if len(drawn) < len(shown):
        legend += f" The worst {drawn['row'].nunique()} of {shown['row'].nunique()} rows are drawn; the table has all."
    st.caption(legend)
    chosen = event.selection.get(matrix_chart.PICKED) or []
    return int(chosen[0]["cell"]) if chosen and chosen[0].get("cell") is not None else None


def table(found: Compared, shown: pd.DataFrame) -> int | None:
    """The same cells as rows, worst first; the cell of the clicked one."""
    numeric = matrix_frames.numeric(shown)

    def side(label: str, field: str) -> dict[str, Any]:
        if numeric:
            title = f"{label} {matrix_frames.unit_of(shown)}".strip()
            return {field: tables.significant(title, 4, width=130)}
        return {f"{field}_text": tables.text(label, width=130)}

    columns = {
        "workload": tables.text("workload", width=170),
        "bucket": tables.text("bucket", width=130),
        **({"variant": tables.text("variant", width=90)} if shown["variant"].nunique() > 1 else {}),
        **({"target": tables.text("target", width=70)} if shown["target"].nunique() > 1 else {}),
        **({"metric": tables.text("metric", width=130)} if shown["metric"].nunique() > 1 else {}),
        "verdict": tables.text("verdict", width=165),
        **side(found.verdicts.base, "base"),
        **side(found.verdicts.candidate, "candidate"),
        "percent": st.column_config.NumberColumn("change", format="%+.1f%%", width=75),
        "interval": tables.text(
            "interval", width=135, help="of the change, at 95% confidence; none below 4 replicas a side"
        ),
        "why": tables.text("why", width=420),
    }
    with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
        st.caption("Worst first. Click a row to open it.", width="stretch")
        tables.download_csv(shown[list(matrix_frames.SAVED)], "matrix.csv", key="matrix-csv")
    worded = shown.assign(verdict=shown["word"])
    row = tables.show(worded, columns, key="matrix-table", rows=14, pick="cell")
    return None if row is None else int(shown["cell"].iloc[row])


def open_cell(database: Database, shown: pd.DataFrame, cell: int, goes: str) -> None:
    """Go to the evidence of a cell, or to its workload's history."""
    one = shown[shown["cell"] == cell].iloc[0]
    name = CellName(one["workload"], one["bucket"], one["variant"], one["target"])
    sides = [one["candidate_evaluation"], one["base_evaluation"]]
    known = [int(evaluation) for evaluation in sides if pd.notna(evaluation)]
    if goes == "Workload" or not known:
        links.open_workload(database, name)
    links.open_why(database, name, known[0], known[-1])


def page(database: Database) -> None:
    st.title("Matrix", anchor=False)
    found = comparing.current(database)
    if found is None:
        return
    if not found.verdicts.cells:
        st.info("Neither side has evaluated a cell.")
        return
    metric, only, goes = choose(found)
    every = matrix_frames.rows(found.verdicts, found.pairs, metric)
    coverage(found, every, metric)
    shown = every[every["bad"]] if only == "regressed" else every
    if shown.empty:
        st.info("No cell that was compared regressed in this.")
        return
    for picked in (heat_map(found, shown), table(found, shown)):
        if picked is not None and picked in set(shown["cell"]):
            open_cell(database, shown, picked, goes)


page(state.database())
