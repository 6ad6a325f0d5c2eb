"""Coverage: can I trust it? What was not compared, what is old, how noisy this machine is, what else differs."""

from __future__ import annotations

from typing import Any, Final

import pandas as pd
import streamlit as st

from app import choices, comparing, links, state, tables, targets, theme
from app.comparing import Compared
from app.coverage import frames as coverage_frames
from app.coverage import parts as coverage_parts
from app.data import Database, read
from db.queries import coverage
from evaluator.verdicts.sides import CellName

AGAIN: Final = "a later run, on the same machine, of the {side}'s torch that has this cell"
PARTS: Final = ("cells", "noise", "environments")


def cards(found: Compared, cells: pd.DataFrame, noise: pd.DataFrame) -> None:
    """How many cells there are of each state."""
    counts = cells["state"].value_counts()
    n = {name: int(counts.get(name, 0)) for name in coverage_frames.STATES}
    verdicts = found.verdicts
    stale = int(coverage_frames.stale(cells).sum())
    wrong = int(coverage_frames.wrong(cells).sum())
    known = int(noise["calibrated"].notna().sum())
    shown = [
        ("Compared", f"{verdicts.compared} of {verdicts.total}", "cells that a side has"),
        (
            "On one side only",
            theme.count(n["base"] + n["candidate"]),
            f"{n['base']} base, {n['candidate']} candidate",
        ),
        ("On neither side", theme.count(n["neither"]), "in other runs"),
        ("Failed", theme.count(n["failed"]), f"{wrong} wrong, {n['other']} more not compared"),
        ("Stale", theme.count(stale), "a later run has them"),
        ("Noise known", f"{known} of {len(noise)}", "times of both sides"),
    ]
    with st.container(key="cards"):
        for column, (label, value, detail) in zip(st.columns(len(shown)), shown, strict=True):
            column.metric(label, value, delta=detail, delta_color="off", delta_arrow="off", border=True)


def staleness(found: Compared, cells: pd.DataFrame) -> None:
    """Which side is older than what is recorded, said once."""
    sides = (("Base", found.base_ref, "stale_base"), ("Candidate", found.cand_ref, "stale_candidate"))
    for word, ref, column in sides:
        later = cells[column].dropna()
        if len(later):
            st.warning(
                f"{word}: run {ref.run} is not the newest of torch {theme.literal(ref.torch or 'unknown')} on its machine. "
                f"{theme.counted(len(later), 'cell')} of it {'was' if len(later) == 1 else 'were'} evaluated again, last in "
                f"run {int(later.max())}."
            )


def cell_table(database: Database, cells: pd.DataFrame) -> None:
    """Every cell with what is known of it; a click opens its evidence."""
    choice = choices.pick("Cells", "only", coverage_frames.CHOICES, what="choice of cells", bar=True)
    shown = coverage_frames.chosen(cells, choice).reset_index(drop=True)
    if shown.empty:
        st.info(f"No cell of {len(cells)} is {choice}.")
        return
    texts = {side: [_status(one) for one in shown[side]] for side in ("base_status", "candidate_status")}
    columns = {
        "workload": tables.text("workload", width=150),
        "bucket": tables.text("bucket", width=125),
        **({"variant": tables.text("variant", width=90)} if shown["variant"].nunique() > 1 else {}),
        **({"target": tables.text("target", width=60)} if shown["target"].nunique() > 1 else {}),
        "coverage": tables.text("coverage", width=145),
        "base_status": tables.text("base", width=110),
        "candidate_status": tables.text("candidate", width=110),
        "stale_base": tables.whole("base again", width=80, help=AGAIN.format(side="base")),
        "stale_candidate": tables.whole("cand. again", width=80, help=AGAIN.format(side="candidate")),
        "calibrated": tables.whole("calibrated", width=75, help="the run that measured this cell's noise"),
        "why": tables.text("why", width=330),
    }
    row = tables.show(
        shown.assign(**texts),
        columns,
        key=f"coverage-{choice}",
        rows=16,
        pick="cell",
        csv="coverage.csv",
        caption="Gaps first. Numbers are runs; a missing one: no later run, or not calibrated. Click a row to see its evidence.",
    )
    if row is not None:
        _open(database, shown.iloc[row])


def _status(status: object) -> str:
    return theme.status_text(status) if isinstance(status, str) else "∅ not evaluated"


def _open(database: Database, one: pd.Series[Any]) -> None:
    name = CellName(*(one[part] for part in coverage.NAMES))
    sides = [one["evaluation"], one["base_evaluation"]]
    known = [int(evaluation) for evaluation in sides if pd.notna(evaluation)]
    if not known:
        links.open_workload(database, name)
    links.open_why(database, name, known[0], known[-1])


# Of a calibrated comparison each floor takes milliseconds, and there are as many as cells and times.
@st.cache_data(show_spinner=False, max_entries=8)
def noise_of(about: tuple[Any, ...], _found: Compared) -> pd.DataFrame:
    """``coverage_frames.noise`` of the comparison that ``about`` stands for."""
    return coverage_frames.noise(_found.pairs)


def page(database: Database) -> None:
    st.title("Coverage", anchor=False)
    found = comparing.current(database)
    if found is None:
        return
    later = [read(database, coverage.newer, ref.run, ref.torch) for ref in (found.base_ref, found.cand_ref)]
    cells = coverage_frames.cells(found.verdicts, found.pairs, read(database, coverage.known_cells), *later)
    noise = noise_of(found.key, found)
    cards(found, cells, noise)
    staleness(found, cells)
    part = choices.pick("Look at", "part", PARTS, what="part", bar=True)
    if part == "cells":
        target = targets.pick(cells["target"])
        cell_table(database, targets.only(cells, target))
    elif part == "noise":
        coverage_parts.noise(database, found, noise)
    else:
        coverage_parts.environments(found)


page(state.database())
