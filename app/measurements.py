"""What was measured in one evaluation and under what: the tabs of Why for times, accuracy, probes, files, environment."""

from __future__ import annotations

from typing import Any

import pandas as pd
import streamlit as st

from app import charts, metric_words, tables, theme
from app import files as kept_files
from app.data import Database
from app.drawing import themed, unchecked
from app.pair import kept
from app.pair import numbers as pair_numbers
from db.queries.why import EvaluationRecord
from evaluator.verdicts.words import ROUND_FLAGS, is_codegen


def times(database: Database, record: EvaluationRecord) -> None:
    """Where a cold compile went, and every metric over its replicas."""
    found = record.summaries
    if found.empty:
        never = theme.NOTHING_RAN if is_codegen(record.target) else None
        st.info(never or "Nothing was measured: see the probes for what failed.")
        return
    parts = pair_numbers.phase_parts(found)
    if parts:
        frame = pd.DataFrame(parts, columns=["phase", "value"])
        st.vega_lite_chart(themed(unchecked(lambda: charts.phases(frame))), key=f"phases-{record.id}")
    found = found.sort_values("metric", key=lambda names: names.map(metric_words.order))
    shown = found.assign(
        title=[metric_words.title(metric) for metric in found["metric"]],
        unit=[metric_words.unit(metric) for metric in found["metric"]],
        includes=[metric_words.includes(metric) for metric in found["metric"]],
        rounds=["; ".join(ROUND_FLAGS[flag] for flag in flags) for flags in found["round_flags"]],
        **{name: [theme.number(v, 4) for v in found[name]] for name in ("median", "lo", "hi", "min", "max")},
    )
    columns = {
        "title": tables.text("metric", width=190),
        "median": tables.text("median", width=90),
        "unit": tables.text("unit", width=50),
        "lo": tables.text("95% from", width=80, help="interval of the median; none below 6 replicas"),
        "hi": tables.text("to", width=80),
        "min": tables.text("least", width=80),
        "max": tables.text("most", width=80),
        "replicas": tables.whole("replicas", width=70),
        "samples": tables.whole("samples", width=70),
        "includes": tables.text("what it includes", width=420),
        "rounds": tables.text("what qualifies its rounds", width=300, help="they keep their values"),
    }
    tables.show(
        shown,
        columns,
        key=f"times-{record.id}",
        rows=20,
        csv="metrics.csv",
        caption="Medians over the replicas; a replica's value is the median of its rounds, each the mean of a batch of calls. "
        "Times by different clocks are never added up.",
    )


def accuracy(database: Database, record: EvaluationRecord) -> None:
    """Errors to float64, eager's beside the compiled code's, and leaves that differ in form."""
    found = record.accuracy
    if found.empty:
        never = theme.NOTHING_RAN if is_codegen(record.target) else None
        st.info(never or "Accuracy was not measured for this evaluation.")
    else:
        numbers = ("max_abs", "max_rel", "rmse_fp64", "eager_rmse_fp64")
        shown = found.assign(**{name: [theme.number(v) for v in found[name]] for name in numbers})
        columns = {
            "series": tables.text("series", width=110),
            "verdict": tables.text("verdict", width=110),
            "rmse_fp64": tables.text("compiled RMSE to float64", width=150),
            "eager_rmse_fp64": tables.text("eager RMSE to float64", width=150),
            "max_abs": tables.text("largest difference", width=120, help="of compiled and eager, absolute"),
            "max_rel": tables.text("relative", width=90),
            "reason": tables.text("reason", width=300),
        }
        tables.show(
            shown,
            columns,
            key=f"accuracy-{record.id}",
            csv="accuracy.csv",
            caption="Worst leaf of the outputs.",
        )
    if not record.differences.empty:
        st.caption("Leaves of the output that differ from eager's in form")
        names = {"leaf": "leaf", "kind": "what", "eager": "eager", "compiled": "compiled"}
        columns = {name: tables.text(label) for name, label in names.items()}
        tables.show(record.differences, columns, key=f"differences-{record.id}", csv="differences.csv")


def probes(database: Database, record: EvaluationRecord) -> None:
    """Each probe's status; the picked one's error and log."""
    found = record.probes
    if found.empty:
        finished = isinstance(record.status, str)
        st.info("No probe was run: see the reason above." if finished else "No probe has reported yet.")
        return
    shown = found.assign(status=[theme.status_text(status) for status in found["status"]])
    columns = {
        "probe": tables.text("probe", width=90),
        "cache": tables.text("cache", width=60),
        "replica": tables.whole("replica", width=60),
        "status": tables.status(),
        "stage": tables.text("stage", width=90),
        "duration_s": tables.number("seconds", 1, width=80),
        "reason": tables.text("reason", width=420),
    }
    worst = next((i for i, status in enumerate(found["status"]) if status == record.status), 0)
    key = f"probes-{record.id}"
    row = tables.show(
        shown,
        columns,
        key=key,
        rows=8,
        pick="row",
        selected=worst,
        csv="probes.csv",
        caption="Pick one to read its error and log.",
    )
    kept_files.failure(found.iloc[worst if row is None else row])


def files(database: Database, record: EvaluationRecord) -> None:
    """Every file its probes left, once each, and the workload's source."""
    found = kept.named(record.artifacts, record.kernels)
    kept_files.browse(database, found, key=f"artifacts-{record.id}")
    if record.source_sha256:
        st.caption("Source of the workload, as it was evaluated")
        kept_files.content(
            database, "workload_source", record.source_sha256, key=f"source-{record.id}", name=record.workload
        )


def environment(database: Database, record: EvaluationRecord) -> None:
    """All that the environment's hash covers."""
    st.caption(
        f"Environment {theme.literal(record.environment[:16])} · variant {theme.literal(record.variant)}"
    )
    before = {"compile options": record.options, **_precision(record), **card(record)}
    kept_files.fields(record.environment_fields, key=f"fields-{record.id}", before=before)


def _precision(record: EvaluationRecord) -> dict[str, str]:
    asked = record.precision or record.workload_precision
    return {} if asked is None else {"float32 precision": asked}


def card(record: EvaluationRecord) -> dict[str, Any]:
    """What the walk says of the card that its code was generated for, of attention and what differs on it, and of CUDA graphs."""
    extra = (record.facts or {}).get("extra")
    known = extra if isinstance(extra, dict) else {}
    return {
        name: known[name] for name in ("card", "attention", "card_notes", "cuda_graphs") if known.get(name)
    }
