"""What the compiler did in one evaluation: the tabs of Why for graph breaks, recompiles and kernels."""

from __future__ import annotations

from typing import Any

import pandas as pd
import streamlit as st

from app import files as kept_files
from app import kernels as kernel_rows
from app import tables, theme
from app.data import Database
from app.observed import part as observed
from db.queries.why import EvaluationRecord
from evaluator.verdicts.words import is_codegen


def nothing_because(record: EvaluationRecord, what: str) -> None:
    """Say why a table is empty: clean, reused, not compiled and not recorded are four different things."""
    facts = record.facts
    if record.status == "unsupported" and (facts or {}).get("graphs") is None:
        st.info(f"No {what} recorded: it is unsupported here, and was not compiled.")
    elif facts is None or facts.get("graphs") is None:
        st.info(f"No {what} recorded: no trace of the walk is kept.")
    elif facts.get("nothing_compiled"):
        st.warning(f"No {what}: nothing was compiled.")
    elif record.status != "ok" and not facts.get("graphs"):
        st.info(f"No {what} up to the failure.")
    elif facts.get("compiles") == 0:
        st.info(f"No {what} in this bucket: it reused code of earlier buckets.")
    else:
        st.info(f"No {what}.")


def place(file: Any, line: Any) -> str | None:
    """``file:line``; None where the file is not known."""
    if not isinstance(file, str):
        return None
    return file if pd.isna(line) else f"{file}:{int(line)}"


def breaks(database: Database, record: EvaluationRecord) -> None:
    """Distinct sites with their reason; one is picked to read torch's explanation."""
    found = record.breaks
    if found.empty:
        nothing_because(record, "graph breaks")
        return
    shown = found.assign(
        where=[place(f, n) for f, n in zip(found["file"], found["line"], strict=True)],
        inherited=["inherited" if one else "here" for one in found["inherited"]],
    )
    columns = {
        "where": tables.text("file:line", width=200),
        "function": tables.text("function", width=110),
        "reason": tables.text("reason", width=380),
        "break_id": tables.text("id", width=80),
        "inherited": tables.text(
            "from", width=90, help="inherited: met in code reused from an earlier bucket"
        ),
        "events": tables.whole("events", width=60, help="how often it happened in this bucket"),
        "compile_id": tables.text("compile", width=70),
    }
    row = tables.show(
        shown,
        columns,
        key=f"breaks-{record.id}",
        rows=6,
        pick="row",
        csv="graph-breaks.csv",
        caption="Distinct sites. Pick one to read torch's explanation.",
    )
    if row is not None:
        picked = found.iloc[row]
        hints = [f"Hint: {hint}" for hint in picked["hints"] or []]
        text = "\n\n".join(
            str(one) for one in (picked["reason"], picked["explanation"], *hints) if isinstance(one, str)
        )
        kept_files.shown(text)


def recompiles(database: Database, record: EvaluationRecord) -> None:
    """The guards that failed."""
    found = record.recompiles
    if found.empty:
        nothing_because(record, "recompiles")
        return
    shown = found.assign(where=[place(f, n) for f, n in zip(found["file"], found["line"], strict=True)])
    columns = {
        "reason": tables.text("guard that failed", width=420),
        "where": tables.text("file:line", width=200),
        "function": tables.text("function", width=110),
        "frame": tables.text("frame", width=60),
        "compile_id": tables.text("compile", width=70),
    }
    row = tables.show(
        shown,
        columns,
        key=f"recompiles-{record.id}",
        rows=6,
        pick="row",
        csv="recompiles.csv",
        caption="In the order they happened. Pick one to read the guard.",
    )
    if row is not None:
        picked = found.iloc[row]
        lines = [("failed", picked["reason"]), ("guard", picked["guard"])]
        kept_files.shown("\n".join(f"{name}: {text}" for name, text in lines if isinstance(text, str)))


def kernels(database: Database, record: EvaluationRecord) -> None:
    """What was generated, then what was seen to run."""
    _generated(database, record)
    if not is_codegen(record.target):
        observed.alone(database, record)


def _generated(database: Database, record: EvaluationRecord) -> None:
    """Generated kernels and external calls; one is picked to read its source."""
    found = record.kernels
    if found.empty:
        nothing_because(record, "kernels")
        return
    kinds = found["kind"].value_counts()
    caption = ", ".join(f"{n} {theme.literal(str(kind))}" for kind, n in kinds.items())
    found = kernel_rows.worded(found)
    more = kernel_rows.columns(found)
    columns = {
        "name": tables.text("name", width=280 if more else 340),
        "kind": tables.text("kind", width=60 if more else 80),
        **more,
        "graph": tables.text("graph", width=70),
        "origin": tables.text("origin", width=90),
        "source_hash": tables.text(
            "body hash", width=240, help="equal hashes are equal bodies, whatever the name"
        ),
    }
    row = tables.show(
        found, columns, key=f"kernels-{record.id}", rows=8, pick="row", csv="kernels.csv", caption=caption
    )
    picked = found.iloc[row or 0]
    if pd.notna(picked["build"]):
        kept_files.shown(
            kernel_rows.build_lines(record.builds.set_index("id").loc[int(picked["build"])].to_dict())
        )
    source = picked["source_sha256"]
    if isinstance(source, str):
        kept_files.content(
            database, "kernel_source", source, key=f"kernel-{record.id}", name=str(picked["name"])
        )
    else:
        st.info("No source is kept of this kernel: external functions have none.")
