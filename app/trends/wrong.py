"""Which of the cells that Trends follows have wrong results, and where. Pure: no Streamlit, no database."""

from __future__ import annotations

import pandas as pd

from app.trends.frames import Same
from evaluator.verdicts.words import WRONG


def count(at: pd.DataFrame, same: Same) -> dict[str, int]:
    """By point, of those that are followed, how many of the same cells have wrong results there or at the reference."""
    followed, by = set(same.cells), _cells(at)
    there = by.get(same.reference, set()) & followed
    return {point: len((by.get(point, set()) & followed) | there) for point in same.points}


def where(at: pd.DataFrame, point: str, reference: str) -> dict[int, str]:
    """By cell where its results are wrong, in words, of those that have wrong ones at a point or at the reference."""
    by = _cells(at)
    here, there = by.get(point, set()), by.get(reference, set())
    words = dict.fromkeys(here, "≠ wrong here") | dict.fromkeys(there, "≠ wrong at the reference")
    return words | dict.fromkeys(here & there, "≠ wrong on both sides")


def _cells(at: pd.DataFrame) -> dict[str, set[int]]:
    """By point the cells that have wrong results there, which are few."""
    bad = at["status"].eq(WRONG).to_numpy()
    found: dict[str, set[int]] = {}
    for point, cell in zip(at["point"].to_numpy()[bad], at["cell"].to_numpy()[bad], strict=True):
        found.setdefault(str(point), set()).add(int(cell))
    return found
