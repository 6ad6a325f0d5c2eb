"""Why, with two evaluations beside each other: the verdict of the cell, and a tab a kind of evidence."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Final

import streamlit as st

from app import choices, links, state, tables, theme
from app import files as kept_files
from app.data import Database
from app.findings import exact
from app.pair import evidence as pair_evidence
from app.pair import kernels as pair_kernels
from app.pair import ladder
from app.pair import measurements as pair_measurements
from app.pair import rows as pair_rows
from app.pair.page import Sides
from app.scripts import Script, of_two
from evaluator.verdicts.diffs import other_kernels, other_layers


def header(sides: Sides) -> None:
    """The verdict, its worst finding with the likely cause, and the exact facts of both sides."""
    cell = sides.cell
    icon, _, word = theme.verdict_text(cell.verdict, cell.confirmed).partition(" ")
    sure = ", confirmed" if cell.confirmed else ""
    names = " → ".join(theme.literal(name) for name in (sides.verdicts.base, sides.verdicts.candidate))
    st.subheader(f"{icon} {word[:1].upper()}{word[1:]}{sure} · {names}", anchor=False)
    st.text(pair_rows.headline(cell))
    if sides.why_not is not None:
        st.warning("Not compared, which is not the same as unchanged. Both sides are shown as they are.")
    for warning in sides.verdicts.warnings:
        st.text(warning)
    for column, (label, base, candidate) in zip(
        st.columns([2, 1, 1, 1, 1, 1, 1, 1.4]), cards(sides), strict=True
    ):
        column.metric(label, candidate, delta=base, delta_color="off", delta_arrow="off", border=True)


def cards(sides: Sides) -> list[tuple[str, str, str]]:
    """The exact facts: title, what was on the base, the candidate's. An equal count of other things is not the same."""
    ours, theirs = (exact(record) for _, record in sides.both)
    found = sides.cell.differences
    others = {
        "Break sites": any(one.change != "moved" for one in found.breaks),
        "Recompiles": bool(found.guards),
        "Kernels": bool(other_kernels(found.kernels) or other_layers(found.kernels)),
    }
    # Two zeros of which one was not reached are no agreement.
    partly = sides.why_not is not None or any(pair_rows.gap(record) for _, record in sides.both)
    made = []
    for title, base in ours.items():
        unknown = partly or theme.MISSING in (base, theirs[title])
        if base != theirs[title] or unknown:
            made.append((title, f"base {base}", theirs[title]))
        else:
            made.append((title, f"base {base}, others" if others.get(title) else "same", theirs[title]))
    return made


def findings(database: Database, sides: Sides) -> None:
    """Every finding of the cell, worst first; the picked one in full; and what the ladder says."""
    found = pair_rows.findings(sides.cell)
    columns = {
        "verdict": tables.text("verdict", width=150),
        "metric": tables.text("metric", width=170),
        "base": tables.text("base", width=100),
        "candidate": tables.text("candidate", width=100),
        "change": tables.text("change and interval", width=210),
        "counts": tables.text("weight", width=70, help="counts: for the answer; explains: beside those"),
        "cause": tables.text("likely cause", width=260),
        "why": tables.text("why", width=420),
    }

    def draw(position: int, key: str) -> int | None:
        return tables.show(
            found,
            columns,
            key=f"pair-findings-{sides.base.id}-{sides.candidate.id}-{key}",
            rows=10,
            pick="row",
            selected=position,
            csv="findings.csv",
            caption="Worst first. Pick one to read all of it.",
        )

    names = pair_rows.names(sides.cell)
    picked = state.pick_row(links.FINDING, names, what="finding of this cell", draw=draw)
    kept_files.shown(pair_rows.detail(sides.cell.findings[names.index(picked)]))
    ladder.draw(sides, database.option)


TABS: Final[Mapping[str, Callable[[Database, Sides], None]]] = {
    "Findings": findings,
    "Graph breaks": pair_evidence.breaks,
    "Recompiles": pair_evidence.recompiles,
    "Kernels": pair_kernels.kernels,
    "Times": pair_measurements.times,
    "Accuracy": pair_measurements.accuracy,
    "Probes and logs": pair_measurements.probes,
    "Files": pair_measurements.files,
    "Environment": pair_measurements.environment,
}


def draw(database: Database, sides: Sides) -> Script:
    """Both evaluations; returns how their difference is shown on its own."""
    header(sides)
    choices.tabs({name: partial(tab, database, sides) for name, tab in TABS.items()})
    return of_two(sides.base, sides.candidate, database.option)
