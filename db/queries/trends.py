"""Cells over time, from summary rows only: what is recorded at each torch version, or at each environment of each run.

A point is a torch version, or one environment of one run. A cell is a row of the table cell, and so of one definition
of a workload: a cell whose definition changed is another one, and never followed across the change.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

import pandas as pd
from sqlalchemy import Connection, Text, cast, func, select

from db.queries import newest
from db.queries.frames import frame
from db.queries.run_sides import WHOLE_PURPOSES, positions
from db.queries.versions import built_for, in_order, targets_in_order
from db.session import Reads
from db.tables import BUCKET, CELL, ENVIRONMENT, EVALUATION, FACTS, MACHINE, RUN, SUMMARY, VARIANT, WORKLOAD
from evaluator.verdicts.environments import build_of

# What a point is.
Over = Literal["versions", "runs"]

# As many as can be told apart on an axis; earlier runs are still part of the newest evaluations of their versions.
MOST_RUNS: Final = 60


@dataclass(frozen=True)
class Scope:
    """What is followed: every cell of a target and variant (None: of every variant), on one machine, whose times alone
    compare."""

    over: Over
    machine: str
    target: str
    variant: str | None


@dataclass(frozen=True)
class Choices:
    """What trends can be asked about. ``machines``: id and processor, that of the newest run first; ``targets``: see ``versions.targets_in_order``;
    ``variants`` in declared order; ``metrics``: names that have numbers, sorted; ``runs``: how many there are."""

    machines: tuple[tuple[str, str | None], ...]
    targets: tuple[str, ...]
    variants: tuple[str, ...]
    metrics: tuple[str, ...]
    runs: int


@dataclass(frozen=True)
class Point:
    """A torch version (``runs``: all that its newest evaluations are of, the newest last) or one environment of a run.

    ``key`` names it in a URL: the version, ``12`` or ``12@2``. ``started_at``: the newest run's. ``finished``: no run
    of it goes on. ``places``: the (run, environment) rows that its evaluations are of. ``build``: what the newest one's
    torch was built for, ``CPU``, ``CUDA`` or ``ROCm``.
    """

    key: str
    torch: str | None
    runs: tuple[int, ...]
    started_at: Any
    label: str | None
    finished: bool
    places: frozenset[tuple[int, int]]
    build: str


def choices(reads: Reads) -> Choices:
    """What is there to follow, in runs that hold whole evaluations."""
    whole = select(RUN.c.id).where(RUN.c.purpose.in_(WHOLE_PURPOSES))
    latest = func.max(RUN.c.id)
    machines = reads.execute(
        select(MACHINE.c.id, MACHINE.c.cpu_model)
        .join(RUN, RUN.c.machine_id == MACHINE.c.id)
        .where(RUN.c.purpose.in_(WHOLE_PURPOSES))
        .group_by(MACHINE.c.id)
        .order_by(latest.desc())
    )
    evaluated = select(EVALUATION.c.cell_id).where(EVALUATION.c.run_id.in_(whole)).distinct().subquery()
    mine = CELL.c.id.in_(select(evaluated.c.cell_id))
    targets = reads.execute(select(CELL.c.target).where(mine).distinct()).scalars()
    variants = reads.execute(
        select(VARIANT.c.name, func.min(VARIANT.c.position))
        .join(CELL, CELL.c.variant_id == VARIANT.c.id)
        .where(mine)
        .group_by(VARIANT.c.name)
    )
    ordered = sorted(variants, key=lambda row: (row[1] if row[1] is not None else 10**6, row[0]))
    return Choices(
        machines=tuple((row[0], row[1]) for row in machines),
        targets=targets_in_order(targets),
        variants=tuple(row[0] for row in ordered),
        metrics=tuple(sorted(reads.execute(select(SUMMARY.c.metric).distinct()).scalars())),
        runs=reads.execute(select(func.count()).select_from(whole.subquery())).scalar() or 0,
    )


def choices_rest_on(reads: Reads) -> tuple[Any, ...]:
    """What ``choices`` rests on: equal values mean that it gives the same."""
    machines = reads.execute(select(MACHINE.c.id).order_by(MACHINE.c.id)).scalars().all()
    runs = reads.execute(select(func.count(), func.max(RUN.c.id))).one()
    numbers = reads.execute(select(func.max(SUMMARY.c.id))).scalar()
    return *runs, numbers, *((one, *newest.rests_on(reads, one, unfinished=True)) for one in machines)


def recorded(
    reads: Connection, scope: Scope, metrics: Sequence[str]
) -> tuple[tuple[Point, ...], pd.DataFrame]:
    """Every point that has evaluations (versions in version order, or runs by date and position), and the evaluations
    behind them.

    Columns: evaluation, run, environment (row), point (its key), cell, workload, bucket, variant, status (missing: not
    finished), graph_breaks, recompiles (missing: no evidence), nothing_compiled, ran_eager (none, some, all); for each
    of ``metrics`` a column of its name with the median in the metric's unit (missing: no number); of the first of them
    replica_numbers and replica_medians, as JSON. An environment whose torch is unknown is no version.
    """
    found = frame(reads, _wide(scope, metrics))
    places = found[["run", "environment"]].drop_duplicates()
    rows = reads.execute(
        select(
            RUN.c.id.label("run"),
            RUN.c.started_at,
            RUN.c.label,
            RUN.c.status,
            RUN.c.plan["environments"].label("planned"),
        )
        .where(RUN.c.id.in_([int(run) for run in places["run"].unique()]))
        .order_by(RUN.c.started_at, RUN.c.id)
    ).all()
    built = select(
        ENVIRONMENT.c.id, ENVIRONMENT.c.hash, ENVIRONMENT.c.torch_version, *built_for(ENVIRONMENT.c)
    )
    about = {row.id: (row.hash, row.torch_version, build_of(row._asdict())) for row in reads.execute(built)}
    by_run: dict[int, list[int]] = {}
    for run, environment in sorted(zip(places["run"], places["environment"], strict=True)):
        by_run.setdefault(int(run), []).append(int(environment))
    met = [_Place(row, place, *about[place]) for row in rows for place in by_run[row.run]]
    points = _versions(met) if scope.over == "versions" else _runs(met)
    keys = {place: point.key for point in points for place in point.places}
    at = [keys[place] for place in zip(found["run"], found["environment"], strict=True)]
    found = found.assign(point=pd.Series(at, index=found.index, dtype="object"))
    return tuple(points), found.merge(_cells(reads), on="cell", how="left")


def rests_on(reads: Reads, scope: Scope) -> tuple[Any, ...]:
    """What is ``recorded`` of a scope: equal values mean that it gives the same."""
    return newest.rests_on(reads, scope.machine, unfinished=scope.over == "runs")


@dataclass(frozen=True)
class _Place:
    """One environment of one run. ``run``: the row with its run, started_at, label, status and planned."""

    run: Any
    environment: int
    hash: str
    torch: str | None
    build: str


def _versions(places: Sequence[_Place]) -> list[Point]:
    groups: dict[str, list[_Place]] = {}
    for place in places:
        groups.setdefault(place.torch or "", []).append(place)
    return [_point(torch, groups[torch]) for torch in in_order(groups)]


def _runs(places: Sequence[_Place]) -> list[Point]:
    groups: dict[int, list[_Place]] = {}
    for place in places:
        groups.setdefault(place.run.run, []).append(place)
    found = []
    for run, group in groups.items():
        at = positions({"environments": group[0].run.planned}, [one.hash for one in group])
        # A run of one environment, in its plan and in fact, needs no position to be named.
        several = len(at) > 1
        for one in sorted(group, key=lambda place: at[place.hash]):
            found.append(_point(f"{run}@{at[one.hash]}" if several else str(run), [one]))
    return found


def _point(key: str, places: Sequence[_Place]) -> Point:
    last = places[-1]
    return Point(
        key=key,
        torch=last.torch,
        runs=tuple(dict.fromkeys(one.run.run for one in places)),
        started_at=last.run.started_at,
        label=last.run.label,
        finished=all(one.run.status == "finished" for one in places),
        places=frozenset((one.run.run, one.environment) for one in places),
        build=last.build,
    )


def _wide(scope: Scope, metrics: Sequence[str]) -> Any:
    """The statement of all evaluations behind the points: each metric's summary is a join of its own."""
    columns: list[Any] = [
        EVALUATION.c.id.label("evaluation"),
        EVALUATION.c.run_id.label("run"),
        EVALUATION.c.environment_id.label("environment"),
        EVALUATION.c.cell_id.label("cell"),
        EVALUATION.c.status,
        FACTS.c.graph_breaks,
        FACTS.c.recompiles,
        FACTS.c.nothing_compiled,
        FACTS.c.ran_eager,
    ]
    tables: Any = EVALUATION.outerjoin(FACTS, FACTS.c.evaluation_id == EVALUATION.c.id)
    for index, metric in enumerate(metrics):
        summary = SUMMARY.alias()
        columns.append(summary.c.median.label(metric))
        tables = tables.outerjoin(
            summary, (summary.c.evaluation_id == EVALUATION.c.id) & (summary.c.metric == metric)
        )
        if index == 0:
            # As text: one list is read faster than thousands.
            columns += [
                cast(summary.c[name], Text).label(name) for name in ("replica_numbers", "replica_medians")
            ]
    query = select(*columns).select_from(tables).where(EVALUATION.c.id.in_(_evaluations(scope)))
    return query.order_by(EVALUATION.c.id)


