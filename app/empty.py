"""What is shown where there is nothing to show: what is the matter, and the command that helps."""

from __future__ import annotations

import streamlit as st

from app import data


def show(found: data.Unavailable) -> None:
    """Why the database has nothing to show. Its sentence may hold file names, so it is drawn as text."""
    with st.container(border=True, key="unavailable"):
        st.subheader(found.title, anchor=False)
        st.text(found.sentence)
        if found.command:
            st.caption("From the root of the repository:")
            st.code(found.command, language="bash")
    st.caption(
        f"The dashboard shows the database that {data.DATABASE_VARIABLE} names, a file or a PostgreSQL URL."
    )


def nothing_evaluated(database: data.Database) -> None:
    """A database with runs, or none, but no evaluation of any workload."""
    with st.container(border=True, key="nothing-evaluated"):
        st.subheader("No workload was evaluated yet", anchor=False)
        st.text("The database is there and has no evaluation in it. This evaluates a few real workloads:")
        st.code(f"{data.FIRST_RUN}{database.option}", language="bash")
