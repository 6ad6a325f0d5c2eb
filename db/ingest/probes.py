"""Probe records: the process, its samples and its evidence, all or nothing."""

from __future__ import annotations

from typing import Any, Final

from sqlalchemy import Connection, select

from db import values
from db.failures import RecordError
from db.ingest import identity, runs
from db.ingest.rows import Record, add, add_many
from db.models import ACCURACY_SERIES
from db.tables import (
    ACCURACY,
    DIFFERENCE,
    GRAPH_BREAK,
    KERNEL,
    KERNEL_BUILD,
    OBSERVED_KERNEL,
    OBSERVED_OPERATOR,
    PROBE,
    PROBE_ARTIFACT,
    RECOMPILE,
    SAMPLE,
)

_MEASURES: Final = ("max_abs", "max_rel", "rmse_fp64", "eager_rmse_fp64")
_BUILD_COUNTS: Final = (
    "configs",
    "registers",
    "spill_stores",
    "spill_loads",
    "stack",
    "shared",
    "static_shared",
    "ptx_bytes",
    "cubin_bytes",
)


def slot(record: Record) -> str:
    """What tells a probe from the others of its evaluation, as one text."""
    parts = (record.get("replica"), record["probe"], record.get("cache"), record.get("attempt") or 1)
    return "/".join("-" if part is None else str(part) for part in parts)


def probe(connection: Connection, record: Record) -> bool:
    """Store a probe; False where it is there already.

    Raises RecordError where another probe stands in its place, or something it refers to was not recorded.
    """
    evaluation, run, environment = runs.evaluation_row(connection, record["evaluation"])
    started = values.moment(record.get("started_at"))
    place = slot(record)
    there = connection.execute(
        select(PROBE.c.started_at).where(PROBE.c.evaluation_id == evaluation, PROBE.c.slot == place)
    ).first()
    if there is not None:
        if there.started_at != started:
            raise RecordError(
                f"evaluation {record['evaluation']} already has another probe {place}: two evaluators worked on one "
                "run, or one probe was recorded twice"
            )
        return False
    columns = {
        "evaluation_id": evaluation,
        "replica_id": runs.replica_id(connection, run, environment, values.integer(record.get("replica"))),
        "probe": record["probe"],
        "cache": record.get("cache"),
        "attempt": record.get("attempt") or 1,
        "slot": place,
        "status": record["status"],
        "reason": values.text(record.get("reason")),
        "stage": values.text(record.get("stage")),
        "error": values.json_object(record.get("error")),
        "log_tail": values.text(record.get("log_tail")),
        "started_at": started,
        "duration_s": values.number(record.get("duration_s")),
        "conditions": values.json_object(record.get("conditions")),
        "limits": values.json_object(record.get("limits")),
        "timing_protocol": values.json_object(record.get("timing_protocol")),
        "facts": values.json_object(record.get("facts")),
    }
    _parts(connection, add(connection, PROBE, columns), record)
    return True


def _parts(connection: Connection, probe_id: int, record: Record) -> None:
    place = {"probe_id": probe_id}
    add_many(connection, SAMPLE, [{**place, **_sample(one)} for one in record.get("samples") or ()])
    files = {(one["kind"], one["sha256"]) for one in record.get("artifacts") or ()}
    for _, sha256 in sorted(files):
        identity.artifact_name(connection, sha256, "artifact")
    add_many(
        connection, PROBE_ARTIFACT, [{**place, "kind": kind, "sha256": name} for kind, name in sorted(files)]
    )
    add_many(connection, GRAPH_BREAK, [{**place, **_break(one)} for one in record.get("breaks") or ()])
    add_many(
        connection, RECOMPILE, [{**place, **_recompile(one)} for one in record.get("recompile_reasons") or ()]
    )
    kernels = [{**place, **_kernel(one)} for one in record.get("kernels") or ()]
    builds = [{**place, **_build(one)} for one in record.get("builds") or ()]
    for sha256 in sorted({one["source_sha256"] for one in (*kernels, *builds) if one["source_sha256"]}):
        identity.artifact_name(connection, sha256, "kernel source")
    add_many(connection, KERNEL, kernels)
    add_many(connection, KERNEL_BUILD, builds)
    observed = [{**place, **_observed_kernel(one)} for one in record.get("observed_kernels") or ()]
    add_many(connection, OBSERVED_KERNEL, observed)
    called = [{**place, **_observed_operator(one)} for one in record.get("observed_operators") or ()]
    add_many(connection, OBSERVED_OPERATOR, called)
    series = accuracy_series(record)
    add_many(connection, ACCURACY, [{**place, **_accuracy(name, one)} for name, one in series.items()])
    add_many(
        connection, DIFFERENCE, [{**place, **_difference(one)} for one in record.get("differences") or ()]
    )


