"""The nights that are recorded: which ran to their end, and what a crash left unfinished."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from sqlalchemy import select

from db.models import Run
from db.queries.references import PREVIOUS
from db.queries.run_sides import version_of
from db.queries.runs import LATEST, find_run
from db.session import Reads

PURPOSE: Final = "nightly"


@dataclass(frozen=True)
class Night:
    """A nightly run. ``names``: its interpreters as the configuration names them, in the order of the run's plan;
    ``told``: a hash of all it was told to do."""

    run: int
    uuid: str
    status: str
    started_at: datetime
    names: tuple[str, ...]
    told: str | None


def nights(reads: Reads, machine: str) -> list[Night]:
    """The nightly runs of a machine, the latest to start first."""
    rows = reads.execute(
        select(Run.id, Run.uuid, Run.status, Run.started_at, Run.plan)
        .where(Run.purpose == PURPOSE, Run.machine_id == machine)
        .order_by(Run.started_at.desc(), Run.id.desc())
    )
    return [
        Night(
            row.id,
            row.uuid,
            row.status,
            row.started_at,
            tuple(_said(row.plan, "names", ())),
            _said(row.plan, "told", None),
        )
        for row in rows
    ]


def night_before(known: list[Night], of: str, name: str) -> tuple[Night, int] | None:
    """The last finished night that began before the night with uuid ``of`` and has an interpreter of this name, and its
    place in that run, from 1; None where there is none."""
    uuids = [night.uuid for night in known]
    for night in known[uuids.index(of) + 1 :]:
        if night.status == "finished" and name in night.names:
            return night, night.names.index(name) + 1
    return None


def left_open(reads: Reads, machine: str) -> list[str]:
    """The uuids of a machine's nightly runs, and of runs that confirm or explain one, that nobody closed."""
    of_nights = select(Run.uuid).where(Run.purpose == PURPOSE, Run.machine_id == machine)
    rows = reads.execute(
        select(Run.uuid)
        .where(
            (Run.purpose == PURPOSE) | Run.parent_uuid.in_(of_nights),
            Run.machine_id == machine,
            Run.status == "running",
        )
        .order_by(Run.id)
    )
    return list(rows.scalars())


def require_baseline(reads: Reads, reference: str) -> None:
    """Raises UserError where a baseline's reference means no run; a torch version may also be one of tonight's."""
    run = reference.rpartition("@")[0] or reference
    if run not in (LATEST, PREVIOUS) and version_of(run) is None:
        find_run(reads, run)


def _said(plan: dict[str, Any] | None, key: str, default: Any) -> Any:
    return ((plan or {}).get(PURPOSE) or {}).get(key, default)
