"""Charts on a page: made once, drawn again from what was kept, and what is clicked in them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import streamlit as st
from altair.utils.schemapi import debug_mode

from app.vega import Spec, in_theme


def draw(about: tuple[Any, ...], key: str, build: Callable[[], Spec]) -> Any:
    """Draw the chart that ``build`` makes, and return what is selected in it.

    ``about`` says all that the chart depends on: a chart of the same is not made again, and its JSON stays the same to
    the letter, so that a browser keeps the one it has.
    """
    # As text, which Streamlit looks at faster than at each part.
    event: Any = st.vega_lite_chart(themed(_spec(repr(about), build)), key=key, on_select="rerun")
    return event.selection


def themed(spec: Spec) -> Spec:
    """The chart for the theme that the reader has."""
    return in_theme(spec, dark=st.context.theme.type == "dark")


@st.cache_data(show_spinner=False, max_entries=64)
def _spec(about: str, _build: Callable[[], Spec]) -> Spec:
    return ready(_build)


def ready(build: Callable[[], Spec]) -> Spec:
    """As ``unchecked``, and its rows as Arrow's tables, which Streamlit sends as they are: of rows it makes tables anew
    each time that the chart is drawn."""
    spec = unchecked(build)
    return {**spec, "datasets": {name: pa.Table.from_pylist(rows) for name, rows in spec["datasets"].items()}}


def unchecked(build: Callable[[], Spec]) -> Spec:
    """The chart that ``build`` makes, without Altair's look at Vega-Lite's schema at every step, which takes longer than all the rest;
    tests look."""
    with debug_mode(False):
        return build()
