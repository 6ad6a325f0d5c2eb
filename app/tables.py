"""Tables: one way to show a data frame, with aligned numbers, its CSV, and rows that can be clicked.

Cells are drawn as text by Streamlit's canvas, whatever the names in them look like.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Final

import numpy as np
import pandas as pd
import streamlit as st
from pandas.io.formats.style import Styler

from app import theme

ROW_HEIGHT: Final = 30


def text(label: str, *, width: int | None = None, help: str | None = None, pinned: bool = False) -> Any:
    """A column of text."""
    return st.column_config.TextColumn(label, width=width, help=help, pinned=pinned)


def number(label: str, decimals: int, *, width: int | None = None, help: str | None = None) -> Any:
    """A column of numbers with the same number of decimals in every row, so that they align."""
    return st.column_config.NumberColumn(label, format=f"%.{decimals}f", width=width, help=help)


def significant(label: str, digits: int, *, width: int | None = None, help: str | None = None) -> Any:
    """A column of numbers of very different size, each with that many significant digits."""
    return st.column_config.NumberColumn(label, format=f"%.{digits}g", width=width, help=help)


def whole(label: str, *, width: int | None = None, help: str | None = None) -> Any:
    """A column of counts."""
    return st.column_config.NumberColumn(label, format="%d", width=width, help=help)


def moment(label: str, *, width: int | None = None) -> Any:
    """A column of moments, shown in UTC."""
    return st.column_config.DatetimeColumn(label, format="YYYY-MM-DD HH:mm", timezone="UTC", width=width)


def status(label: str = "status", *, width: int | None = 130) -> Any:
    """A column of status texts as ``theme.status_text`` makes them, which ``show`` colours."""
    return st.column_config.TextColumn(label, width=width)


def show(
    frame: pd.DataFrame,
    columns: Mapping[str, Any],
    *,
    key: str,
    rows: int = 12,
    pick: str | None = None,
    selected: int | None = None,
    csv: str | None = None,
    caption: str = "",
) -> int | None:
    """Draw ``columns`` of ``frame`` in this order; columns named ``status`` and ``verdict`` are coloured by
    their words.

    ``pick``: "cell" (a click anywhere in a row) or "row" (one row is always selected, at first ``selected``); returns
    the position of the picked row in ``frame``, or None. ``csv``: file name of the download, with every column.
    ``caption``: our own words above the table.
    """
    shown = frame[list(columns)]
    if caption or csv:
        with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
            st.caption(caption, width="stretch")
            if csv:
                download_csv(frame, csv, key=f"{key}-csv")
    options: dict[str, Any] = {}
    if pick is not None:
        options = {
            "on_select": "rerun",
            "selection_mode": "single-cell" if pick == "cell" else "single-row-required",
        }
        if selected is not None:
            options["selection_default"] = {"selection": {"rows": [selected]}}
    event = st.dataframe(
        _coloured(shown),
        column_config=dict(columns),
        hide_index=True,
        height=ROW_HEIGHT * (min(rows, max(1, len(shown))) + 1) + 3,
        row_height=ROW_HEIGHT,
        placeholder=theme.MISSING,
        key=key,
        **options,
    )
    return _picked(event, pick)


def known(frame: pd.DataFrame, columns: Mapping[str, Any]) -> dict[str, Any]:
    """Those of ``columns`` of which ``frame`` has anything."""
    return {name: column for name, column in columns.items() if frame[name].notna().any()}


def download_csv(frame: pd.DataFrame, name: str, *, key: str) -> None:
    """A button that saves all of ``frame``, of which the file is made when it is asked for."""
    st.download_button(
        "⤓ CSV",
        partial(as_csv, frame),
        file_name=name,
        mime="text/csv",
        key=key,
        type="tertiary",
        help="Save all rows and columns",
        on_click="ignore",
    )


def as_csv(frame: pd.DataFrame) -> str:
    """All of ``frame`` as CSV. A column of whole numbers has no fractions, also where some are missing, for which pandas
    makes them floats: ``7`` or nothing, not ``7.0``."""
    # Not as pandas' own nullable numbers, which take longer than all else about the file.
    whole = {
        str(name): pd.Series(
            [None if one != one else int(one) for one in column.tolist()], column.index, "object"
        )
        for name, column in frame.items()
        if column.dtype.kind == "f" and _are_whole(column.to_numpy())
    }
    return frame.assign(**whole).to_csv(index=False)


def _are_whole(numbers: Any) -> bool:
    known = numbers[~np.isnan(numbers)]
    return bool((np.isfinite(known) & (known == np.rint(known)) & (abs(known) < 2.0**53)).all())


def _picked(event: Any, pick: str | None) -> int | None:
    if pick is None:
        return None
    chosen: Sequence[Any] = event.selection.cells if pick == "cell" else event.selection.rows
    if not chosen:
        return None
    return int(chosen[0][0]) if pick == "cell" else int(chosen[0])


def _coloured(shown: pd.DataFrame) -> Any:
    """The columns of words that have a colour: ``status`` and ``verdict``."""
    dark = st.context.theme.type == "dark"
    known = {
        "status": {
            theme.status_text(word): theme.status_color(word, dark=dark) for word in theme.STATUS_WORDS
        },
        "verdict": {
            theme.verdict_text(word, sure): theme.verdict_color(word, dark=dark)
            for word in theme.VERDICT_WORDS
            for sure in (None, False)
            # Most rows of most tables, and each coloured cell costs.
            if theme.verdict_tone(word) != "neutral"
        },
    }
    styled: Any = shown
    for column, words in known.items():
        if column not in shown:
            continue
        # What stands beside a verdict takes its colour.
        said = {value: words.get(theme.last_said(str(value))) for value in shown[column].unique()}
        if colors := {value: color for value, color in said.items() if color}:
            # Only what has a colour needs a name: to name every cell takes as long as all else about a table.
            styled = (Styler(shown, cell_ids=False) if styled is shown else styled).map(
                lambda value, colors=colors: f"color: {colors[value]}" if value in colors else "",
                subset=[column],
            )
    return styled
