"""The answer box and the cards of the Verdict page."""

from __future__ import annotations

from datetime import UTC, datetime

import streamlit as st

from app import comparing, theme
from app.comparing import Compared
from app.data import Database, read
from app.verdict import cards as verdict_cards
from app.verdict import export, words
from db.queries import sides
from evaluator.report.sections import sections


def box(database: Database, found: Compared) -> None:
    """The answer, why, the worst of it, and what it rests on."""
    verdicts, parts = found.verdicts, sections(found.verdicts)
    _, tone, _ = words.ANSWERS[verdicts.answer]
    with st.container(border=True, key=f"answer-{tone}"):
        with st.container(horizontal=True, vertical_alignment="center"):
            st.title(words.headline(verdicts), anchor=False, width="stretch")
            export.buttons(database, found)
        st.text(words.because(verdicts))
        worst = words.offender(verdicts, parts)
        if worst:
            st.markdown(worst)
        for warning in verdicts.warnings:
            st.text(f"⚠ {warning}")
        runs = read(database, sides.measured, tuple(dict.fromkeys((found.base_ref.run, found.cand_ref.run))))
        rests = [
            words.coverage(verdicts, parts.not_compared),
            words.measured(runs, datetime.now(UTC)),
            words.moved(verdicts),
        ]
        st.markdown(" · ".join(rests))
    if not verdicts.compared:
        st.info(
            "Nothing of these two can be compared; the reasons are below. This measures two versions side by side:"
        )
        st.code(comparing.command(database, found.base_ref.torch), language="bash")


def cards(found: Compared) -> None:
    """Correctness, calls, cold compile, graphs, memory, each over the cells that both sides have."""
    made = verdict_cards.cards(found.verdicts)
    with st.container(key="cards"):
        columns = st.columns(len(made))
    for column, card in zip(columns, made, strict=True):
        column.metric(
            card.label,
            card.value,
            delta=card.detail or theme.MISSING,
            delta_color="off",
            delta_arrow="off",
            border=True,
            height="stretch",
            help=card.help,
        )
