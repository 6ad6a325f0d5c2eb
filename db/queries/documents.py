"""An evaluation as one JSON object: its cell, environment, probes, facts, evidence, accuracy and numbers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import ColumnElement, Engine, RowMapping, Table, select

from db import facts
from db.artifacts import ArtifactFolder, folder_of
from db.compiling import Compiling
from db.queries.numbers import benchmark, metrics, timing
from db.session import Reads
from db.tables import (
    ACCURACY,
    BUCKET,
    CELL,
    DIFFERENCE,
    ENVIRONMENT,
    EVALUATION,
    FACTS,
    GRAPH_BREAK,
    KERNEL,
    KERNEL_BUILD,
    OBSERVED_KERNEL,
    OBSERVED_OPERATOR,
    PROBE,
    PROBE_ARTIFACT,
    RECOMPILE,
    REPLICA,
    SAMPLE,
    SUMMARY,
    VARIANT,
    WORKLOAD,
)
from evaluator.worker.protocol import SEVERITY

Document = dict[str, Any]
Row = RowMapping

_MEASURES = ("verdict", "max_abs", "max_rel", "rmse_fp64", "eager_rmse_fp64", "reason")


@dataclass(frozen=True)
class Parts:
    """All rows of one evaluation. ``of_probe``: table name to probe id to rows, in the order they were stored."""

    evaluation: Row
    probes: list[Row]
    of_probe: Mapping[str, Mapping[int, list[Row]]]
    facts: Row | None
    summaries: list[Row]
    folder: ArtifactFolder = field(repr=False)

    def rows(self, table: Table, probes: Iterable[Row]) -> list[Row]:
        """The rows of a table that belong to these probes."""
        held = self.of_probe[table.name]
        return [row for probe in probes for row in held.get(probe["id"], ())]


def evaluation_documents(reads: Reads, which: ColumnElement[bool]) -> list[Document]:
    """Documents of the evaluations that ``which`` (a condition on the table evaluation) holds for, in order of id."""
    folder = folder_of(engine_of(reads).url)
    evaluations = list(reads.execute(_cells().where(which).order_by(EVALUATION.c.id)).mappings())
    probes = _by(reads.execute(_probes().where(which)).mappings(), "evaluation_id")
    of_probe = {table.name: _of_probes(reads, table, which) for table in _PARTS}
    found = _by(_of_evaluations(reads, FACTS, which), "evaluation_id")
    summaries = _by(_of_evaluations(reads, SUMMARY, which), "evaluation_id")
    return [
        _document(
            Parts(
                evaluation=row,
                probes=probes.get(row["id"], []),
                of_probe=of_probe,
                facts=next(iter(found.get(row["id"], ())), None),
                summaries=summaries.get(row["id"], []),
                folder=folder,
            )
        )
        for row in evaluations
    ]


_PARTS = (
    *(SAMPLE, PROBE_ARTIFACT, GRAPH_BREAK, RECOMPILE, KERNEL, KERNEL_BUILD, ACCURACY, DIFFERENCE),
    *(OBSERVED_KERNEL, OBSERVED_OPERATOR),
)


def engine_of(reads: Reads) -> Engine:
    bind = reads.get_bind() if not hasattr(reads, "engine") else reads.engine
    return bind.engine


def _cells() -> Any:
    return (
        select(
            EVALUATION,
            CELL.c.target,
            WORKLOAD.c.name.label("workload"),
            WORKLOAD.c.definition_hash,
            WORKLOAD.c.source_sha256,
            WORKLOAD.c.precision,
            BUCKET.c.name.label("bucket"),
            BUCKET.c.params,
            VARIANT.c.name.label("variant"),
            VARIANT.c.options,
            VARIANT.c.evidence_only,
            ENVIRONMENT.c.hash.label("environment_hash"),
            ENVIRONMENT.c.fields,
        )
        .select_from(EVALUATION)
        .join(CELL, CELL.c.id == EVALUATION.c.cell_id)
        .join(BUCKET, BUCKET.c.id == CELL.c.bucket_id)
        .join(VARIANT, VARIANT.c.id == CELL.c.variant_id)
        .join(WORKLOAD, WORKLOAD.c.id == BUCKET.c.workload_id)
        .join(ENVIRONMENT, ENVIRONMENT.c.id == EVALUATION.c.environment_id)
    )


def _probes() -> Any:
    """Probes in the order in which they count: by replica, the last attempt first."""
    return (
        select(PROBE, REPLICA.c.number.label("replica"))
        .join(EVALUATION, EVALUATION.c.id == PROBE.c.evaluation_id)
        .outerjoin(REPLICA, REPLICA.c.id == PROBE.c.replica_id)
        .order_by(REPLICA.c.number.is_(None), REPLICA.c.number, PROBE.c.attempt.desc(), PROBE.c.id)
    )


def _of_probes(reads: Reads, table: Table, which: ColumnElement[bool]) -> dict[int, list[Row]]:
    query = (
        select(table)
        .join(PROBE, PROBE.c.id == table.c.probe_id)
        .join(EVALUATION, EVALUATION.c.id == PROBE.c.evaluation_id)
        .where(which)
        .order_by(*table.primary_key)
    )
    return _by(reads.execute(query).mappings(), "probe_id")


def _of_evaluations(reads: Reads, table: Table, which: ColumnElement[bool]) -> Iterable[Row]:
    query = select(table).join(EVALUATION, EVALUATION.c.id == table.c.evaluation_id).where(which)
    return reads.execute(query.order_by(table.c.id)).mappings()


def _by(rows: Iterable[Row], column: str) -> dict[int, list[Row]]:
    found: dict[int, list[Row]] = {}
    for row in rows:
        found.setdefault(row[column], []).append(row)
    return found


def _document(parts: Parts) -> Document:
    row = parts.evaluation
    compiling = Compiling.stored(row["options"])
    worst = _worst(parts.probes, row["status"])
    merged = _facts(parts)
    walk = [probe for probe in parts.probes if probe["id"] == merged.probe_id]
    series = _accuracy(parts)
    return {
        "id": row["id"],
        "uuid": row["uuid"],
        "workload": row["workload"],
        "definition_hash": row["definition_hash"],
        "bucket": row["bucket"],
        "params": row["params"],
        "variant": row["variant"],
        "options": compiling.options,
        "precision": {
            "set": compiling.precision or row["precision"],
            "variant": compiling.precision,
            "workload": row["precision"],
        },
        "evidence_only": row["evidence_only"],
        "target": row["target"],
        "environment": {**row["fields"], "id": row["environment_id"], "hash": row["environment_hash"]},
        "conditions": _conditions(parts.probes),
        "status": row["status"],
        "reason": row["reason"],
        "probes": _probe_statuses(parts.probes),
        "error": next((probe["error"] for probe in worst if probe["error"]), None),
        "log_tail": next((probe["log_tail"] for probe in worst if probe["log_tail"]), None),
        "artifacts": _artifacts(parts),
        "facts": merged.shown(),
        "breaks": [_named(one, id=one["break_id"]) for one in parts.rows(GRAPH_BREAK, walk)],
        "recompile_reasons": [_named(one) for one in parts.rows(RECOMPILE, walk)],
        "kernels": [_named(one) for one in parts.rows(KERNEL, walk)],
        "builds": [_named(one) for one in parts.rows(KERNEL_BUILD, _first(parts, "build"))],
        "observed": {
            "kernels": [_named(one) for one in parts.rows(OBSERVED_KERNEL, _first(parts, "profile"))],
            "operators": [_named(one) for one in parts.rows(OBSERVED_OPERATOR, _first(parts, "profile"))],
        },
        "accuracy": {name: series["default"][name] for name in _MEASURES} if "default" in series else None,
        "accuracy_series": series,
        "differences": [_named(one) for one in parts.rows(DIFFERENCE, _first(parts, "accuracy"))],
        "metrics": metrics(parts.probes, parts.of_probe[SAMPLE.name], parts.summaries),
        "timing": timing(parts.probes, parts.of_probe[SAMPLE.name]),
        "benchmark": benchmark(row, parts.probes, parts.of_probe[SAMPLE.name], parts.summaries),
    }


def _named(row: Row, **more: Any) -> Document:
    """A row without the columns that only hold the tables together."""
    hidden = ("id", "probe_id", "break_id")
    return {**{name: value for name, value in row.items() if name not in hidden}, **more}


def _worst(probes: Sequence[Row], status: str | None) -> list[Row]:
    """Probes, those with the evaluation's own status first, then the others from the worst on."""
    return sorted(probes, key=lambda one: (one["status"] != status, SEVERITY.index(one["status"])))


