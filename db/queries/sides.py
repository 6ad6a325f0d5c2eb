"""What a comparison can be asked for: the environments of the newest runs, and torch versions."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from packaging.version import InvalidVersion, Version
from sqlalchemy import select

from db.queries.run_sides import WHOLE_PURPOSES, known_versions, positions
from db.session import Reads
from db.tables import ENVIRONMENT, EVALUATION, RUN

# More than anybody looks through in a list; older runs are still reached by their torch version, or by the URL.
MOST_RUNS: Final = 150


@dataclass(frozen=True)
class Choice:
    """One environment of one run. ``reference`` (``RUN@POSITION``) is what ``references.resolve`` takes."""

    reference: str
    run: int
    position: int
    torch: str | None
    label: str | None
    purpose: str
    started_at: datetime
    finished: bool


@dataclass(frozen=True)
class Choices:
    """All that can be chosen: ``environments`` newest run first, ``versions`` oldest first."""

    environments: tuple[Choice, ...]
    versions: tuple[str, ...]

    @property
    def references(self) -> tuple[str, ...]:
        """Every reference that can be chosen: versions, newest first, then environments of runs."""
        return (*reversed(self.versions), *(one.reference for one in self.environments))

    def of(self, reference: str) -> Choice | None:
        """The environment that a reference names; None where it is a version, or unknown."""
        return next((one for one in self.environments if one.reference == reference), None)

    def meant(self, reference: str) -> str | None:
        """The reference in the list that this one means: itself, or of ``2.13.0`` its newest build; None where there
        is none."""
        if reference in self.references:
            return reference
        builds = [one for one in self.versions if one.partition("+")[0] == reference]
        return builds[-1] if builds else None

    def default(self) -> tuple[str, str] | None:
        """What is compared at first: the last two environments of the newest finished run that has two (of one that
        goes on where none is finished), else the two newest torch versions, else the two newest runs of the one
        version; None where there is nothing to compare."""
        for group in (self._several(finished=True), self._several(finished=False)):
            if group:
                return group[-2].reference, group[-1].reference
        if len(self.versions) >= 2:
            newest = self.versions[-1]
            return _before(self.versions), newest
        if len(self.environments) >= 2:
            return self.environments[1].reference, self.environments[0].reference
        return None

    def other(self, reference: str, *, base: bool) -> str | None:
        """A base for this candidate (``base``), or a candidate for this base: another environment of its run, else
        what the default has on that side, else None."""
        one = self.of(reference)
        near = [each for each in self.environments if one and each.run == one.run and each != one]
        if near:
            return near[0 if base else -1].reference
        found = self.default()
        return found[0 if base else 1] if found else None

    def _several(self, *, finished: bool) -> list[Choice]:
        """The environments of the newest run that has several."""
        by_run: dict[int, list[Choice]] = {}
        for one in self.environments:
            if one.finished or not finished:
                by_run.setdefault(one.run, []).append(one)
        return next((group for group in by_run.values() if len(group) >= 2), [])


def choices(reads: Reads) -> Choices:
    """What can be compared, of the newest ``MOST_RUNS`` runs that hold whole evaluations; three queries."""
    runs = reads.execute(
        select(RUN.c.id, RUN.c.plan, RUN.c.label, RUN.c.purpose, RUN.c.started_at, RUN.c.status)
        .where(RUN.c.purpose.in_(WHOLE_PURPOSES))
        .order_by(RUN.c.started_at.desc(), RUN.c.id.desc())
        .limit(MOST_RUNS)
    ).all()
    evaluated = (
        select(EVALUATION.c.run_id, EVALUATION.c.environment_id)
        .where(EVALUATION.c.run_id.in_([run.id for run in runs]))
        .distinct()
        .subquery()
    )
    rows = reads.execute(
        select(evaluated.c.run_id, ENVIRONMENT.c.hash, ENVIRONMENT.c.torch_version)
        .join(ENVIRONMENT, ENVIRONMENT.c.id == evaluated.c.environment_id)
        .order_by(evaluated.c.run_id, ENVIRONMENT.c.id)
    )
    by_run: dict[int, dict[str, str | None]] = {}
    for row in rows:
        by_run.setdefault(row.run_id, {})[row.hash] = row.torch_version
    found = []
    for run in runs:
        torches = by_run.get(run.id, {})
        places = positions(run.plan, torches)
        for hash_, torch in sorted(torches.items(), key=lambda item: places[item[0]]):
            found.append(
                Choice(
                    reference=f"{run.id}@{places[hash_]}",
                    run=run.id,
                    position=places[hash_],
                    torch=torch,
                    label=run.label,
                    purpose=run.purpose,
                    started_at=run.started_at,
                    finished=run.status == "finished",
                )
            )
    return Choices(tuple(found), tuple(known_versions(reads)))


def _before(versions: tuple[str, ...]) -> str:
    """The newest version before the last of the same build (CPU, CUDA) where there is one, else the one before."""
    newest = versions[-1]
    same = [
        one for one in versions[:-1] if _build(one) == _build(newest) and _release(one) != _release(newest)
    ]
    return same[-1] if same else versions[-2]


def _build(version: str) -> str:
    return version.partition("+")[2]


def _release(version: str) -> str:
    try:
        return Version(version).public
    except InvalidVersion:
        return version


@dataclass(frozen=True)
class Measured:
    """When a run was made. ``status``: running, finished or interrupted; ``finished_at`` None: it goes on, or was cut off."""

    run: int
    purpose: str
    started_at: datetime
    finished_at: datetime | None
    machine: str
    status: str


def sources(reads: Reads, run: int) -> tuple[str, ...]:
    """The workload files and modules that a run was given (``~`` stands for the home folder), none of packs."""
    plan = reads.execute(select(RUN.c.plan).where(RUN.c.id == run)).scalar()
    given = plan.get("sources") if isinstance(plan, dict) else None
    return tuple(one for one in given if isinstance(one, str)) if isinstance(given, list) else ()


def measured(reads: Reads, runs: tuple[int, ...]) -> tuple[Measured, ...]:
    """When these runs were made, in the order asked for."""
    rows = reads.execute(
        select(
            RUN.c.id, RUN.c.purpose, RUN.c.started_at, RUN.c.finished_at, RUN.c.machine_id, RUN.c.status
        ).where(RUN.c.id.in_(runs))
    )
    found = {row.id: Measured(*row) for row in rows}
    return tuple(found[run] for run in runs if run in found)
