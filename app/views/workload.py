"""Workload: since when, and how sure? One workload over torch versions, a line a shape bucket."""

from __future__ import annotations

import streamlit as st

from app import choices, empty, links, state, tables, theme
from app.data import Database, read
from app.findings import note
from app.workload import panels, since
from app.workload.columns import columns
from app.workload.frames import in_order, remarks
from app.workload.panels import PARTS, REPLICAS
from app.workload.shown import Shown
from db.queries import history, versions
from evaluator.verdicts.sides import CellName
from evaluator.verdicts.words import is_codegen


def open_evaluation(shown: Shown, filters: state.Filters, evaluation: float | None) -> None:
    """Go to the evidence of an evaluation (a browser knows no integers)."""
    found = shown.newest[shown.newest["evaluation"] == evaluation]
    if not found.empty:
        row = found.iloc[0]
        cell = CellName(filters.workload, row["bucket"], filters.variant, filters.target)
        links.open_why(shown.database, cell, int(row["evaluation"]), machine=filters.machine)


def table(part: str, shown: Shown) -> int | None:
    """The same numbers as rows, newest version first; the evaluation whose row was clicked."""
    frame, own = columns(part, shown)
    listed = in_order(frame, shown.choices.buckets)
    every = {
        "torch": tables.text("torch", width=100),
        "bucket": tables.text("bucket", width=125),
        "run": tables.whole("run", width=40),
        "status": tables.status(width=115),
        "note": tables.text("note", width=150),
        **own,
    }
    name = f"workload-{part.lower().replace(' ', '-')}"
    row = tables.show(
        listed, every, key=name, rows=12, pick="cell", csv=f"{name}.csv", caption="Click a row to see why."
    )
    return None if row is None else int(listed["evaluation"].iloc[row])


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
    since.draw(database, filters, newest["torch"].nunique())
    newest = newest.assign(note=[note(row) for row in newest.to_dict("records")])
    part = choices.pick("Look at", "see", list(PARTS), what="part", bar=True)
    st.caption(PARTS[part])
    about = (filters.workload, filters.target, filters.variant, filters.machine)
    shown = Shown(database, about, newest, filters.choices, versions.in_order(newest["torch"]))
    if is_codegen(filters.target) and part not in panels.WITHOUT_A_RUN:
        st.info(theme.NOTHING_RAN)
    else:
        open_evaluation(shown, filters, panels.draw(part, shown))
    st.caption(" ".join(remarks(found, newest, filters.choices.older, replicas=part in REPLICAS)))
    open_evaluation(shown, filters, table(part, shown))


page(state.database())
