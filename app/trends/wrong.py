"""Which of the cells that Trends follows have wrong results, and where. Pure: no Streamlit, no database."""

from __future__ import annotations

import pandas as pd

from app.trends.frames import Same
from evaluator.verdicts.words import WRONG


def count(at: pd.DataFrame, same: Same) -> pd.Series[int]:
    """By point, of those that are followed, how many of the same cells have wrong results there or at the reference."""
    bad = at.loc[at["status"].eq(WRONG), ["point", "cell"]]
    bad = bad[bad["cell"].isin(list(same.cells))]
    by = {str(point): set(cells) for point, cells in bad.groupby("point")["cell"]} if len(bad) else {}
    there = by.get(same.reference, set())
    return pd.Series({point: len(by.get(point, set()) | there) for point in same.points}, dtype="int64")


def where(at: pd.DataFrame, point: str, reference: str) -> dict[int, str]:
    """By cell where its results are wrong, in words, of those that have wrong ones at a point or at the reference."""
    bad = at.loc[at["status"].eq(WRONG), ["point", "cell"]]
    here, there = (set(bad.loc[bad["point"] == one, "cell"]) for one in (point, reference))
    words = dict.fromkeys(here, "≠ wrong here") | dict.fromkeys(there, "≠ wrong at the reference")
    return words | dict.fromkeys(here & there, "≠ wrong on both sides")