def _cells(reads: Connection) -> pd.DataFrame:
    """What every cell is: cell, workload, bucket, variant."""
    return frame(
        reads,
        select(
            CELL.c.id.label("cell"),
            WORKLOAD.c.name.label("workload"),
            BUCKET.c.name.label("bucket"),
            VARIANT.c.name.label("variant"),
        )
        .select_from(CELL)
        .join(BUCKET, BUCKET.c.id == CELL.c.bucket_id)
        .join(VARIANT, VARIANT.c.id == CELL.c.variant_id)
        .join(WORKLOAD, WORKLOAD.c.id == BUCKET.c.workload_id),
    )


def _evaluations(scope: Scope) -> Any:
    """The evaluations behind the points, one column: of each version and cell the newest that is finished, or all of
    the newest runs."""
    cells: Any = select(CELL.c.id).where(CELL.c.target == scope.target)
    if scope.variant is not None:
        cells = cells.join(VARIANT, VARIANT.c.id == CELL.c.variant_id).where(VARIANT.c.name == scope.variant)
    mine = EVALUATION.c.cell_id.in_(cells)
    if scope.over == "versions":
        return select(newest.newest(scope.machine).where(mine).subquery().c.evaluation)
    runs = select(RUN.c.id).where(newest.whole_runs(scope.machine))
    runs = runs.order_by(RUN.c.started_at.desc(), RUN.c.id.desc()).limit(MOST_RUNS)
    return select(EVALUATION.c.id).where(mine, EVALUATION.c.run_id.in_(runs))
