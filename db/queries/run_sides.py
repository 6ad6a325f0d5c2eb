"""The sides that a run offers to a comparison: its environments; and which runs count as the latest."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from packaging.version import InvalidVersion, Version
from sqlalchemy import RowMapping, select, tuple_

from db.queries.runs import run_by_prefix
from db.queries.versions import in_order
from db.session import Reads
from db.tables import BUCKET, CELL, ENVIRONMENT, EVALUATION, REPLICA, RUN, VARIANT, WORKLOAD
from evaluator.errors import UserError

# A label, a version, `latest` and `previous` mean runs of these purposes: the others hold a part of the cells, or
# none of an upgrade's.
WHOLE_PURPOSES: Final = ("evaluate", "upgrade", "nightly")
# Finished runs first: one that goes on, or was killed, holds a part of its cells.
NEWEST_FIRST: Final = ((RUN.c.status != "finished"), RUN.c.started_at.desc(), RUN.c.id.desc())
_VERSION: Final = re.compile(r"\d+\.\d")


@dataclass(frozen=True)
class SideRef:
    """One environment of one run: its row and hash, and its ``position`` in the run's plan, from 1."""

    run: int
    run_uuid: str
    environment: int
    hash: str
    torch: str | None
    machine: str
    position: int

    @property
    def text(self) -> str:
        """How it is named to the user, and can be asked for again."""
        return f"{self.run}@{self.position} (torch {self.torch})"


def environment_of_run(reads: Reads, run: int | str) -> list[tuple[str, str | None, int]]:
    """(hash, torch version, position from 1) of each environment that a run evaluated, in the order of its plan.

    ``run``: its id or uuid. Raises UserError where there is none.
    """
    found = run if isinstance(run, int) else run_by_prefix(reads, run)
    return [(side.hash, side.torch, side.position) for side in sides_of_run(reads, found)]


def sides_of_run(reads: Reads, run: int) -> list[SideRef]:
    """Every environment of a run that has evaluations, in the order of its plan."""
    about = reads.execute(select(RUN).where(RUN.c.id == run)).mappings().one()
    rows = reads.execute(
        select(ENVIRONMENT.c.id, ENVIRONMENT.c.hash, ENVIRONMENT.c.torch_version)
        .where(ENVIRONMENT.c.id.in_(select(EVALUATION.c.environment_id).where(EVALUATION.c.run_id == run)))
        .order_by(ENVIRONMENT.c.id)
    ).mappings()
    found = list(rows)
    places = positions(about["plan"], [row["hash"] for row in found])
    sides = [_side(about, row, places[row["hash"]]) for row in found]
    return sorted(sides, key=lambda side: side.position)


def positions(plan: Mapping[str, Any] | None, hashes: Iterable[str]) -> dict[str, int]:
    """The position in a run, from 1, of each environment: that of the run's plan, then in the order given."""
    planned = list((plan or {}).get("environments") or ())
    places = {hash_: position for position, hash_ in enumerate(planned, 1)}
    for hash_ in hashes:
        places.setdefault(hash_, len(places) + 1)
    return places


def _side(run: RowMapping, environment: RowMapping, position: int) -> SideRef:
    return SideRef(
        run=run["id"],
        run_uuid=run["uuid"],
        environment=environment["id"],
        hash=environment["hash"],
        torch=environment["torch_version"],
        machine=run["machine_id"],
        position=position,
    )


def _finished() -> Any:
    return (
        select(RUN)
        .where(RUN.c.status == "finished", RUN.c.purpose.in_(WHOLE_PURPOSES))
        .order_by(*NEWEST_FIRST)
    )


def latest_run(reads: Reads) -> int:
    """The last finished run to start. Raises UserError where there is none."""
    found: int | None = reads.execute(_finished().limit(1).with_only_columns(RUN.c.id)).scalar()
    if found is None:
        raise UserError("no finished run is recorded: `python -m evaluator run` makes one")
    return found


