"""Two sides of a comparison, as verdicts are given them: what a reference means, and all that is known of both."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import func, or_, select

from db.queries.calibration import noise_of_cells
from db.queries.evaluated import Evaluated, Place, evaluated
from db.queries.naming import labels
from db.queries.references import resolve
from db.queries.run_sides import SideRef, environment_of_run
from db.session import Reads
from db.tables import ENVIRONMENT, ENVIRONMENT_SAMPLE, NOISE, REPLICA, RUN
from evaluator.verdicts.sides import CellName, EnvironmentSide, Noise, Pair, Rung, Series, Side
from evaluator.worker.protocol import METRICS

__all__ = ["Loaded", "Pair", "SideRef", "environment_of_run", "load", "resolve", "rests_on"]

# Between a variant and the backend that a rung replaces its own with.
_RUNG: Final = "+"


@dataclass(frozen=True)
class Loaded:
    """What ``evaluator.verdicts.whole.compare`` is given; ``pairs`` in the order in which cells were evaluated."""

    base: EnvironmentSide
    candidate: EnvironmentSide
    pairs: tuple[Pair, ...]


@dataclass(frozen=True)
class _Later:
    """What later runs found of the two sides' cells: fresh evaluations of both, and the same under other backends."""

    reruns: Mapping[CellName, tuple[Side, Side]]
    rungs: Mapping[CellName, tuple[Rung, ...]]


def load(reads: Reads, base: SideRef, candidate: SideRef) -> Loaded:
    """Everything that verdicts about two sides are made from, in a fixed number of queries.

    Cells are matched by name, so that a changed definition is seen. Where both sides are of one run, its children
    give reruns and rungs; the machine's calibrations give noise.
    """
    places = (_place(base), _place(candidate))
    children = _children(reads, base, candidate)
    found = evaluated(reads, [*places, *(place for of_child in children.values() for place in of_child)])
    of_base, of_candidate = found[places[0]], found[places[1]]
    later = _later(found, children)
    noise = _noise(reads, base, candidate)
    names = {**of_base, **of_candidate}
    pairs = [
        _pair(name, of_base.get(name), of_candidate.get(name), base.run == candidate.run, later, noise)
        for name in names
    ]
    return Loaded(*_environments(reads, base, candidate), tuple(pairs))


def rests_on(reads: Reads, base: SideRef, candidate: SideRef) -> tuple[Any, ...] | None:
    """What a comparison of these sides rests on: equal values mean that ``load`` gives the same. None while one of its
    runs is being written.

    A run that has ended is never changed; later ones that confirm or explain it, and calibrations, are added.
    """
    uuids = {base.run_uuid, candidate.run_uuid}
    runs = reads.execute(
        select(RUN.c.id, RUN.c.uuid, RUN.c.status)
        .where(or_(RUN.c.uuid.in_(uuids), RUN.c.parent_uuid.in_(uuids)))
        .order_by(RUN.c.id)
    ).all()
    if any(run.status == "running" for run in runs):
        return None
    calibrated = reads.execute(select(func.max(NOISE.c.id))).scalar()
    return (*(tuple(run) for run in runs), calibrated)


def _place(side: SideRef) -> Place:
    return side.run, side.environment


def _pair(
    name: CellName,
    base: Evaluated | None,
    candidate: Evaluated | None,
    interleaved: bool,
    later: _Later,
    noise: Mapping[int, Mapping[str, Noise]],
) -> Pair:
    known = [one for one in (candidate, base) if one is not None]
    return Pair(
        cell=name,
        base=base.side if base else None,
        candidate=candidate.side if candidate else None,
        base_definition=base.definition if base else None,
        candidate_definition=candidate.definition if candidate else None,
        interleaved=interleaved,
        rerun=later.reruns.get(name),
        noise=next((noise[one.cell_row] for one in known if one.cell_row in noise), {}),
        rungs=later.rungs.get(name, ()),
        training=any(one.training for one in known),
    )


def _children(reads: Reads, base: SideRef, candidate: SideRef) -> dict[tuple[int, str], tuple[Place, Place]]:
    """(id, purpose) of each run that confirms or explains the two sides' run, the latest last, with both places in it."""
    if base.run != candidate.run:
        return {}
    rows = reads.execute(
        select(RUN.c.id, RUN.c.purpose)
        .where(RUN.c.parent_uuid == base.run_uuid, RUN.c.purpose.in_(("confirm", "explain")))
        .order_by(RUN.c.started_at, RUN.c.id)
    )
    return {(run, purpose): ((run, base.environment), (run, candidate.environment)) for run, purpose in rows}


