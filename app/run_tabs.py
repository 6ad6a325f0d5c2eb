"""The tabs of a run: its cells, what failed with the log, its environments, the files it kept, its raw samples."""

from __future__ import annotations

import json
from typing import Any, Final

import pandas as pd
import streamlit as st

from app import files as kept_files
from app import links, metric_words, tables, theme
from app.data import Database, read
from app.findings import note
from db.queries import run_details
from evaluator.verdicts.sides import CellName
from evaluator.verdicts.words import is_codegen

SAMPLES_A_PAGE: Final = 200


def cells(database: Database, run: int) -> None:
    """One row an evaluation; a click opens its evidence."""
    found = read(database, run_details.cells, run)
    if found.empty:
        st.info("This run has no evaluation yet.")
        return
    shown = with_words(found)
    # A column that says the same in every row is left to the CSV.
    varying = [name for name in ("variant", "target", "torch") if found[name].nunique() > 1]
    if "target" not in varying and is_codegen(found["target"].iloc[0]):
        varying.insert(0, "target")
    columns: dict[str, Any] = {
        "workload": tables.text("workload", width=165),
        "bucket": tables.text("bucket", width=120),
        **{name: tables.text(name, width=75) for name in varying},
        "status": tables.status(width=115),
        "note": tables.text("note", width=150),
        "graphs": tables.whole("graphs", width=55),
        "graph_breaks": tables.whole("breaks", width=55, help="distinct sites"),
        "recompiles": tables.whole("recomp.", width=60, help="recompiles in this bucket's calls"),
        "compile.cold_s": tables.number("cold s", 2, width=60, help="cold compile"),
        "compile.warm_cache_s": tables.number("warm s", 2, width=60, help="compile with filled caches"),
        "eager.wall_ms": tables.significant("eager ms", 4, width=75, help="median of batch means"),
        "compiled.wall_ms": tables.significant(
            "comp. ms", 4, width=75, help="compiled, median of batch means"
        ),
        "speed_up": tables.significant(
            "speed-up", 3, width=65, help="eager over compiled; none where code ran eager"
        ),
    }
    row = tables.show(
        shown,
        columns,
        key=f"cells-{run}",
        rows=14,
        pick="cell",
        csv=f"run-{run}-cells.csv",
        caption="Click a row to see why. Times are medians of the replicas.",
    )
    if row is not None:
        picked = shown.iloc[row]
        cell = CellName(picked["workload"], picked["bucket"], picked["variant"], picked["target"])
        links.open_why(database, cell, int(picked["evaluation"]))


def with_words(found: pd.DataFrame) -> pd.DataFrame:
    """Cells with their status as text, what must be known beside the numbers, and the speed-up where it is one."""
    # A ratio is a speed-up only where compiled code ran, and all of it.
    ran = (
        ~found["nothing_compiled"].eq(True)
        & ~found["ran_eager"].isin(["some", "all"])
        & ~found["evidence_only"]
    )
    ratio = found["eager.wall_ms"] / found["compiled.wall_ms"]
    return found.assign(
        status=[
            theme.status_text(status if isinstance(status, str) else "running") for status in found["status"]
        ],
        speed_up=ratio.where(ran),
        note=[_note(row) for row in found.to_dict("records")],
    )


def _note(row: dict[Any, Any]) -> str | None:
    if isinstance(row["reason"], str) and row["status"] != "ok":
        return str(row["reason"])
    if is_codegen(row["target"]):
        return note(row) or "generated and built, never run: no times"
    return note(row) or ("captures only, no claim of speed" if row["evidence_only"] else None)


def failures(database: Database, run: int) -> None:
    """Every probe that is not ok, and the error and log tail of the one that is picked."""
    found = read(database, run_details.failed_probes, run)
    if found.empty:
        st.success("Every probe of this run is ok.", icon="✅")
        return
    shown = found.assign(status=[theme.status_text(status) for status in found["status"]])
    columns = {
        "workload": tables.text("workload", width=160),
        "bucket": tables.text("bucket", width=140),
        "variant": tables.text("variant", width=80),
        "probe": tables.text("probe", width=80),
        "cache": tables.text("cache", width=60),
        "replica": tables.whole("replica", width=60),
        "status": tables.status(),
        "stage": tables.text("stage", width=80),
        "reason": tables.text("reason", width=420),
    }
    row = tables.show(shown, columns, key=f"failed-{run}", rows=8, pick="row", csv=f"run-{run}-failures.csv")
    if row is not None:
        kept_files.failure(found.iloc[row])


def environment(database: Database, run: int) -> None:
    """What else decided the results, and the conditions while they were made."""
    found = read(database, run_details.environments, run)
    for number, one in enumerate(found):
        st.caption(f"Environment {number + 1} of {len(found)}" if len(found) > 1 else "Environment")
        kept_files.fields(one["fields"], key=f"environment-{run}-{number}")
    replicas = read(database, run_details.replicas, run)
    conditions = pd.json_normalize([c if isinstance(c, dict) else {} for c in replicas["conditions"]])
    # As they are named: PostgreSQL keeps no order of what a record held.
    conditions = conditions[sorted(map(str, conditions))]
    table = pd.concat([replicas.drop(columns="conditions"), conditions], axis=1).dropna(
        axis="columns", how="all"
    )
    columns = {str(name): tables.text(str(name)) for name in table if name != "unix_s"}
    if "started_at" in columns:
        columns["started_at"] = tables.moment("started (UTC)")
    st.caption("Conditions at the start of each replica")
    tables.show(table, columns, key=f"replicas-{run}")


def files(database: Database, run: int) -> None:
    """Traces, logs and sources that the run kept, to download by their hash."""
    kept_files.browse(database, read(database, run_details.artifacts, run), key=f"files-{run}")


def samples(database: Database, run: int) -> None:
    """The raw samples in recorded order, a page at a time."""
    metrics = read(database, run_details.sample_metrics, run)
    left, right = st.columns([3, 1])
    metric = left.selectbox(
        "Metric", [None, *metrics], format_func=lambda one: one or "all", key=f"metric-{run}"
    )
    total = read(database, run_details.sample_count, run, metric)
    pages = max(1, -(-total // SAMPLES_A_PAGE))
    page = int(right.number_input(f"Page of {pages:,}", 1, pages, 1, key=f"page-{run}-{metric}"))
    offset = (page - 1) * SAMPLES_A_PAGE
    found = read(database, run_details.samples, run, metric=metric, offset=offset, limit=SAMPLES_A_PAGE)
    units = [metric_words.unit(name) for name in found["metric"]]
    flags = [json.dumps(one) if isinstance(one, list) else None for one in found["flags"]]
    shown = found.assign(unit=units, flags=flags)
    columns = {
        "workload": tables.text("workload", width=160),
        "bucket": tables.text("bucket", width=140),
        "variant": tables.text("variant", width=80),
        "replica": tables.whole("replica", width=60),
        "probe": tables.text("probe", width=80),
        "cache": tables.text("cache", width=60),
        "metric": tables.text("metric", width=170),
        "round": tables.whole("round", width=60),
        "value": tables.number("value", 6, width=110, help="missing: the measurement failed"),
        "unit": tables.text("unit", width=50),
        "flags": tables.text("flags", width=120),
    }
    name = f"run-{run}-samples-{offset + 1}.csv"
    tables.show(shown, columns, key=f"samples-{run}-{metric}-{page}", rows=14, csv=name)
    st.caption(
        f"{theme.counted(total, 'sample')}, all kept; this page is {offset + 1:,} to {offset + len(found):,}."
    )
