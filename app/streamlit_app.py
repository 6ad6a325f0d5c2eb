"""The dashboard's entry file: ``streamlit run app`` from the root of the repository, or ``streamlit run PATH/app``."""

from __future__ import annotations

import sys
from pathlib import Path

# The streamlit command puts this folder, not the repository's root, where imports are looked up.
_ROOT = str(Path(__file__).resolve().parents[1])
if sys.path[0] != _ROOT:
    sys.path.insert(0, _ROOT)

import streamlit as st  # noqa: E402

from app import data, empty, state  # noqa: E402
from evaluator.errors import UserError  # noqa: E402

# Pages in the order of the navigation. The shared filters are drawn for those that are about one workload.
PAGES = {
    "runs": st.Page("views/runs.py", title="Runs", icon="🗂️", default=True),
    "workload": st.Page("views/workload.py", title="Workload", icon="📈"),
    "why": st.Page("views/why.py", title="Why", icon="🔎"),
}
FILTERED = ("workload", "why")


def main() -> None:
    """Open the database, draw what all pages share, and run the page of this URL."""
    st.set_page_config(
        page_title="Compilewatch", page_icon="⏱️", layout="wide", initial_sidebar_state="expanded"
    )
    st.html(Path(_ROOT) / "app" / "style.css")
    st.logo(Path(_ROOT) / "app" / "logo.svg", size="large")
    page = st.navigation(list(PAGES.values()))
    found = data.opened(data.located())
    if isinstance(found, data.Unavailable):
        empty.show(found)
        return
    try:
        filtered = any(page.url_path == PAGES[name].url_path for name in FILTERED)
        state.keep(found, state.shared_filters(found) if filtered else None)
        page.run()
    except UserError as error:
        empty.show(data.unavailable("The database can't be read right now", error))
    st.sidebar.caption("Database, opened read-only")
    st.sidebar.code(found.place, language=None, wrap_lines=True)


main()