def _later(
    found: Mapping[Place, Mapping[CellName, Evaluated]],
    children: Mapping[tuple[int, str], tuple[Place, Place]],
) -> _Later:
    """The rerun of each cell that stands, and the latest of each rung."""
    reruns: dict[CellName, tuple[Side, Side]] = {}
    rungs: dict[CellName, dict[str, Rung]] = {}
    for (_, purpose), (base, candidate) in children.items():
        for name, of_base in found[base].items():
            of_candidate = found[candidate].get(name)
            if of_candidate is None or not (of_base.side.status and of_candidate.side.status):
                continue  # it goes on, or was interrupted before both sides were done
            sides = (of_base.side, of_candidate.side)
            if purpose == "confirm":
                reruns[name] = standing(reruns.get(name), sides)
                continue
            variant, plus, backend = name.variant.rpartition(_RUNG)
            if plus:
                cell = CellName(name.workload, name.bucket, variant, name.target)
                rungs.setdefault(cell, {})[backend] = Rung(backend, *sides)
    return _Later(reruns, {cell: tuple(by.values()) for cell, by in rungs.items()})


def standing(known: tuple[Side, Side] | None, later: tuple[Side, Side]) -> tuple[Side, Side]:
    """Which of two reruns of a cell stands: the one with most replicas, of equal ones the later."""
    return later if known is None or _replicas(later) >= _replicas(known) else known


def _replicas(sides: tuple[Side, Side]) -> int:
    """The replicas that both sides have of their best measured metric."""
    return min(max((len(one.values) for one in side.series.values()), default=0) for side in sides)


def _noise(reads: Reads, base: SideRef, candidate: SideRef) -> Mapping[int, Mapping[str, Noise]]:
    """By cell row and metric. Times of different machines are not compared, so there is no noise of both."""
    if base.machine != candidate.machine:
        return {}
    torches = {side.torch for side in (base, candidate) if side.torch}
    return noise_of_cells(reads, candidate.machine, torches, (_place(base), _place(candidate)))


def _environments(reads: Reads, base: SideRef, candidate: SideRef) -> tuple[EnvironmentSide, EnvironmentSide]:
    rows = reads.execute(
        select(ENVIRONMENT.c.id, ENVIRONMENT.c.fields).where(
            ENVIRONMENT.c.id.in_((base.environment, candidate.environment))
        )
    )
    fields: dict[int, dict[str, Any]] = {row.id: row.fields for row in rows}
    named = labels((base, fields[base.environment]), (candidate, fields[candidate.environment]))
    first, second = (
        EnvironmentSide(
            hash=side.hash,
            label=label,
            fields=fields[side.environment],
            run=side.run,
            machine=side.machine,
            series=_environment_series(reads, side),
        )
        for side, label in zip((base, candidate), named, strict=True)
    )
    return first, second


def _environment_series(reads: Reads, side: SideRef) -> dict[str, Series]:
    """Metrics of the environment itself; of a replica whose server started again, the last start counts."""
    rows = reads.execute(
        select(REPLICA.c.number, ENVIRONMENT_SAMPLE)
        .join(REPLICA, REPLICA.c.id == ENVIRONMENT_SAMPLE.c.replica_id)
        .where(
            ENVIRONMENT_SAMPLE.c.run_id == side.run,
            ENVIRONMENT_SAMPLE.c.environment_id == side.environment,
            ENVIRONMENT_SAMPLE.c.value.is_not(None),
        )
        .order_by(REPLICA.c.number, REPLICA.c.id)
    ).mappings()
    metrics: dict[str, dict[int, Any]] = {}
    for row in rows:
        metrics.setdefault(row["metric"], {})[row["number"]] = row
    return {
        metric: Series(
            metric=metric,
            unit=METRICS[metric][0] if metric in METRICS else "1",
            replicas=tuple(replicas),
            values=tuple(row["value"] for row in replicas.values()),
            flags=frozenset(flag for row in replicas.values() for flag in row["flags"] or ()),
        )
        for metric, replicas in metrics.items()
    }
