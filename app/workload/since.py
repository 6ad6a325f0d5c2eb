"""Since when a workload is bad: the line above its charts, with a way to the evidence."""

from __future__ import annotations

import streamlit as st
from sqlalchemy import Connection

from app import links
from app.data import Database, read, resting
from app.state import Filters
from app.workload.first_bad import FirstBad, first_bad, said
from db.queries import history, newest, steps
from evaluator.verdicts.sides import CellName


def draw(database: Database, filters: Filters, versions: int) -> None:
    """The first bad version, none, or why it is not known; a button opens the two evaluations beside each other."""
    machine = filters.machine or str(read(database, history.machines)["machine"].iloc[0])
    rests = read(database, newest.rests_on, machine)
    cells = {"target": filters.target, "variant": filters.variant, "machine": machine}
    found = resting(database, rests, _found, filters.choices.definition, **cells)
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(said(found, versions), width="stretch")
        if found.worse and st.button("Why?", key="first-bad", help="Both versions beside each other"):
            first = found.worse[0]
            cell = CellName(filters.workload, first.bucket, filters.variant, filters.target)
            links.open_why(database, cell, first.evaluation, first.base_evaluation, machine=filters.machine)


def _found(reads: Connection, definition: int, *, target: str, variant: str, machine: str) -> FirstBad:
    return first_bad(steps.steps(reads, definition, target=target, variant=variant, machine=machine))
