"""Choices of a page that are kept in the URL, and found again when the browser's Back returns to the page.

``state.pick`` is for pages that are only left through the navigation: of a page that a click leaves by a link, the
step that Back comes to has the target's values in its URL, and none of what a bound widget had chosen.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import streamlit as st

from app import state

# The values of pages that a click goes to.
_ELSEWHERE: Final = ("e", "w", "b")


def pick(
    label: str,
    key: str,
    options: Sequence[str],
    *,
    what: str,
    page: str,
    bar: bool = False,
    elsewhere: Sequence[str] = _ELSEWHERE,
) -> str:
    """One of ``options``, the first unless the URL says another; an unknown one is said. A list, or a ``bar``.

    ``elsewhere``: URL keys of the pages that a click goes to, none of which this page has itself.
    """
    kept = f"_chosen-{page}-{key}"
    wanted = state.asked(key)
    if wanted is not None and wanted not in options:
        state.say_unknown(what, wanted, options)
    if wanted is None and any(state.asked(one) for one in elsewhere):
        wanted = st.session_state.get(kept)
    current = wanted if wanted is not None and wanted in options else options[0]
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
    st.session_state[kept] = current
    return current
