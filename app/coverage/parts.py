"""Parts of Coverage: how noisy the cells are, and what differs between the two environments."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from typing import Final

import pandas as pd
import streamlit as st

from app import tables, theme
from app.comparing import Compared
from app.coverage import frames as coverage_frames
from app.data import Database, read
from app.matrix.frames import DEFAULT
from db.queries import sides

CALIBRATE: Final = "python -m evaluator calibrate"
# With more workloads than this the command is for all of them.
MOST_NAMED: Final = 6


def noise(database: Database, found: Compared, times: pd.DataFrame) -> None:
    """How far equal sides are apart on this machine, cell by cell, and the command that finds it out."""
    missing = times[times["calibrated"].isna()]
    if found.base_ref.machine != found.cand_ref.machine:
        st.info("The sides ran on different machines: their times are not compared, so no noise applies.")
    if times.empty:
        st.info("No cell has a gating time on both sides.")
        return
    if len(missing):
        st.info(
            f"Not calibrated: {len(missing)} of {theme.counted(len(times), 'time')}. Their fixed margins hold (3% for warm "
            "times, 10% for compiles), whatever the noise of this machine is. This measures the torch of the interpreter that runs it (or of --python) against itself:"
        )
        given = read(database, sides.sources, found.base_ref.run)
        st.code(f"{CALIBRATE}{selected(missing, given)}{database.option}", language="bash", wrap_lines=True)
    columns = {
        "workload": tables.text("workload", width=170),
        "bucket": tables.text("bucket", width=130),
        **({"variant": tables.text("variant", width=90)} if times["variant"].nunique() > 1 else {}),
        "metric": tables.text("metric", width=150),
        "noise": tables.text("noise", width=120),
        "between": tables.number("between %", 2, width=85, help="standard deviation between processes"),
        "within": tables.number(
            "within %", 2, width=80, help="standard deviation between rounds of a process"
        ),
        "counts_from": tables.number(
            "counts from %", 1, width=100, help="a smaller difference is not called one here"
        ),
        "finds": tables.number(
            "5 v 5 finds %", 1, width=100, help="found four times in five with 5 replicas a side"
        ),
        "calibrated": tables.whole("run", width=50),
        "replicas": tables.whole("replicas", width=70),
    }
    words = ["? not calibrated" if pd.isna(run) else "✓ calibrated" for run in times["calibrated"]]
    tables.show(
        times.assign(noise=words),
        columns,
        key="noise",
        rows=16,
        csv="noise.csv",
        caption="Not calibrated first, then the noisiest.",
    )


def selected(missing: pd.DataFrame, sources: Sequence[str] = ()) -> str:
    """The cells of these rows as the command's arguments; all workloads where there are many, or where a name is not
    one that every shell takes as it is. ``sources``: what the run was given beside the packs."""
    workloads, variants = (list(dict.fromkeys(missing[name])) for name in ("workload", "variant"))
    parts = workloads if len(workloads) <= MOST_NAMED and all(map(_plain, workloads)) else []
    if sources and not parts:
        # With sources and no name the command would leave out what comes with the project.
        parts = ["'*'"]
    parts = [*parts, *(f"--workloads {shlex.quote(one)}" for one in sources)]
    if variants != [DEFAULT] and all(map(_plain, variants)):
        parts = [*parts, *(f"--variants {name}" for name in variants)]
    if set(missing["target"]) == {"cuda"}:
        parts = [*parts, "--target cuda"]
    return "".join(f" {part}" for part in parts)


def _plain(name: str) -> bool:
    return re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.-]*", name) is not None


def environments(found: Compared) -> None:
    """What else differs between the sides, and what importing costs in each."""
    verdicts = found.verdicts
    for sentence in verdicts.warnings:
        st.warning(theme.literal(sentence))
    blamed = coverage_frames.dependencies(verdicts)
    if len(blamed) == 1:
        st.markdown(f"Only {theme.literal(blamed[0])} moved, with what it brings along.")
    moved = coverage_frames.moved(verdicts)
    if moved.empty:
        st.info("Every recorded field of the two environments is the same.")
    else:
        names = {
            "field": "field",
            "base": verdicts.base,
            "candidate": verdicts.candidate,
            "blamed": "counts as",
        }
        columns = {name: tables.text(label) for name, label in names.items()}
        tables.show(
            moved, columns, key="moved", rows=14, csv="environments.csv", caption="Fields that differ"
        )
    imports = coverage_frames.imports(verdicts)
    if not imports.empty:
        columns = {
            name: tables.text(name) for name in ("metric", "unit", "base", "candidate", "verdict", "why")
        }
        tables.show(
            imports,
            columns,
            key="imports",
            csv="imports.csv",
            caption="What the environments cost by themselves",
        )
