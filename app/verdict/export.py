"""The comparison as a file to send on: Markdown, or HTML that opens without a network. Written when it is asked for."""

from __future__ import annotations

import shlex
from datetime import UTC, datetime
from functools import partial
from typing import Final

import streamlit as st

from app.comparing import Compared
from app.data import Database
from db.session import DEFAULT_DATABASE
from evaluator.report import context_of, render

# format of ``render`` -> what its button says, ending of the file, type.
FORMATS: Final = {
    "markdown": ("Markdown", "md", "text/markdown"),
    "html": ("HTML", "html", "text/html"),
}


def buttons(database: Database, found: Compared) -> None:
    """A download button a format."""
    for form, (label, ending, kind) in FORMATS.items():
        st.download_button(
            f"⤓ {label}",
            # A page shows no report, and most readers ask for none.
            partial(report, database, found, form),
            file_name=f"verdict-{found.base}-{found.cand}.{ending}".replace("@", "."),
            mime=kind,
            key=f"report-{form}",
            type="tertiary",
            help=f"Save the whole comparison as {label}",
            on_click="ignore",
        )


def report(database: Database, found: Compared, form: str) -> str:
    """The comparison in a format of ``render``, with the commands that make it again. Raises UserError where the
    database can't be read any more."""
    option = None if database.place == DEFAULT_DATABASE else database.place
    again = [
        "python",
        "-m",
        "evaluator",
        "compare",
        found.base,
        found.cand,
        *(["--db", option] if option else []),
    ]
    context = context_of(
        database.url,
        option,
        *dict.fromkeys((found.base_ref.run, found.cand_ref.run)),
        made_at=datetime.now(UTC),
        commands=[shlex.join(again)],
    )
    return render(form, found.verdicts, context)
