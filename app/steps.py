"""Which changes of the URL the browser's Back comes to: a page's own choices, and one for each way to another page.

Streamlit makes every change that a script makes to the URL a step. On a way to another page those are too many: the page that
is left gets other values, and the one that is come to loses those that only the other had. A small script in the browser
takes them out. It sees what was clicked; what it can't see, a value of the URL tells it that nobody gets to see.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

# The page that is opened by the address alone.
FIRST: Final = "verdict"
_MARK: Final = "_step"
_SCRIPT: Final = Path(__file__).with_name("steps.js").read_text("utf-8")


def begin() -> None:
    """Watch over the browser's steps; the entry file calls this first, before anything reads the URL."""
    _forget()
    with st.container(key="steps"):
        st.html(f"<script>{_SCRIPT}</script>", unsafe_allow_javascript=True)


def leave(page: str, asked: Mapping[str, str]) -> None:
    """Go to a page of the navigation (its file below this folder) with these values and no others in its URL: one step.

    The page that is left stays in the history with the URL that it has. Never returns.
    """
    context = get_script_run_ctx()
    assert context is not None  # a page is being run
    # Streamlit refuses values that a widget of this page is bound to, and would itself add them a step later, for good.
    # There is no public way of letting go of them.
    with context.session_state.query_params() as bound:
        for key in asked:
            if (binding := bound.get_binding_for_param(key)) is not None:
                bound.unbind_widget(binding.widget_id)
    st.switch_page(page, query_params={**asked, _MARK: _name(Path(page).stem)})


def put(values: Mapping[str, str | None]) -> None:
    """Change these values of the URL, None to none at all: one step, however many they are."""
    _drop(*values)
    st.query_params.update({key: value for key, value in values.items() if value is not None})


def amend(page: str, values: Mapping[str, str | None]) -> None:
    """As ``put``, in the URL of ``page``, the one that is being run: what its step means, said in full, is no other step."""
    put({**values, _MARK: _name(page)})
    _forget()


def _name(page: str) -> str:
    """What stands for a page at the end of its URL's path: nothing for the first one."""
    return "" if page == FIRST else page


def _forget() -> None:
    """Let no later change of the URL carry the mark."""
    _drop(_MARK)


def _drop(*keys: str) -> None:
    """Take values out of the URL without telling the browser yet: the next change does."""
    context = get_script_run_ctx()
    assert context is not None  # a page is being run
    with context.session_state.query_params() as known:
        for key in keys:
            known.discard_param_no_forward_msg(key)
