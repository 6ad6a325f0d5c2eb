"""The dashboard's entry file: ``streamlit run app`` from the root of the repository, or ``streamlit run PATH/app``."""

from __future__ import annotations

import sys
from pathlib import Path

# The streamlit command puts this folder, not the repository's root, where imports are looked up.
_ROOT = str(Path(__file__).resolve().parents[1])
if sys.path[0] != _ROOT:
    sys.path.insert(0, _ROOT)

import pandas as pd  # noqa: E402
import streamlit as st  # noqa: E402
from streamlit.navigation.page import StreamlitPage  # noqa: E402

from app import collector, comparing, data, empty, state, steps  # noqa: E402
from evaluator.errors import UserError  # noqa: E402

# Text in Arrow's memory, which pandas chooses by itself, is slow for frames of a page's size: a tenth of a whole script.
pd.options.mode.string_storage = "python"

# Pages in the order of the navigation. The shared filters are drawn for those that are about one workload.
PAGES = {
    "verdict": st.Page("views/verdict.py", title="Verdict", icon="⚖️", default=True),
    "matrix": st.Page("views/matrix.py", title="Matrix", icon="🔲"),
    "workload": st.Page("views/workload.py", title="Workload", icon="📈"),
    "why": st.Page("views/why.py", title="Why", icon="🔎"),
    "timeline": st.Page("views/timeline.py", title="Timeline", icon="🧵"),
    "trends": st.Page("views/trends.py", title="Trends", icon="📉"),
    "coverage": st.Page("views/coverage.py", title="Coverage", icon="🧭"),
    "runs": st.Page("views/runs.py", title="Runs", icon="🗂️"),
}
FILTERED = ("workload", "why")
# Pages about two sides, whose pickers stay from one to the next.
COMPARING = ("verdict", "matrix", "coverage")


def main() -> None:
    """Open the database, draw what all pages share, and run the page of this URL."""
    st.set_page_config(
        page_title="Compilewatch", page_icon="⏱️", layout="wide", initial_sidebar_state="expanded"
    )
    steps.begin()
    st.html(Path(_ROOT) / "app" / "style.css")
    st.logo(Path(_ROOT) / "app" / "logo.svg", size="large")
    page = st.navigation(list(PAGES.values()))
    with data.one_connection():
        shown(page)


def shown(page: StreamlitPage) -> None:
    """The page, or why there is none."""
    found = data.opened(data.located())
    if isinstance(found, data.Unavailable):
        empty.show(found)
        return
    try:
        name = next(name for name, one in PAGES.items() if one.url_path == page.url_path)
        if name in COMPARING:
            comparing.draw(found, name)
        else:
            comparing.passed(name)
        state.keep(found, state.shared_filters(found) if name in FILTERED else None)
        collector.settle()
        page.run()
    except UserError as error:
        empty.show(data.unavailable("The database can't be read right now", error))
    st.sidebar.caption("Database, opened read-only")
    st.sidebar.code(found.place, language=None, wrap_lines=True)


main()
