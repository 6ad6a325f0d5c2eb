"""Evaluations as verdicts are given them: all of some environments of some runs, in a fixed number of queries."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, RowMapping, Table, and_, false, or_, select

from db import facts
from db.queries.evaluated_builds import NO_BUILDS, Builds, builds
from db.queries.evaluated_launches import launches
from db.queries.evaluated_parts import SERIES, break_of, guard_of, kernel_of, series_of
from db.queries.evaluated_probes import (
    Failures,
    accuracy_result,
    deciding_accuracies,
    differences,
    failures,
)
from db.session import Reads
from db.tables import (
    BUCKET,
    CELL,
    ENVIRONMENT,
    EVALUATION,
    FACTS,
    GRAPH_BREAK,
    KERNEL,
    PROBE_ARTIFACT,
    RECOMPILE,
    RUN,
    SUMMARY,
    VARIANT,
    WORKLOAD,
)
from evaluator.verdicts.sides import CellName, Launched, Series, Side

Row = RowMapping
# A run and an environment in it, by their row ids.
Place = tuple[int, int]


@dataclass(frozen=True)
class Evaluated:
    """One evaluation with what its cell is: ``cell_row`` is the row of this definition's cell."""

    cell: CellName
    cell_row: int
    definition: str
    training: bool
    side: Side


def evaluated(reads: Reads, places: Iterable[Place]) -> dict[Place, dict[CellName, Evaluated]]:
    """Every evaluation of these places, by the name of its cell: a changed definition has another row, and the same
    name. An evaluation that is not finished has no status, and neither facts nor series."""
    wanted = list(dict.fromkeys(places))
    scope: ColumnElement[bool] = or_(
        false(),
        *(and_(EVALUATION.c.run_id == run, EVALUATION.c.environment_id == place) for run, place in wanted),
    )
    found: dict[Place, dict[CellName, Evaluated]] = {place: {} for place in wanted}
    for place, one in _found(reads, scope):
        found[place][one.cell] = one
    return found


def of_ids(reads: Reads, ids: Collection[int]) -> dict[int, tuple[Place, Evaluated]]:
    """These evaluations by their row ids, with the places that they are of."""
    found = _found(reads, EVALUATION.c.id.in_(list(ids)))
    return {one.side.evaluation: (place, one) for place, one in found}


def _found(reads: Reads, scope: ColumnElement[bool]) -> Iterator[tuple[Place, Evaluated]]:
    parts = _Parts(
        facts=_first(_of_evaluations(reads, FACTS, scope)),
        breaks=_by(_of_walks(reads, GRAPH_BREAK, scope)),
        recompiles=_by(_of_walks(reads, RECOMPILE, scope)),
        kernels=_by(_of_walks(reads, KERNEL, scope)),
        builds=builds(reads, scope),
        traces=_first(_traces(reads, scope)),
        series=series_of(_of_evaluations(reads, SUMMARY, scope, SERIES)),
        accuracies=deciding_accuracies(reads, scope),
        differences=differences(reads, scope),
        failures=failures(reads, scope),
        launched=launches(reads, scope),
    )
    # All at once: fetched one by one, rows take twice as long.
    for row in reads.execute(_cells().where(scope).order_by(EVALUATION.c.id)).mappings().all():
        one = Evaluated(
            cell=CellName(row["workload"], row["bucket"], row["variant"], row["target"]),
            cell_row=row["cell_id"],
            definition=row["definition_hash"],
            training=bool(row["training"]),
            side=_side(row, parts),
        )
        yield (row["run_id"], row["environment_id"]), one


@dataclass(frozen=True)
class _Parts:
    """What hangs on the evaluations, by their row id."""

    facts: dict[int, Row]
    breaks: dict[int, list[Row]]
    recompiles: dict[int, list[Row]]
    kernels: dict[int, list[Row]]
    builds: dict[int, Builds]
    traces: dict[int, Row]
    series: dict[int, dict[str, Series]]
    accuracies: dict[int, Row]
    differences: dict[int, list[Row]]
    failures: Failures
    launched: dict[int, Launched]


