"""The tabs of Why: breaks, recompiles, kernels, times, accuracy, logs, files and environment of one evaluation."""

from __future__ import annotations

from typing import Any, Final

import pandas as pd
import streamlit as st

from app import charts, tables, theme
from app import files as kept_files
from app.data import Database
from db.queries.why import EvaluationRecord

# In the order in which a compile passes through them.
PHASES: Final = ("compile.dynamo_s", "compile.aot_autograd_s", "compile.inductor_s", "compile.toolchain_s")
REST: Final = "everything else"


def nothing_because(record: EvaluationRecord, what: str) -> None:
    """Say why a table is empty: clean, reused, not compiled and not recorded are four different things."""
    facts = record.facts
    if facts is None or facts.get("graphs") is None:
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
        guard = found.iloc[row]["guard"]
        st.code(
            guard if isinstance(guard, str) else str(found.iloc[row]["reason"]),
            language="python",
            wrap_lines=True,
        )


def kernels(database: Database, record: EvaluationRecord) -> None:
    """Generated kernels and external calls; one is picked to read its source."""
    found = record.kernels
    if found.empty:
        nothing_because(record, "kernels")
        return
    kinds = found["kind"].value_counts()
    caption = ", ".join(f"{n} {theme.literal(str(kind))}" for kind, n in kinds.items())
    columns = {
        "name": tables.text("name", width=340),
        "kind": tables.text("kind", width=80),
        "graph": tables.text("graph", width=70),
        "origin": tables.text("origin", width=90),
        "source_hash": tables.text(
            "body hash", width=240, help="equal hashes are equal bodies, whatever the name"
        ),
    }
    row = tables.show(
        found, columns, key=f"kernels-{record.id}", rows=8, pick="row", csv="kernels.csv", caption=caption
    )
    source = found.iloc[row or 0]["source_sha256"]
    if isinstance(source, str):
        kept_files.content(database, "kernel_source", source, key=f"kernel-{record.id}")
    else:
        st.info("No source is kept of this kernel: external functions have none.")


def times(database: Database, record: EvaluationRecord) -> None:
    """Where a cold compile went, and every metric over its replicas."""
    found = record.summaries
    if found.empty:
        st.info("Nothing was measured: see the probes for what failed.")
        return
    medians = dict(zip(found["metric"], found["median"], strict=True))
    parts = [(theme.metric_title(metric), medians[metric]) for metric in PHASES if metric in medians]
    total = medians.get("compile.cold_s")
    if parts and total is not None:
        rest = total - sum(value for _, value in parts)
        # Medians of parts need not add up to the median of the whole; a negative rest is no phase.
        parts += [(REST, rest)] if rest > 0 else []
        st.altair_chart(
            charts.phases(pd.DataFrame(parts, columns=["phase", "value"])), key=f"phases-{record.id}"
        )
    shown = found.assign(
        title=[theme.metric_title(metric) for metric in found["metric"]],
        unit=[theme.metric_unit(metric) for metric in found["metric"]],
        **{name: [theme.number(v, 4) for v in found[name]] for name in ("median", "lo", "hi", "min", "max")},
    )
    columns = {
        "metric": tables.text("metric", width=190),
        "median": tables.text("median", width=90),
        "unit": tables.text("unit", width=50),
        "lo": tables.text("95% from", width=80, help="interval of the median; none below 6 replicas"),
        "hi": tables.text("to", width=80),
        "min": tables.text("least", width=80),
        "max": tables.text("most", width=80),
        "replicas": tables.whole("replicas", width=70),
        "samples": tables.whole("samples", width=70),
    }
    tables.show(
        shown,
        columns,
        key=f"times-{record.id}",
        rows=20,
        csv="metrics.csv",
        caption="Medians over the replicas; a replica's value is the median of its rounds.",
    )


def accuracy(database: Database, record: EvaluationRecord) -> None:
    """Errors to float64, eager's beside the compiled code's, and leaves that differ in form."""
    found = record.accuracy
    if found.empty:
        st.info("Accuracy was not measured for this evaluation.")
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
        st.info("No probe has reported yet.")
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
    found = record.artifacts.drop_duplicates(["kind", "sha256"])
    kept_files.browse(database, found, key=f"artifacts-{record.id}")
    if record.source_sha256:
        st.caption("Source of the workload, as it was evaluated")
        kept_files.content(database, "workload_source", record.source_sha256, key=f"source-{record.id}")


def environment(database: Database, record: EvaluationRecord) -> None:
    """All that the environment's hash covers."""
    st.caption(
        f"Environment {theme.literal(record.environment[:16])} · variant {theme.literal(record.variant)}"
    )
    kept_files.fields(
        {"compile options": record.options, **record.environment_fields}, key=f"fields-{record.id}"
    )
