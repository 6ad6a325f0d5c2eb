"""Which layer of torch.compile moved, on Why: the cell under more and more of it on both sides, or why nobody knows."""

from __future__ import annotations

import shlex
from glob import escape
from typing import Any, Final

import streamlit as st

from app import comparing, metric_words, tables
from app.pair import numbers as pair_numbers
from app.pair.page import Sides
from evaluator.verdicts.cells import bad
from evaluator.verdicts.words import BAD, is_codegen

# What a layer is asked of; a count is a layer's own.
_ASKED: Final = frozenset({"time", "status", "accuracy"})


def draw(sides: Sides, option: str) -> None:
    """The layer that moved and the rungs that say so; nothing where nothing got worse. ``option`` names the database to a
    command."""
    moved = pair_numbers.layer(sides.cell)
    times = [one.metric for one in sides.cell.findings if one.kind == "time" and one.verdict in BAD]
    metric = times[0] if times else "compiled.wall_ms"
    rungs = pair_numbers.ladder(sides.pair, metric)
    if moved or any(one.kind in _ASKED for one in bad(sides.cell.findings)):
        _say(sides, moved, climbed=not rungs.empty, option=option)
    if rungs.empty:
        return
    columns: dict[str, Any] = {
        "rung": tables.text("what takes part", width=240),
        "base_status": tables.text("base", width=130),
        "candidate_status": tables.text("candidate", width=130),
        "base_accuracy": tables.text("base accuracy", width=110),
        "candidate_accuracy": tables.text("candidate accuracy", width=130),
        "base": tables.text("base time", width=90),
        "candidate": tables.text("candidate time", width=110),
        "ratio": tables.text("change", width=80, help="of the medians"),
    }
    tables.show(
        rungs,
        columns,
        key=f"pair-ladder-{sides.base.id}-{sides.candidate.id}",
        csv="ladder.csv",
        caption=f"The same with more and more of torch.compile. Times: {metric_words.title(metric)}.",
    )


def _say(sides: Sides, moved: str | None, *, climbed: bool, option: str) -> None:
    if moved:
        st.caption(f"Layer that moved: {moved}")
        return
    unknown = "Layer that moved: not known."
    if climbed:
        st.caption(f"{unknown} No rung below holds most of what got worse.")
        return
    if is_codegen(sides.candidate.target):
        st.caption(
            f"{unknown} Nothing runs for a card that is not there, so nothing is measured layer by layer."
        )
        return
    st.caption(f"{unknown} What a rerun confirms is measured layer by layer, by an upgrade only.")
    command = _command(sides, option)
    if command is not None:
        st.caption("This measures both sides of the cell in turns, reruns what is worse, and explains it:")
        st.code(command, language="bash", wrap_lines=True)


def _command(sides: Sides, option: str) -> str | None:
    """The upgrade of this cell alone; None where its sides are not told apart by their torch, or that is not known."""
    base, candidate = sides.base, sides.candidate
    versions = [(one.torch or "").partition("+")[0] for one in (base, candidate)]
    if not all(versions) or versions[0] == versions[1]:
        return None
    named = {
        "--workload": escape(candidate.workload),
        "--buckets": escape(candidate.bucket),
        "--variants": escape(candidate.variant),
        "--target": candidate.target,
    }
    asked = [part for pair in named.items() for part in pair]
    return f"{comparing.UPGRADE} {shlex.join([*versions, *asked])}{option}"
