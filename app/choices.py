"""Choices of a page that are kept in the URL, each a step that the browser's Back undoes.

``state.pick`` is for filters, which change the URL of the step that one is on.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

import streamlit as st

from app import state

_TAB: Final = "tab"
_SEEN: Final = "_tab_seen"


def pick(label: str, key: str, options: Sequence[str], *, what: str, bar: bool = False) -> str:
    """One of ``options``, the first unless the URL says another; an unknown one is said. A list, or a ``bar``."""
    current = _wanted(key, options, what) or options[0]
    # The widget's key holds what the URL says, so that Back moves the selection too.
    name = f"{key}-{current}"
    listed = list(options)
    if bar:
        picked = st.segmented_control(label, listed, default=current, required=True, key=name)
    else:
        picked = st.selectbox(label, listed, index=listed.index(current), key=name)
    if picked is not None and picked != current:
        st.query_params[key] = picked
        st.rerun()
    return current


def tabs(
    drawers: Mapping[str, Callable[[], None]], *, first: str | None = None, known: Sequence[str] = ()
) -> None:
    """Tabs, of which only the open one is drawn: the URL's, else ``first``, else the first; an unknown one is said.

    ``known``: tabs that this page has at other times, whose absence is no fault of a link.
    """
    names = list(drawers)
    current = _wanted(_TAB, names, "tab", quiet=known) or first or names[0]
    # One widget for all of them: a new one would for a moment get what the tab before had, of which files are gone by then.
    key, asked = f"{_TAB}-{names[0]}", state.asked(_TAB)
    if key not in st.session_state or st.session_state.get(_SEEN) != asked:
        st.session_state[key] = current
    opened = st.tabs(names, key=key, on_change="rerun")
    for name, tab in zip(names, opened, strict=True):
        if tab.open:
            if name != current:
                st.query_params[_TAB] = name
            with tab:
                drawers[name]()
    st.session_state[_SEEN] = state.asked(_TAB)


def _wanted(key: str, options: Sequence[str], what: str, *, quiet: Sequence[str] = ()) -> str | None:
    """The one of ``options`` that the URL asks for; None where it asks for none, or for one that is not there."""
    wanted = state.asked(key)
    if wanted is None or wanted in options:
        return wanted
    if wanted not in quiet:
        state.say_unknown(what, wanted, options)
    return None
