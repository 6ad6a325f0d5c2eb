"""Finding runs and evaluations, and what is said of a run in a list."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from sqlalchemy import func, select

from db.models import Environment, Evaluation, Run
from db.session import Reads
from evaluator.errors import UserError

LATEST: Final = "latest"
# Fewer digits of a uuid would match too much by chance.
_LEAST_PREFIX: Final = 4


@dataclass(frozen=True)
class RunRow:
    """A run in a list. ``evaluations``: planned so far; ``done``: with a status; ``not_ok``: of these, not ``ok``."""

    id: int
    uuid: str
    label: str | None
    profile: str | None
    status: str
    started_at: datetime
    finished_at: datetime | None
    machine: str
    torch_versions: tuple[str, ...]
    evaluations: int
    done: int
    not_ok: int
    purpose: str


def find_run(reads: Reads, reference: str) -> int:
    """The id of a run: ``latest`` (to start), an id, a label (its latest run) or the beginning of a uuid.

    Raises UserError where there is none, or where several runs' uuids begin so.
    """
    newest = select(Run.id).order_by(Run.started_at.desc(), Run.id.desc()).limit(1)
    if reference == LATEST:
        found = reads.execute(newest).scalar()
        if found is None:
            raise UserError("no run is recorded yet: `python -m evaluator run` makes one")
        return found
    found = run_by_id(reads, reference)
    if found is not None:
        return found
    found = reads.execute(newest.where(Run.label == reference)).scalar()
    if found is not None:
        return found
    return run_by_prefix(reads, reference)


def run_by_id(reads: Reads, reference: str) -> int | None:
    """The run with this id; None where there is none, or it is no number."""
    if not (reference.isascii() and reference.isdigit() and len(reference) < 19):
        return None
    return reads.execute(select(Run.id).where(Run.id == int(reference))).scalar()


def run_by_prefix(reads: Reads, reference: str) -> int:
    """The id of the run whose uuid begins so. Raises UserError where there is none or several."""
    matches = []
    if len(reference) >= _LEAST_PREFIX:
        begins = Run.uuid.startswith(reference.lower(), autoescape=True)
        matches = list(reads.execute(select(Run.id, Run.uuid).where(begins).order_by(Run.id)).all())
    if not matches:
        raise UserError(
            f"no run has the id, label or uuid {reference!r}: `python -m evaluator show latest` shows the last one"
        )
    if len(matches) > 1:
        raise UserError(
            f"{len(matches)} runs' uuids begin with {reference!r} ({', '.join(row.uuid for row in matches[:4])}): "
            "give more of it"
        )
    return int(matches[0].id)


def find_evaluation(reads: Reads, reference: str) -> int:
    """The id of an evaluation, from its id or its whole uuid. Raises UserError where there is none."""
    found: int | None = None
    if reference.isascii() and reference.isdigit() and len(reference) < 19:
        found = reads.execute(select(Evaluation.id).where(Evaluation.id == int(reference))).scalar()
    else:
        found = reads.execute(select(Evaluation.id).where(Evaluation.uuid == reference.lower())).scalar()
    if found is None:
        raise UserError(
            f"no evaluation has the id {reference!r}: `python -m evaluator show latest` lists them"
        )
    return found


def list_runs(reads: Reads, limit: int | None = None) -> list[RunRow]:
    """Runs, the latest to start first; at most ``limit``."""
    versions = _versions(reads)
    rows = reads.execute(
        select(
            Run.id,
            Run.uuid,
            Run.label,
            Run.profile,
            Run.status,
            Run.started_at,
            Run.finished_at,
            Run.machine_id.label("machine"),
            func.count(Evaluation.id).label("evaluations"),
            func.count(Evaluation.status).label("done"),
            func.count(Evaluation.status).filter(Evaluation.status != "ok").label("not_ok"),
            Run.purpose,
        )
        .outerjoin(Evaluation, Evaluation.run_id == Run.id)
        .group_by(Run.id)
        .order_by(Run.started_at.desc(), Run.id.desc())
        .limit(limit)
    ).mappings()
    return [RunRow(**row, torch_versions=versions.get(row["id"], ())) for row in rows]


def _versions(reads: Reads) -> dict[int, tuple[str, ...]]:
    """Torch versions of each run, in the order in which they were first evaluated."""
    rows = reads.execute(
        select(Evaluation.run_id, Environment.torch_version)
        .join(Environment, Environment.id == Evaluation.environment_id)
        .group_by(Evaluation.run_id, Environment.torch_version)
        .order_by(func.min(Evaluation.id))
    )
    found: dict[int, list[str]] = {}
    for run, version in rows:
        if version:
            found.setdefault(run, []).append(version)
    return {run: tuple(listed) for run, listed in found.items()}


def evaluation_count(reads: Reads, run_id: int | None = None) -> int:
    """Evaluations of a run, or of all."""
    query = select(func.count()).select_from(Evaluation)
    if run_id is not None:
        query = query.where(Evaluation.run_id == run_id)
    return reads.execute(query).scalar_one()
