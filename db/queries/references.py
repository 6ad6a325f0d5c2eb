"""What a user means by a side of a comparison: a run, a torch version, or one environment of a run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from sqlalchemy import select

from db.queries.run_sides import (
    NEWEST_FIRST,
    WHOLE_PURPOSES,
    SideRef,
    is_version,
    known_versions,
    latest_run,
    previous_run,
    runs_with,
    sides_of_run,
    version_of,
)
from db.queries.runs import LATEST, run_by_id, run_by_prefix
from db.session import Reads
from db.tables import RUN
from evaluator.errors import UserError

PREVIOUS: Final = "previous"


@dataclass(frozen=True)
class _OneRun:
    """A reference to a run, and to which of its environments where it says so."""

    run: int
    which: str | None


@dataclass(frozen=True)
class _OneVersion:
    """A reference to a torch version."""

    version: str


def resolve(reads: Reads, base_ref: str, candidate_ref: str) -> tuple[SideRef, SideRef]:
    """The two sides that two references mean.

    A reference is a run's id, its label (the latest run of it), the beginning of its uuid, ``latest`` or ``previous``
    (the last finished run before it that has a cell of it, on the same machine); or a torch version (``2.13.0`` is
    also ``2.13.0+cpu``); or ``RUN@VERSION`` or ``RUN@2``, one environment of a run that has several. Two versions
    mean the latest finished run that has both, so that they were measured in turns. Otherwise a version means the
    other side's run if that has it, else the latest run, on the other side's machine if there is one, that has it.

    Raises UserError where a reference means nothing or several things, or both mean the same.
    """
    base, candidate = _meaning(reads, base_ref), _meaning(reads, candidate_ref)
    if isinstance(base, _OneVersion) and isinstance(candidate, _OneVersion):
        together = _in_one_run(reads, base.version, candidate.version)
        if together is not None:
            return together
    first = _environment(reads, base) if isinstance(base, _OneRun) else None
    second = (
        _environment(reads, candidate)
        if isinstance(candidate, _OneRun)
        else _latest_with(reads, candidate.version, first)
    )
    if first is None:
        first = _latest_with(reads, base_ref, second)
    if (first.run, first.environment) == (second.run, second.environment):
        raise UserError(
            f"{base_ref} and {candidate_ref} both mean {first.text}: name two runs, or two environments of a run as "
            "RUN@VERSION"
        )
    return first, second


def one_side(reads: Reads, reference: str) -> SideRef | None:
    """The environment that a reference to a run means by itself; None for a torch version that a run has.

    Raises UserError as ``resolve`` does.
    """
    meaning = _meaning(reads, reference)
    if isinstance(meaning, _OneRun):
        return _environment(reads, meaning)
    if not runs_with(reads, meaning.version, unfinished=True):
        _latest_with(reads, meaning.version, None)
    return None


def has_label(reads: Reads, label: str) -> bool:
    """Whether a run that a label can mean has this one."""
    query = select(RUN.c.id).where(RUN.c.label == label, RUN.c.purpose.in_(WHOLE_PURPOSES))
    return reads.execute(query.limit(1)).scalar() is not None


def _meaning(reads: Reads, reference: str) -> _OneRun | _OneVersion:
    run = _run(reads, reference)
    if run is not None:
        return _OneRun(run, None)
    of, at, which = reference.rpartition("@")
    if at:
        run = _run(reads, of)
        return _OneRun(run if run is not None else run_by_prefix(reads, of), which)
    if version_of(reference) is not None:
        return _OneVersion(reference)
    return _OneRun(run_by_prefix(reads, reference), None)


def _run(reads: Reads, reference: str) -> int | None:
    """The run of a word, an id or a label; None where it is none of them."""
    if reference == LATEST:
        return latest_run(reads)
    if reference == PREVIOUS:
        return previous_run(reads)
    found = run_by_id(reads, reference)
    if found is not None:
        return found
    query = select(RUN.c.id).where(RUN.c.label == reference, RUN.c.purpose.in_(WHOLE_PURPOSES))
    return reads.execute(query.order_by(*NEWEST_FIRST).limit(1)).scalar()


def _environment(reads: Reads, wanted: _OneRun) -> SideRef:
    """The one environment of a run that is meant."""
    sides = sides_of_run(reads, wanted.run)
    if not sides:
        raise UserError(f"run {wanted.run} has evaluated nothing: name another run")
    if wanted.which is None:
        return _only(sides, f"run {wanted.run} has {len(sides)} environments")
    which = wanted.which
    if which.isascii() and which.isdigit():
        found = [side for side in sides if side.position == int(which)]
    else:
        found = [side for side in sides if is_version(side.torch, which)]
    if not found:
        raise UserError(f"run {wanted.run} has no environment {which}: it has {_listed(sides)}")
    return _only(found, f"run {wanted.run} has {len(found)} environments with torch {which}")


def _only(sides: Sequence[SideRef], several: str) -> SideRef:
    if len(sides) > 1:
        raise UserError(f"{several}: say which one, {_listed(sides)}")
    return sides[0]


def _listed(sides: Sequence[SideRef]) -> str:
    return " or ".join(side.text for side in sides)


def _in_one_run(reads: Reads, base: str, candidate: str) -> tuple[SideRef, SideRef] | None:
    """The versions' environments in the latest finished run that has both; None where none has."""
    bases, candidates = runs_with(reads, base), runs_with(reads, candidate)
    for run, of_candidate in candidates.items():
        of_base = bases.get(run, set())
        if len(of_base | of_candidate) < 2 or not of_base:
            continue
        sides = sides_of_run(reads, run)
        firsts = [side for side in sides if side.environment in of_base]
        seconds = [side for side in sides if side.environment in of_candidate]
        if firsts == seconds and len(firsts) == 2:
            # The same version twice: an environment against its copy.
            return firsts[0], firsts[1]
        # "2.13.0" means both of 2.13.0+cpu and 2.13.0+cu130, unless the other side names one of them.
        if len(seconds) == 1:
            firsts = [side for side in firsts if side not in seconds] or firsts
        elif len(firsts) == 1:
            seconds = [side for side in seconds if side not in firsts] or seconds
        several = f"run {run} has several environments with torch"
        return _only(firsts, f"{several} {base}"), _only(seconds, f"{several} {candidate}")
    return None


def _latest_with(reads: Reads, version: str, near: SideRef | None) -> SideRef:
    """The environment of a version: in the run of ``near``, else in the latest run of its machine, else of any."""
    runs = runs_with(reads, version, unfinished=True)
    if not runs:
        known = ", ".join(known_versions(reads)) or "none"
        raise UserError(
            f"no run has torch {version} (recorded: {known}): `python -m evaluator run --python PATH` evaluates the "
            "torch of another interpreter"
        )
    if near is not None and (others := runs.get(near.run, set()) - {near.environment}):
        return _only(
            [side for side in sides_of_run(reads, near.run) if side.environment in others],
            f"run {near.run} has several environments with torch {version}",
        )
    run = next(iter(runs))
    if near is not None:
        here = set(reads.execute(select(RUN.c.id).where(RUN.c.machine_id == near.machine)).scalars())
        run = next((one for one in runs if one in here), run)
    return _only(
        [side for side in sides_of_run(reads, run) if side.environment in runs[run]],
        f"run {run} has several environments with torch {version}",
    )
