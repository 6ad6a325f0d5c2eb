"""A timeline on the page: made once and drawn again from what was kept. Nothing in it is clicked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import streamlit as st

from app import drawing
from app.vega import Spec


def draw(about: tuple[Any, ...], key: str, build: Callable[[], Spec]) -> None:
    """Draw the chart that ``build`` makes; ``about`` says all that it depends on."""
    st.vega_lite_chart(drawing.themed(_spec(about, build)), key=key)


@st.cache_data(show_spinner=False, max_entries=64)
def _spec(about: tuple[Any, ...], _build: Callable[[], Spec]) -> Spec:
    return drawing.unchecked(_build)