def _cells() -> Any:
    return (
        select(
            EVALUATION,
            CELL.c.target,
            WORKLOAD.c.name.label("workload"),
            WORKLOAD.c.definition_hash,
            WORKLOAD.c.training,
            WORKLOAD.c.tolerance,
            BUCKET.c.name.label("bucket"),
            VARIANT.c.name.label("variant"),
            ENVIRONMENT.c.hash.label("environment_hash"),
            ENVIRONMENT.c.torch_version,
            RUN.c.machine_id,
        )
        .select_from(EVALUATION)
        .join(RUN, RUN.c.id == EVALUATION.c.run_id)
        .join(CELL, CELL.c.id == EVALUATION.c.cell_id)
        .join(BUCKET, BUCKET.c.id == CELL.c.bucket_id)
        .join(VARIANT, VARIANT.c.id == CELL.c.variant_id)
        .join(WORKLOAD, WORKLOAD.c.id == BUCKET.c.workload_id)
        .join(ENVIRONMENT, ENVIRONMENT.c.id == EVALUATION.c.environment_id)
    )


def _of_evaluations(
    reads: Reads, table: Table, scope: ColumnElement[bool], columns: Sequence[Any] = ()
) -> Sequence[Row]:
    query: Any = select(*(columns or (table,)))
    query = query.join(EVALUATION, EVALUATION.c.id == table.c.evaluation_id).where(scope)
    return reads.execute(query.order_by(table.c.id)).mappings().all()


def _of_walks(reads: Reads, table: Table, scope: ColumnElement[bool]) -> Sequence[Row]:
    """Rows of the walk that each evaluation's facts come from: it holds the evidence to show."""
    query = (
        select(table, FACTS.c.evaluation_id)
        .join(FACTS, FACTS.c.probe_id == table.c.probe_id)
        .join(EVALUATION, EVALUATION.c.id == FACTS.c.evaluation_id)
        .where(scope)
        .order_by(*table.primary_key)
    )
    return reads.execute(query).mappings().all()


def _traces(reads: Reads, scope: ColumnElement[bool]) -> Sequence[Row]:
    return _of_walks(reads, PROBE_ARTIFACT, and_(scope, PROBE_ARTIFACT.c.kind == "trace"))


def _by(rows: Iterable[Row]) -> dict[int, list[Row]]:
    found: dict[int, list[Row]] = {}
    for row in rows:
        found.setdefault(row["evaluation_id"], []).append(row)
    return found


def _first(rows: Iterable[Row]) -> dict[int, Row]:
    return {evaluation: listed[0] for evaluation, listed in _by(rows).items()}


def _side(row: Row, parts: _Parts) -> Side:
    of = row["id"]
    trace = parts.traces.get(of)
    return Side(
        evaluation=of,
        uuid=row["uuid"],
        run=row["run_id"],
        environment=row["environment_hash"],
        torch=row["torch_version"],
        machine=row["machine_id"],
        status=row["status"],
        reason=row["reason"],
        failure=parts.failures.worst(of, row["status"]),
        facts=_facts(parts.facts.get(of)),
        breaks=tuple(break_of(one) for one in parts.breaks.get(of, ())),
        guards=tuple(guard_of(one) for one in parts.recompiles.get(of, ())),
        kernels=tuple(kernel_of(one, parts.builds.get(of, NO_BUILDS)) for one in parts.kernels.get(of, ())),
        accuracy=accuracy_result(parts.accuracies.get(of), row["tolerance"]),
        differences=tuple(
            (one["leaf"] or "", one["kind"], one["eager"] or "", one["compiled"] or "")
            for one in parts.differences.get(of, ())
        ),
        series=parts.series.get(of, {}),
        trace=trace["sha256"] if trace is not None else None,
        launched=parts.launched.get(of),
    )


def _facts(row: Row | None) -> dict[str, Any] | None:
    """Every fact by name; None where no walk left any."""
    if row is None or row["probe_id"] is None:
        return None
    typed = {name: row[name] for name in facts.TYPED}
    return facts.MergedFacts(row["probe_id"], typed, row["extra"] or {}).shown()
