"""What an unfinished run has done already, so that ``--resume`` does the rest and nothing twice."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sqlalchemy import select

from db.models import Evaluation, Probe, Replica, Run
from db.queries.runs import find_run
from db.session import Reads

# (evaluation uuid, number of the replica, probe, cache state)
DoneUnit = tuple[str, int | None, str, str | None]


@dataclass(frozen=True)
class UnfinishedRun:
    """A run as ``--resume`` needs it: what it set out to do, and how each probe that is stored ended.

    ``outcomes``: status and reason of each probe, its last attempt's where there are several. ``evaluations``:
    status of each evaluation by uuid, None while it is not finished. ``purpose``, ``parent``: as columns of run.
    """

    id: int
    uuid: str
    label: str | None
    profile: str | None
    status: str
    argv: list[Any]
    plan: dict[str, Any]
    purpose: str
    parent: str | None
    outcomes: dict[DoneUnit, tuple[str, str | None]]
    evaluations: dict[str, str | None]


def done_units(reads: Reads, run_uuid: str) -> set[DoneUnit]:
    """Every probe of the run that is stored, whatever its status."""
    return set(_outcomes(reads, Run.uuid == run_uuid))


def unfinished_run(reads: Reads, reference: str) -> UnfinishedRun:
    """A run by the same references as ``show`` takes; its status may be ``finished``. UserError for none."""
    run = find_run(reads, reference)
    columns = select(
        Run.id, Run.uuid, Run.label, Run.profile, Run.status, Run.argv, Run.plan, Run.purpose, Run.parent_uuid
    )
    row = reads.execute(columns.where(Run.id == run)).one()
    statuses = reads.execute(select(Evaluation.uuid, Evaluation.status).where(Evaluation.run_id == run))
    return UnfinishedRun(
        row.id,
        row.uuid,
        row.label,
        row.profile,
        row.status,
        row.argv,
        row.plan,
        row.purpose,
        row.parent_uuid,
        _outcomes(reads, Run.id == run),
        {evaluation.uuid: evaluation.status for evaluation in statuses},
    )


def _outcomes(reads: Reads, which: Any) -> dict[DoneUnit, tuple[str, str | None]]:
    rows = reads.execute(
        select(Evaluation.uuid, Replica.number, Probe.probe, Probe.cache, Probe.status, Probe.reason)
        .join(Run, Run.id == Evaluation.run_id)
        .join(Probe, Probe.evaluation_id == Evaluation.id)
        .outerjoin(Replica, Replica.id == Probe.replica_id)
        .where(which)
        .order_by(Probe.attempt)
    )
    return {
        (uuid, number, probe, cache): (status, reason) for uuid, number, probe, cache, status, reason in rows
    }
