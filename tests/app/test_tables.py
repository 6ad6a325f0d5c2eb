"""Tables: what is saved of one, and what its words are coloured by."""

from __future__ import annotations

import csv
import io
import math

import pandas as pd

from app import tables, theme


def saved(frame: pd.DataFrame) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(tables.as_csv(frame))))


def test_whole_numbers_are_saved_whole_where_others_are_missing() -> None:
    frame = pd.DataFrame(
        {
            # Beside a missing one pandas makes a float of each.
            "evaluation": [1, None],
            "every": [12.0, 13.0],
            "none": [math.nan, math.nan],
            "ratio": [1.0, 0.5],
            "endless": [1.0, math.inf],
            "name": ["1.0", None],
        }
    )
    assert saved(frame) == [
        {"evaluation": "1", "every": "12", "none": "", "ratio": "1.0", "endless": "1.0", "name": "1.0"},
        {"evaluation": "", "every": "13", "none": "", "ratio": "0.5", "endless": "inf", "name": ""},
    ]


def test_what_stands_beside_a_verdict_leaves_it_its_colour() -> None:
    verdict = theme.verdict_text("regressed")
    both = theme.beside("≠ wrong on both sides", verdict)
    drawn = tables._coloured(pd.DataFrame({"verdict": [verdict, both, "? inconclusive"]}))
    html = drawn.to_html()
    assert html.count(f"color: {theme.verdict_color('regressed', dark=False)}") >= 1
    # Both cells, and no other, are named by the rule of the colour.
    rule = next(line for line in html.splitlines() if "_row0_col0" in line and line.startswith("#"))
    assert "_row1_col0" in rule and "_row2_col0" not in rule
