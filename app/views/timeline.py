"""Timeline: what runs after what? The ordering model of small programs on streams, and recorded traces of a device."""

from __future__ import annotations

from typing import Final

import streamlit as st

from app import choices, state
from app.data import Database
from app.links import RECORDED
from app.timeline import model, traces

# What is drawn; the first is shown at first.
MODEL: Final = "Ordering model"


def page(database: Database) -> None:
    st.title("Timeline", anchor=False)
    chosen = choices.pick(
        "Look at",
        "lanes",
        (MODEL, RECORDED),
        what="kind of timeline",
        bar=True,
    )
    if chosen == RECORDED:
        traces.draw(database)
    else:
        model.draw()


page(state.database())
