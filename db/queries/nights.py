"""The nights that are recorded: which ran to their end, and what a crash left unfinished."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from sqlalchemy import select

from db.models import Run
from db.queries.references import PREVIOUS, has_label, one_side
from db.queries.run_sides import is_version, version_of
from db.queries.runs import LATEST
from db.session import Reads
from evaluator.errors import UserError

PURPOSE: Final = "nightly"
_WORDS: Final = (LATEST, PREVIOUS)
# A run's id, or the beginning of its uuid: no word of hexadecimal letters alone, which may be a label.
_RUN: Final = re.compile(r"\d+|(?=.*\d)[0-9a-f]{4,8}|[0-9a-f]{8}-[0-9a-f-]*")


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


def missing_baseline(reads: Reads | None, reference: str) -> str | None:
    """The label that a baseline means and that no run has yet; None for a baseline that is no label, or is there.

    ``reads`` None: there is no database yet. A name that could be no id, version or beginning of a uuid is a label.
    """
    label = reference if "@" not in reference else reference.rpartition("@")[0]
    if label in _WORDS or version_of(label) is not None or _RUN.fullmatch(label.lower()):
        return None
    return None if reads is not None and (has_label(reads, reference) or has_label(reads, label)) else label


def require_baseline(reads: Reads | None, reference: str, tonight: Collection[str | None] = ()) -> None:
    """Raises UserError where a baseline can't mean one side: said before hours of measuring, not after.

    ``reads`` None: there is no database yet. ``tonight``: the torch versions of tonight's interpreters, which a version
    may mean. A label that is not there yet is fine: see ``missing_baseline``.
    """
    run = reference.rpartition("@")[0] or reference
    if run in _WORDS:
        raise UserError(
            f"the baseline can't be {reference!r}, which changes every night: name a run's label or id, or a torch version"
        )
    if missing_baseline(reads, reference) is not None:
        return
    if version_of(reference) is not None and any(_same_torch(torch, reference) for torch in tonight):
        return
    if reads is None:
        raise UserError(
            f"no run is recorded yet, so the baseline {reference!r} means none: leave it out, or name a label that a run "
            "will have"
        )
    one_side(reads, reference)


def _same_torch(torch: str | None, reference: str) -> bool:
    """Whether a version of tonight may be the one that is meant; its build may not be known before it is there."""
    return torch is not None and (is_version(torch, reference) or is_version(reference, torch))


def _said(plan: dict[str, Any] | None, key: str, default: Any) -> Any:
    return ((plan or {}).get(PURPOSE) or {}).get(key, default)