def previous_run(reads: Reads) -> int:
    """The last finished run before the latest that evaluated one of its cells on the same machine; UserError for none."""
    latest = reads.execute(select(RUN).where(RUN.c.id == latest_run(reads))).mappings().one()
    started, id_ = latest["started_at"], latest["id"]
    earlier = (RUN.c.started_at < started) | ((RUN.c.started_at == started) & (RUN.c.id < id_))
    names = tuple_(WORKLOAD.c.name, BUCKET.c.name, VARIANT.c.name, CELL.c.target)

    def cells(run: Any) -> Any:
        return (
            select(*names.clauses)
            .select_from(EVALUATION)
            .join(CELL, CELL.c.id == EVALUATION.c.cell_id)
            .join(BUCKET, BUCKET.c.id == CELL.c.bucket_id)
            .join(VARIANT, VARIANT.c.id == CELL.c.variant_id)
            .join(WORKLOAD, WORKLOAD.c.id == BUCKET.c.workload_id)
            .where(EVALUATION.c.run_id == run)
        )

    shared = cells(RUN.c.id).where(names.in_(cells(latest["id"]))).correlate(RUN).exists()
    query = _finished().where(earlier, RUN.c.machine_id == latest["machine_id"], shared)
    found: int | None = reads.execute(query.limit(1).with_only_columns(RUN.c.id)).scalar()
    if found is None:
        raise UserError(
            f"no finished run before run {latest['id']} has a cell of it on the same machine: name the run to compare "
            "with"
        )
    return found


def runs_with(reads: Reads, version: str, *, unfinished: bool = False) -> dict[int, set[int]]:
    """Runs with a torch version to its environments in them, the latest run first, finished ones before others."""
    known = reads.execute(select(ENVIRONMENT.c.id, ENVIRONMENT.c.torch_version))
    wanted = [row.id for row in known if is_version(row.torch_version, version)]
    query = _whole_runs().where(REPLICA.c.environment_id.in_(wanted)).order_by(*NEWEST_FIRST)
    if not unfinished:
        query = query.where(RUN.c.status == "finished")
    found: dict[int, set[int]] = {}
    for run, environment in reads.execute(query):
        found.setdefault(run, set()).add(environment)
    return found


def known_versions(reads: Reads) -> list[str]:
    """Torch versions that a side can be named by, oldest first."""
    used = _whole_runs().with_only_columns(REPLICA.c.environment_id)
    query = select(ENVIRONMENT.c.torch_version).where(ENVIRONMENT.c.id.in_(used))
    return in_order(version for version in reads.execute(query).scalars() if version)


def _whole_runs() -> Any:
    """Runs and the environments they evaluated in, each pair once or more."""
    # Servers are far fewer than evaluations, and no evaluation that measured anything is without one.
    evaluated = select(EVALUATION.c.id).where(
        EVALUATION.c.run_id == RUN.c.id, EVALUATION.c.environment_id == REPLICA.c.environment_id
    )
    return (
        select(RUN.c.id, REPLICA.c.environment_id)
        .join(REPLICA, REPLICA.c.run_id == RUN.c.id)
        .where(RUN.c.purpose.in_(WHOLE_PURPOSES), evaluated.correlate(RUN, REPLICA).exists())
    )


def version_of(text: str) -> Version | None:
    """A text as a version; None where it is none. A whole number is a run's id, and no version."""
    if not _VERSION.match(text):
        return None
    try:
        return Version(text)
    except InvalidVersion:
        return None


def is_version(torch: str | None, wanted: str) -> bool:
    """Whether a torch version is the wanted one; a wanted one without a local part is any build of it."""
    if torch is None or torch == wanted:
        return torch is not None
    found, asked = version_of(torch), version_of(wanted)
    if found is None or asked is None or asked.local is not None:
        return False
    return Version(found.public) == asked