def _first(parts: Parts, probe: str) -> list[Row]:
    return [one for one in parts.probes if one["probe"] == probe][:1]


def _facts(parts: Parts) -> facts.MergedFacts:
    """The stored facts; while the evaluation goes on, those of the probes so far."""
    stored = parts.facts
    if stored is not None:
        typed = {name: stored[name] for name in facts.TYPED}
        return facts.MergedFacts(stored["probe_id"], typed, stored["extra"] or {})
    return facts.merge(
        facts.ProbeFacts(
            one["id"], one["replica"], one["attempt"], one["probe"], one["cache"], one["facts"] or {}
        )
        for one in parts.probes
    )


def _conditions(probes: Sequence[Row]) -> Document:
    """What was true before the first probe and after the last."""
    told = sorted((one for one in probes if one["conditions"]), key=lambda one: one["id"])
    if not told:
        return {}
    return {"before": told[0]["conditions"].get("before"), "after": told[-1]["conditions"].get("after")}


def _probe_statuses(probes: Sequence[Row]) -> Document:
    """Each kind of probe with its worst status over replicas, and every process of it."""
    found: Document = {}
    for one in sorted(probes, key=lambda one: one["id"]):
        process = {name: one[name] for name in ("replica", "cache", "attempt", "status", "reason", "stage")}
        started = one["started_at"].isoformat() if one["started_at"] else None
        process |= {"started_at": started}
        process |= {name: one[name] for name in ("duration_s", "limits", "conditions", "facts", "error")}
        kind = found.setdefault(
            one["probe"], {"status": one["status"], "reason": one["reason"], "processes": []}
        )
        if SEVERITY.index(one["status"]) < SEVERITY.index(kind["status"]):
            kind |= {"status": one["status"], "reason": one["reason"]}
        kind["processes"].append(process)
    return found


def _artifacts(parts: Parts) -> list[Document]:
    """Every file of the evaluation, the workload's source last; ``path`` is a gzip file."""
    files = [
        {"kind": one["kind"], "sha256": one["sha256"], "probe": probe["probe"], "replica": probe["replica"]}
        for probe in sorted(parts.probes, key=lambda one: one["id"])
        for one in parts.rows(PROBE_ARTIFACT, [probe])
    ]
    source = parts.evaluation["source_sha256"]
    if source:
        files.append({"kind": "workload_source", "sha256": source, "probe": None, "replica": None})
    return [{**one, "path": str(parts.folder.path(str(one["sha256"])))} for one in files]


def _accuracy(parts: Parts) -> Document:
    """Each series of the first replica's accuracy probe."""
    for probe in parts.probes:
        series = parts.rows(ACCURACY, [probe])
        if series:
            return {one["series"]: {name: one[name] for name in (*_MEASURES, "details")} for one in series}
    return {}
