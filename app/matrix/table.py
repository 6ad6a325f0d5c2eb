"""The Matrix as a table: the same cells as rows, with the course of their times over versions."""

from __future__ import annotations

from typing import Any

import pandas as pd
import streamlit as st

from app import tables
from app.comparing import Compared
from app.data import Database, read, resting
from app.matrix import frames as matrix_frames
from db.queries import newest
from db.queries.over_versions import over_versions
from evaluator.verdicts.words import FLAG_MARK, NOISY_MARK, ROUND_FLAGS


def courses(database: Database, found: Compared, shown: pd.DataFrame, metric: str) -> list[list[int] | None]:
    """What the table draws beside each row: the course of its time over torch versions."""
    of = matrix_frames.spark_metric(metric)
    both = (shown["base_evaluation"], shown["candidate_evaluation"])
    known = tuple(sorted({int(one) for side in both for one in side.dropna()}))
    if of is None or not known:
        return [None] * len(shown)
    machine = found.cand_ref.machine
    # While somebody records, what ended before stays the course that it is.
    rests = read(database, newest.rests_on, machine)
    return matrix_frames.sparks(shown, resting(database, rests, over_versions, known, machine, of))


def table(found: Compared, shown: pd.DataFrame, lines: list[list[int] | None]) -> int | None:
    """The same cells as rows, worst first; the cell of the clicked one."""
    numeric = matrix_frames.numeric(shown)

    def side(label: str, field: str) -> dict[str, Any]:
        if numeric:
            title = f"{label} {matrix_frames.unit_of(shown)}".strip()
            return {field: tables.significant(title, 4, width=130)}
        return {f"{field}_text": tables.text(label, width=115)}

    columns = {
        "workload": tables.text("workload", width=155),
        "bucket": tables.text("bucket", width=120),
        **({"variant": tables.text("variant", width=90)} if shown["variant"].nunique() > 1 else {}),
        **({"target": tables.text("target", width=70)} if shown["target"].nunique() > 1 else {}),
        **({"metric": tables.text("metric", width=130)} if shown["metric"].nunique() > 1 else {}),
        # As wide as its words: what is left of a window decides what is cut off.
        "verdict": tables.text("verdict", width=max(165, 6 * int(shown["word"].str.len().max()))),
        **side(found.verdicts.base, "base"),
        **side(found.verdicts.candidate, "candidate"),
        "percent": st.column_config.NumberColumn("change", format="%+.1f%%", width=75),
        **({"rounds": _rounds()} if shown["rounds"].any() else {}),
        "interval": tables.text(
            "interval", width=135, help="of the change, at 95% confidence; none below 4 replicas a side"
        ),
        **({"versions": _spark()} if any(lines) else {}),
        "why": tables.text("why", width=420),
    }
    with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
        st.caption("Worst first. Click a row to open it.", width="stretch")
        tables.download_csv(shown[list(matrix_frames.SAVED)], "matrix.csv", key="matrix-csv")
    worded = shown.assign(verdict=shown["word"], versions=lines)
    row = tables.show(worded, columns, key="matrix-table", rows=14, pick="cell")
    return None if row is None else int(shown["cell"].iloc[row])


def _rounds() -> Any:
    said = f"{NOISY_MARK} {ROUND_FLAGS['noisy']}; {FLAG_MARK} something else qualifies them: see why"
    return tables.text("rounds", width=75, help=said)


def _spark() -> Any:
    low, high = matrix_frames.SPARK_ENDS
    said = f"its time under every torch version of this machine, oldest first, from {low}% to {high}% of their median"
    return st.column_config.LineChartColumn("over versions", y_min=low, y_max=high, width=110, help=said)