def accuracy_series(record: Record) -> dict[str, Record]:
    """The series of a probe's accuracy: ``accuracy``, and ``accuracy_<name>`` for every other that it reported."""
    fields = {"accuracy" if name == "default" else f"accuracy_{name}": name for name in ACCURACY_SERIES}
    return {name: record[field] for field, name in fields.items() if record.get(field)}


def _sample(one: Record) -> Record:
    return {
        "metric": one["metric"],
        "round": values.integer(one.get("round")),
        "value": values.number(one.get("value")),
        "flags": values.json_list(one.get("flags")),
    }


def _site(one: Record) -> Record:
    return {
        "file": values.text(one.get("file")),
        "line": values.integer(one.get("line")),
        "function": values.text(one.get("function")),
        "compile_id": values.text(one.get("compile_id")),
    }


def _break(one: Record) -> Record:
    return {
        **_site(one),
        "reason": values.text(one.get("reason")),
        "break_id": values.text(one.get("id")),
        "explanation": values.text(one.get("explanation")),
        "hints": values.json_list(one.get("hints")),
        "inherited": bool(one.get("inherited")),
        "events": values.integer(one.get("events")),
    }


def _recompile(one: Record) -> Record:
    return {
        **_site(one),
        "reason": values.text(one.get("reason")),
        "guard": values.text(one.get("guard")),
        "frame": values.text(one.get("frame")),
    }


def _kernel(one: Record) -> Record:
    named = ("kind", "form", "source_hash", "launch_hash", "graph", "origin", "source_sha256")
    counted = ("calls", "loads", "stores", "reductions", "bytes_moved")
    return {
        "name": values.text(one.get("name")) or "",
        **{name: values.text(one.get(name)) for name in named},
        **{name: values.integer(one.get(name)) for name in counted},
    }


def _build(one: Record) -> Record:
    named = ("source_sha256", "arch", "sass_hash", "triton", "ptxas", "error", "note")
    return {
        "name": values.text(one.get("name")) or "",
        **{name: values.text(one.get(name)) for name in named},
        **{name: values.integer(one.get(name)) for name in _BUILD_COUNTS},
        "config": values.json_object(one.get("config")),
        "compile_s": values.number(one.get("compile_s")),
        "cached": values.flag(one.get("cached")),
    }


def _observed_kernel(one: Record) -> Record:
    return {
        "mode": one["mode"],
        "kind": one["kind"],
        "name": values.text(one.get("name")) or "",
        "launches": values.integer(one.get("launches")),
        "device_ms": values.number(one.get("device_ms")),
        "registers": values.integer(one.get("registers")),
        "spills": values.integer(one.get("spills")),
        "occupancy": values.number(one.get("occupancy")),
    }


def _observed_operator(one: Record) -> Record:
    return {
        "mode": one["mode"],
        "name": values.text(one.get("name")) or "",
        "calls": values.integer(one.get("calls")),
        "host_ms": values.number(one.get("host_ms")),
        "kernels": values.integer(one.get("kernels")),
    }


def _accuracy(series: str, one: Record) -> Record:
    return {
        "series": series,
        "verdict": values.text(one.get("verdict")),
        **{name: values.number(one.get(name)) for name in _MEASURES},
        "reason": values.text(one.get("reason")),
        "details": values.json_object(one),
    }


def _difference(one: Record) -> Record:
    def shown(value: Any) -> str | None:
        return (
            values.text(value) if isinstance(value, str) or value is None else str(values.json_value(value))
        )

    return {
        "leaf": values.text(one.get("leaf")),
        "kind": values.text(one.get("kind")) or "other",
        "eager": shown(one.get("eager")),
        "compiled": shown(one.get("compiled")),
    }
