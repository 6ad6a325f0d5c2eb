"""What the compiler did in two evaluations: the tabs of Why for breaks and recompiles, side by side."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pandas as pd
import streamlit as st

from app import evidence, tables
from app import files as kept_files
from app.data import Database
from app.pair import rows as pair_rows
from app.pair.page import Sides
from db.queries.why import EvaluationRecord

Draw = Callable[[Database, EvaluationRecord], None]


def comparable(database: Database, sides: Sides, alone: Draw) -> bool:
    """Whether a difference may be shown, after saying what a side's evidence lacks. Where nothing was compared, each
    side is drawn for itself by ``alone``."""
    if sides.why_not is not None:
        for column, (word, record) in zip(st.columns(2), sides.both, strict=True):
            with column:
                st.caption(f"{word}, not compared")
                alone(database, record)
        return False
    for word, record in sides.both:
        found = pair_rows.gap(record)
        if found is not None:
            st.warning(f"{word}: {found}. A difference below may be that alone.")
    return True


def breaks(database: Database, sides: Sides) -> None:
    """Break sites added, removed, moved and the same; one is picked to read torch's explanation."""
    if not comparable(database, sides, evidence.breaks):
        return
    found = pair_rows.breaks(sides.pair, sides.cell.differences)
    if found.empty:
        st.info(pair_rows.none("graph breaks", sides.base, sides.candidate))
        return
    columns = {
        "change": tables.text("change", width=95),
        "function": tables.text("function", width=120),
        "reason": tables.text("reason", width=420),
        "base": tables.text("base", width=200),
        "candidate": tables.text("candidate", width=200),
    }
    row = tables.show(
        found,
        columns,
        key=f"pair-breaks-{_key(sides)}",
        rows=8,
        pick="row",
        csv="graph-breaks-compared.csv",
        caption=f"{pair_rows.counted(found, 'graph break sites')} Pick one to read torch's explanation.",
    )
    if row is not None:
        picked = found.iloc[row]
        both = (("base_id", sides.base.breaks), ("candidate_id", sides.candidate.breaks))
        _beside([_explained(_row(frame, picked[name])) for name, frame in both])


def _explained(one: Mapping[Any, Any] | None) -> str | None:
    if one is None:
        return None
    hints = [f"Hint: {hint}" for hint in one["hints"] or []]
    where = evidence.place(one["file"], one["line"])
    parts = (where, one["reason"], one["explanation"], *hints)
    return "\n\n".join(part for part in parts if isinstance(part, str))


def recompiles(database: Database, sides: Sides) -> None:
    """Guards that failed on one side only, and those that failed on both."""
    if not comparable(database, sides, evidence.recompiles):
        return
    found = pair_rows.guards(sides.pair, sides.cell.differences)
    if found.empty:
        st.info(pair_rows.none("recompiles", sides.base, sides.candidate))
        return
    columns = {
        "change": tables.text("change", width=95),
        "guard": tables.text("guard that failed", width=460),
        "where": tables.text("file:line", width=220),
        "function": tables.text("function", width=120),
    }
    row = tables.show(
        found,
        columns,
        key=f"pair-guards-{_key(sides)}",
        rows=8,
        pick="row",
        csv="recompiles-compared.csv",
        caption=f"{pair_rows.counted(found, 'recompiles')} Pick one to read the guard.",
    )
    if row is not None:
        wanted = found.iloc[row]["id"]
        for record in (sides.base, sides.candidate):
            one = _row(record.recompiles, wanted)
            if one is not None:
                lines = [("failed", one["reason"]), ("guard", one["guard"])]
                kept_files.shown("\n".join(f"{k}: {v}" for k, v in lines if isinstance(v, str)))


def _beside(texts: list[str | None]) -> None:
    """The base's and the candidate's text in two columns."""
    for column, word, text in zip(st.columns(2), ("Base", "Candidate"), texts, strict=True):
        with column:
            st.caption(word)
            kept_files.shown(text if text else "(not on this side)")


def _row(frame: pd.DataFrame, wanted: Any) -> Mapping[Any, Any] | None:
    """The recorded row with an id; None where a side has none, or an earlier bucket's walk has it."""
    if frame.empty or pd.isna(wanted):
        return None
    rows = frame[frame["id"] == int(wanted)].to_dict("records")
    return rows[0] if rows else None


def _key(sides: Sides) -> str:
    return f"{sides.base.id}-{sides.candidate.id}"
