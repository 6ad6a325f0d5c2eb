"""How the runs of an upgrade hang together: a first stage and its children."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import select

from db.models import Run
from db.queries.comparison import environment_of_run
from db.queries.runs import find_run
from db.session import Reads
from evaluator.errors import UserError


def children(reads: Reads, run: str) -> list[str]:
    """The uuids of the runs whose parent this one is, in the order in which they began."""
    return list(reads.execute(select(Run.uuid).where(Run.parent_uuid == run).order_by(Run.id)).scalars())


def is_finished(reads: Reads, run: str) -> bool:
    """Whether the run of this uuid has ended in order."""
    return reads.execute(select(Run.status).where(Run.uuid == run)).scalar_one() == "finished"


def root(reads: Reads, reference: str | None, purpose: str) -> tuple[str, dict[str, Any]]:
    """Uuid and plan of a first stage of this purpose: of the run that is meant, or of its parent.

    ``reference`` None: the latest one. Raises UserError where there is none, or the run is of another purpose.
    """
    if reference is None:
        newest = select(Run.uuid).where(Run.purpose == purpose).order_by(Run.started_at.desc(), Run.id.desc())
        uuid = reads.execute(newest.limit(1)).scalar()
        if uuid is None:
            raise UserError(f"no {_noun(purpose)} is recorded yet")
    else:
        run = find_run(reads, reference)
        row = reads.execute(select(Run.uuid, Run.parent_uuid).where(Run.id == run)).one()
        uuid = row.parent_uuid or row.uuid
    found = reads.execute(select(Run.purpose, Run.plan).where(Run.uuid == uuid)).one_or_none()
    if found is None or found.purpose != purpose:
        raise UserError(f"run {reference} belongs to no {_noun(purpose)}")
    return uuid, found.plan


def _noun(purpose: str) -> str:
    return "calibration" if purpose == "calibrate" else purpose


def last_upgrade(reads: Reads, torches: Sequence[str | None]) -> str | None:
    """The uuid of the last finished upgrade over exactly these torch versions, in this order; None without one."""
    rows = reads.execute(
        select(Run.id, Run.uuid)
        .where(Run.purpose == "upgrade", Run.status == "finished")
        .order_by(Run.started_at.desc(), Run.id.desc())
    )
    for row in rows:
        if [torch for _, torch, _ in environment_of_run(reads, row.id)] == list(torches):
            return str(row.uuid)
    return None
