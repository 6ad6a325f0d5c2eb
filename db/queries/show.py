"""Everything a run recorded, as the one JSON object of ``show --json``; ``db/README.md`` documents it."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import select

from db.queries.documents import Document, evaluation_documents
from db.queries.runs import find_evaluation, find_run
from db.session import Reads
from db.tables import ENVIRONMENT, ENVIRONMENT_SAMPLE, EVALUATION, MACHINE, REPLICA, RUN
from evaluator.worker.protocol import METRICS


def run_document(reads: Reads, reference: str) -> Document:
    """``{"run": ..., "evaluations": [...]}`` of a run, in the order in which its evaluations began.

    ``reference``: as for ``find_run``, which also says what it raises. Every value is strict JSON.
    """
    run = find_run(reads, reference)
    return {"run": _run(reads, run), "evaluations": evaluation_documents(reads, EVALUATION.c.run_id == run)}


def evaluation_document(reads: Reads, reference: str) -> Document:
    """One evaluation as it stands in a run's document, by its id or uuid. Raises UserError where there is none."""
    evaluation = find_evaluation(reads, reference)
    (document,) = evaluation_documents(reads, EVALUATION.c.id == evaluation)
    return document


def _run(reads: Reads, run_id: int) -> Document:
    run = reads.execute(select(RUN).where(RUN.c.id == run_id)).mappings().one()
    machine = reads.execute(select(MACHINE).where(MACHINE.c.id == run["machine_id"])).mappings().one()
    shown = {name: value for name, value in run.items() if name != "machine_id"}
    return {
        **{name: iso(value) for name, value in shown.items()},
        "machine": dict(machine),
        "environments": _environments(reads, run_id),
    }


def _environments(reads: Reads, run_id: int) -> list[Document]:
    """Each environment of a run with its server starts and what its imports and toolchain cost."""
    environments = reads.execute(
        select(ENVIRONMENT)
        .where(
            ENVIRONMENT.c.id.in_(select(REPLICA.c.environment_id).where(REPLICA.c.run_id == run_id))
            | ENVIRONMENT.c.id.in_(select(EVALUATION.c.environment_id).where(EVALUATION.c.run_id == run_id))
        )
        .order_by(ENVIRONMENT.c.id)
    ).mappings()
    return [
        {
            **environment["fields"],
            "id": environment["id"],
            "hash": environment["hash"],
            "replicas": _replicas(reads, run_id, environment["id"]),
            "metrics": _metrics(reads, run_id, environment["id"]),
        }
        for environment in environments
    ]


def _replicas(reads: Reads, run_id: int, environment_id: int) -> list[Document]:
    rows = reads.execute(
        select(REPLICA.c.number, REPLICA.c.server, REPLICA.c.started_at, REPLICA.c.conditions)
        .where(REPLICA.c.run_id == run_id, REPLICA.c.environment_id == environment_id)
        .order_by(REPLICA.c.number, REPLICA.c.id)
    ).mappings()
    return [{name: iso(value) for name, value in row.items()} for row in rows]


def _metrics(reads: Reads, run_id: int, environment_id: int) -> Document:
    """Numbers of the environment itself, one a server start; a failed one is null."""
    rows = reads.execute(
        select(ENVIRONMENT_SAMPLE.c.metric, ENVIRONMENT_SAMPLE.c.value)
        .where(ENVIRONMENT_SAMPLE.c.run_id == run_id, ENVIRONMENT_SAMPLE.c.environment_id == environment_id)
        .order_by(ENVIRONMENT_SAMPLE.c.metric, ENVIRONMENT_SAMPLE.c.id)
    )
    found: Document = {}
    for metric, value in rows:
        unit = METRICS[metric][0] if metric in METRICS else None
        found.setdefault(metric, {"unit": unit, "samples": []})["samples"].append(value)
    return found


def iso(value: Any) -> Any:
    """A moment as ISO 8601 text, anything else as it is."""
    return value.isoformat() if isinstance(value, datetime) else value
