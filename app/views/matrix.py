"""Matrix: which workloads, which buckets? A tile a cell, and the same cells as a table."""

from __future__ import annotations

from typing import Final

import pandas as pd
import streamlit as st

from app import choices, comparing, drawing, links, metric_words, state, targets, theme
from app.comparing import Compared
from app.data import Database
from app.matrix import chart as matrix_chart
from app.matrix import frames as matrix_frames
from app.matrix.table import courses, table
from app.matrix.words import FAILURE, FIXED, NOT_COMPARED
from evaluator.verdicts.sides import CellName
from evaluator.verdicts.words import FLAG_MARK, NOISY_MARK

ROWS: Final = ("all", "regressed")
CLICKS: Final = ("Why", "Workload")


def choose(found: Compared) -> tuple[str, str, str]:
    """What the map is about, which cells it shows, and where a click goes."""
    left, middle, right = st.columns([2, 1, 1.4], vertical_alignment="bottom")
    with left:
        known = matrix_frames.metrics(found.verdicts)
        metric = choices.pick("Metric", "m", known, what="metric")
    with middle:
        only = choices.pick("Cells", "only", ROWS, what="choice of cells", bar=True)
    with right:
        goes = choices.pick("A click opens", "goes", CLICKS, what="page that a click opens", bar=True)
    return metric, only, goes


def coverage(found: Compared, shown: pd.DataFrame, metric: str) -> None:
    """How much there is to judge by, before any tile is looked at."""
    verdicts = found.verdicts
    silent = int(shown["kind"].isin([NOT_COMPARED, FAILURE]).sum())
    words = [f"**{verdicts.compared} of {verdicts.total} cells compared**"]
    if metric != matrix_frames.WORST:
        words.append(
            f"{theme.literal(metric)} ({metric_words.title(metric)}) in {len(shown) - silent} of {len(shown)}"
        )
    bad, unsettled = int(shown["bad"].sum()), int((shown["verdict"] == "inconclusive").sum())
    unsure, wrong = int(shown["unconfirmed"].sum()), int(shown["wrong"].sum())
    fixed = int((shown["edge"] == FIXED).sum())
    words.append(
        f"{theme.counted(bad, 'cell')} regressed or newly failing"
        + (f", {'none' if unsure == bad else f'{bad - unsure:,}'} of them confirmed" if unsure else "")
        if bad
        else "none of those regressed"
    )
    words += [f"**{wrong:,} wrong on both sides**"] if wrong else []
    words += [f"**{fixed:,} fixed**"] if fixed else []
    words += [f"{unsettled:,} inconclusive"] if unsettled else []
    st.markdown(" · ".join(words))


def heat_map(found: Compared, shown: pd.DataFrame, *what: str) -> int | None:
    """The map; the cell of the clicked tile. ``what``: the metric, the choice of cells and the target that ``shown`` is of."""
    drawn = matrix_chart.worst_rows(shown)
    about = ("matrix", *found.key, *what)
    selected = drawing.draw(
        about,
        "matrix-chart",
        lambda: matrix_chart.matrix(drawn, base=found.verdicts.base, candidate=found.verdicts.candidate),
    )
    legend = (
        "Orange: slower or more than the base; purple: faster or less; the scale is fixed at ±10%. Faint with a dashed edge: "
        "not settled, not confirmed (▲?), or changed with no better side. Hatched: not compared, which is no sign of health. "
        f"Thick edge: failed, fixed (✓), or wrong results (≠). {NOISY_MARK}: noisy rounds; {FLAG_MARK}: flagged ones. "
        "Worst workload first."
    )
    if len(drawn) < len(shown):
        legend += f" The worst {drawn['row'].nunique()} of {shown['row'].nunique()} rows are drawn; the table has all."
    st.caption(legend)
    chosen = selected.get(matrix_chart.PICKED) or []
    return int(chosen[0]["cell"]) if chosen and chosen[0].get("cell") is not None else None


def open_cell(database: Database, found: Compared, shown: pd.DataFrame, cell: int, goes: str) -> None:
    """Go to the evidence of a cell, or to its workload's history."""
    one = shown[shown["cell"] == cell].iloc[0]
    name = CellName(one["workload"], one["bucket"], one["variant"], one["target"])
    sides = [one["candidate_evaluation"], one["base_evaluation"]]
    known = [int(evaluation) for evaluation in sides if pd.notna(evaluation)]
    if goes == "Workload" or not known:
        links.open_workload(database, name)
    # A cell whose tile says why there is no value has no finding about the metric.
    cells = [each for each in found.verdicts.cells if each.cell == name]
    known_metrics = {finding.metric for each in cells for finding in each.findings}
    metric = one["metric"] if one["metric"] in known_metrics else None
    links.open_why(database, name, known[0], known[-1], finding=metric)


def page(database: Database) -> None:
    st.title("Matrix", anchor=False)
    found = comparing.current(database)
    if found is None:
        return
    if not found.verdicts.cells:
        st.info("Neither side has evaluated a cell.")
        return
    target = targets.pick({cell.cell.target for cell in found.verdicts.cells})
    metric, only, goes = choose(found)
    every = targets.only(matrix_frames.rows(found.verdicts, found.pairs, metric), target)
    coverage(found, every, metric)
    shown = every[every["bad"]] if only == "regressed" else every
    if shown.empty:
        st.info("No cell that was compared regressed in this.")
        return
    lines = courses(database, found, shown, metric)
    for picked in (heat_map(found, shown, metric, only, target or ""), table(found, shown, lines)):
        if picked is not None and picked in set(shown["cell"]):
            open_cell(database, found, shown, picked, goes)


page(state.database())
