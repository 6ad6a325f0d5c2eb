"""The kernels of two evaluations, side by side: the tab of Why for them, with what was merged and what was split."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import pandas as pd
import streamlit as st

from app import evidence, tables
from app import files as kept_files
from app import kernels as kernel_rows
from app.data import MOST_SHOWN_BYTES, Database, artifact
from app.observed import part as observed
from app.pair import rows as pair_rows
from app.pair.evidence import comparable
from app.pair.page import Sides
from evaluator.report.diffs import source_diff
from evaluator.verdicts.findings import FusionChange
from evaluator.verdicts.generated import fusion_text
from evaluator.verdicts.words import is_codegen

# A diff beyond this many lines is not read on a page; both sources can be saved.
MOST_DIFF_LINES: Final = 2_000
DIFF: Final = "Difference"
BESIDE: Final = "Side by side"


def kernels(database: Database, sides: Sides) -> None:
    """What was generated on both sides, then what was seen to run."""
    if not comparable(database, sides, evidence.kernels):
        return
    _generated(database, sides)
    if not is_codegen(sides.candidate.target):
        observed.beside(database, sides.both, _key(sides))


def _generated(database: Database, sides: Sides) -> None:
    """Kernels that were merged or split with all their sources; then every kernel, added, removed, changed, launched or
    built otherwise, renamed and the same, and the picked one's sources as a difference or whole."""
    found = pair_rows.kernels(sides.pair, sides.cell.differences)
    if found.empty:
        st.info(pair_rows.none("kernels", sides.base, sides.candidate))
        return
    carried = [word.lower() for word, record in sides.both if (record.facts or {}).get("reused_code")]
    if carried:
        st.caption(
            f"Of the {' and the '.join(carried)}: kernels that earlier buckets left, whose code this one runs."
        )
    fusions(database, sides)
    more = kernel_rows.columns(found, of_two=True)
    columns = {
        "change": tables.text("change", width=100),
        "name": tables.text("name", width=270 if more else 430),
        "kind": tables.text("kind", width=60 if more else 80),
        "body": tables.text(
            "body",
            width=65 if more else 80,
            help="by hash: without the kernel's name, imports, paths and metadata",
        ),
        **more,
    }
    row = tables.show(
        found,
        columns,
        key=f"pair-kernels-{_key(sides)}",
        rows=8,
        pick="row",
        csv="kernels-compared.csv",
        caption=f"{pair_rows.counted(found, 'kernels')} Pick one to compare its sources.",
    )
    _show_sources(database, sides, found.iloc[row or 0])


def _show_sources(database: Database, sides: Sides, picked: pd.Series[Any]) -> None:
    hashes = [picked[f"{side}_source"] for side in ("base", "candidate")]
    kept = [one if isinstance(one, str) else None for one in hashes]
    if not any(kept):
        st.info("No source is kept of this kernel: external functions have none.")
        return
    base, candidate = kept
    if base is not None and candidate is not None:
        how = st.segmented_control(
            "Sources",
            (DIFF, BESIDE),
            default=DIFF,
            key=f"pair-how-{_key(sides)}",
            label_visibility="collapsed",
        )
        if how != BESIDE:
            _difference(database, base, candidate, equal_body=picked["body"] == "equal")
            return
    for column, (word, _), sha256 in zip(st.columns(2), sides.both, kept, strict=True):
        with column:
            st.caption(word)
            if sha256 is None:
                st.info("This side has no such kernel.")
            else:
                kept_files.content(
                    database,
                    "kernel_source",
                    sha256,
                    key=f"pair-{word}-{_key(sides)}",
                    name=f"{picked['name']}-{word.lower()}",
                )


def _difference(database: Database, base: str, candidate: str, *, equal_body: bool) -> None:
    """The unified diff of two sources, as code."""
    if base == candidate:
        st.info("The sources are the same, character by character.")
        return
    if equal_body:
        st.caption("The bodies are equal: only a name, imports, paths or metadata (signature, sizes) differ.")
    texts = [
        artifact(database, one)[:MOST_SHOWN_BYTES].decode("utf-8", "replace") for one in (base, candidate)
    ]
    diff = source_diff(texts[0], texts[1], MOST_DIFF_LINES)
    kept_files.shown(
        diff or "The first part of the sources is the same; save both to compare the rest.", "diff"
    )


def fusions(database: Database, sides: Sides) -> None:
    """Every fusion that was lost or gained in a sentence, and the picked one's sources: one against several."""
    found = sides.cell.differences.fusions
    if not found:
        return
    key = f"pair-fusion-{_key(sides)}"
    shown = pd.DataFrame([kernel_rows.fusion(one) for one in found], dtype="object")
    columns = {
        "change": tables.text("change", width=105),
        "base": tables.text("base", width=380),
        "candidate": tables.text("candidate", width=380),
        "more": tables.text("moves", width=110, help="by Inductor's own estimate, candidate less base"),
    }
    row = tables.show(
        shown,
        columns,
        key=key,
        rows=5,
        pick="row",
        csv="fusions.csv",
        caption="Fusions lost and gained, told by the operators in the kernels' names. Fewer kernels are not faster.",
    )
    one = found[row or 0]
    st.text(fusion_text(one))
    _fused_sources(database, one, key)


def _fused_sources(database: Database, one: FusionChange, key: str) -> None:
    sides: Sequence[tuple[str, Sequence[str], Sequence[str | None]]] = (
        ("base", one.base, one.base_sources),
        ("candidate", one.candidate, one.candidate_sources),
    )
    for column, (side, names, hashes) in zip(st.columns(2), sides, strict=True):
        with column:
            for place, (name, sha256) in enumerate(zip(names, hashes, strict=True)):
                st.caption(f"{side.capitalize()}, {place + 1} of {len(names)}")
                st.text(name)
                if sha256 is None:
                    st.info("No source is kept of this kernel.")
                else:
                    kept_files.content(
                        database, "kernel_source", sha256, key=f"{key}-{side}-{place}", name=f"{name}-{side}"
                    )


def _key(sides: Sides) -> str:
    return f"{sides.base.id}-{sides.candidate.id}"
