"""Which target a page that compares shows, where the cells of several are compared."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import pandas as pd
import streamlit as st

from app import choices, state, theme
from db.queries.versions import targets_in_order
from evaluator.verdicts.words import is_codegen

_EVERY: Final = "every target"
# A key of its own: `target` is that of the pages about one workload, and would come along from there.
_KEY: Final = "tgt"


def pick(known: Iterable[str]) -> str | None:
    """The target that is picked, None for all; where only one is compared nothing is drawn but why it has no times."""
    found = targets_in_order(known)
    if len(found) < 2:
        state.check(_KEY, [*found, _EVERY], what="target")
        if found and is_codegen(found[0]):
            st.caption(f"{theme.literal(found[0])}: {theme.NOTHING_RAN}")
        return None
    picked = choices.pick("Target", _KEY, [_EVERY, *found], what="target", bar=len(found) < 4)
    if is_codegen(picked):
        st.caption(theme.NOTHING_RAN)
    return None if picked == _EVERY else picked


def only(frame: pd.DataFrame, target: str | None) -> pd.DataFrame:
    """The rows of a target, all where none is picked. ``frame`` has a column target."""
    return frame if target is None else frame[frame["target"] == target]
