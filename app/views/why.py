"""Why: everything one evaluation of a cell recorded, and what it says; or two of them beside each other."""

from __future__ import annotations

from functools import partial

import pandas as pd
import streamlit as st

from app import choices, empty, evidence, links, measurements, state, tables, theme
from app.data import Database, read
from app.findings import exact, findings
from app.pair import diff as why_diff
from app.pair import page as pair
from app.scripts import Script, of_one
from db.queries import why
from db.queries.why import EvaluationRecord
from evaluator.verdicts.sides import CellName

TABS = {
    "Graph breaks": evidence.breaks,
    "Recompiles": evidence.recompiles,
    "Kernels": evidence.kernels,
    "Times": measurements.times,
    "Accuracy": measurements.accuracy,
    "Probes and logs": measurements.probes,
    "Files": measurements.files,
    "Environment": measurements.environment,
}


def pick_evaluation(listed: pd.DataFrame) -> int:
    """The evaluations of this cell, newest first; the URL's is selected."""
    shown = listed.assign(
        status=[theme.status_text(s if isinstance(s, str) else "running") for s in listed["status"]],
        environment=[str(one)[:10] for one in listed["environment"]],
        definition=[str(one)[:10] for one in listed["definition_hash"]],
        side=pair.words(listed),
    )
    both = shown["side"].notna().any()
    columns = {
        **({"side": tables.text("side", width=80)} if both else {}),
        "torch": tables.text("torch", width=105),
        "status": tables.status(width=125),
        "run": tables.whole("run", width=50),
        "label": tables.text("label", width=60 if both else 140),
        "started_at": tables.moment("started (UTC)", width=125),
        "environment": tables.text("environment", width=95),
        **({"definition": tables.text("definition", width=95)} if shown["definition"].nunique() > 1 else {}),
    }

    def draw(position: int, key: str) -> int | None:
        return tables.show(shown, columns, key=key, rows=4, pick="row", selected=position)

    return state.pick_row(
        "e", [int(one) for one in listed["evaluation"]], what="evaluation of this cell", draw=draw
    )


def summary(record: EvaluationRecord) -> None:
    """The exact facts in one row, and what they say."""
    for column, (label, value) in zip(
        st.columns([2, 1, 1, 1, 1, 1, 1, 1.4]), exact(record).items(), strict=True
    ):
        column.metric(label, value, border=True)
    icons = {"bad": ":red[**✗**]", "note": ":gray[**·**]", "good": ":green[**✓**]"}
    st.markdown("  \n".join(f"{icons[one.tone]} {one.sentence}" for one in findings(record)))
    if record.reason and record.status != "ok":
        st.code(record.reason, language=None, wrap_lines=True)


def page(database: Database) -> None:
    filters = state.filters()
    if filters is None:
        st.title("Why", anchor=False)
        empty.nothing_evaluated(database)
        return
    st.title(f"Why · {theme.literal(filters.workload)}", anchor=False)
    left, right = st.columns([1, 2.6])
    with left:
        bucket = state.pick("Shape bucket", "b", filters.choices.buckets, what="shape bucket")
    cell = CellName(filters.workload, bucket, filters.variant, filters.target)
    listed = read(database, why.evaluations_of, cell.workload, cell.bucket, cell.variant, cell.target)
    if listed.empty:
        st.info(
            "This cell was not evaluated: choose another bucket, or another target or variant on the left."
        )
        return
    pair.named_by_references(database, cell)
    pair.follow(database, cell, listed)
    with right:
        evaluation = pick_evaluation(listed)
    with left:
        other = pair.pick_other(listed, evaluation)
    record = read(database, why.record, evaluation)
    base = read(database, why.record, other) if other is not None else None
    assert record is not None  # it is in the list
    sides = pair.sides(database, base, record) if base is not None else None
    if sides is None and (finding := state.asked(links.FINDING)) is not None:
        st.warning(
            f"The finding {theme.literal(finding)} is of a comparison: choose another evaluation beside it."
        )
    script = alone(database, record) if sides is None else why_diff.draw(database, sides)
    with left:
        reproduction(script)


def reproduction(script: Script) -> None:
    """The command that shows it again and what it shows, or why there is none."""
    st.caption(script.said)
    if script.command is not None:
        st.code(script.command, language="bash", wrap_lines=True)


def alone(database: Database, record: EvaluationRecord) -> Script:
    """One evaluation; returns how it is reproduced."""
    summary(record)
    # What failed is looked at first where something did; the URL's tab goes before that.
    first = "Probes and logs" if theme.status_tone(record.status) == "failed" else None
    drawers = {name: partial(draw, database, record) for name, draw in TABS.items()}
    choices.tabs(drawers, first=first, known=list(why_diff.TABS))
    return of_one(record, database.option)


page(state.database())
