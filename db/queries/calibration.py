"""What a run that calibrates found: the noise of each cell and metric between equal sides."""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import zip_longest

from sqlalchemy import RowMapping, and_, or_, select

from db.models import Bucket, Cell, Environment, Noise, Run, Variant, Workload
from db.queries.runs import find_run
from db.session import Reads
from db.tables import ENVIRONMENT, EVALUATION, NOISE, RUN
from evaluator.verdicts import sides


@dataclass(frozen=True)
class CellNoise:
    """The noise of one metric of one cell, and what it belongs to."""

    workload: str
    bucket: str
    variant: str
    torch: str | None
    noise: sides.Noise


def noise_of_run(reads: Reads, reference: str) -> list[CellNoise]:
    """Everything a run calibrated, cell by cell; empty for a run of another purpose. UserError for no such run."""
    run = find_run(reads, reference)
    rows = reads.execute(
        select(
            Workload.name.label("workload"),
            Bucket.name.label("bucket"),
            Variant.name.label("variant"),
            Environment.torch_version,
            NOISE,
        )
        .join(Cell, Cell.id == Noise.cell_id)
        .join(Bucket, Bucket.id == Cell.bucket_id)
        .join(Variant, Variant.id == Cell.variant_id)
        .join(Workload, Workload.id == Bucket.workload_id)
        .join(Environment, Environment.id == Noise.environment_id)
        .join(Run, Run.id == Noise.run_id)
        .where(Noise.run_id == run)
        .order_by(Noise.id)
    )
    return [
        CellNoise(row["workload"], row["bucket"], row["variant"], row["torch_version"], _noise(row))
        for row in rows.mappings()
    ]


def noise_of_cells(
    reads: Reads, machine: str, torches: Collection[str], places: Sequence[tuple[int, int]]
) -> dict[int, dict[str, sides.Noise]]:
    """The noise of the cells of ``places``, (run, environment) pairs: row of the cell to metric to noise.

    From the machine's latest calibration of the cell; any under one of ``torches`` comes before the others. Where it
    calibrated several environments, the noisiest.
    """
    scope = or_(
        *(and_(EVALUATION.c.run_id == run, EVALUATION.c.environment_id == place) for run, place in places)
    )
    wanted = (RUN.c.machine_id == machine) & NOISE.c.cell_id.in_(select(EVALUATION.c.cell_id).where(scope))
    rows = reads.execute(
        select(NOISE, RUN.c.started_at)
        .join(RUN, RUN.c.id == NOISE.c.run_id)
        .where(wanted)
        .order_by(NOISE.c.id)
    ).mappings()
    environments = _environments(reads)
    groups: dict[tuple[int, str], dict[tuple[bool, datetime, int, str], list[sides.Noise]]] = {}
    for row in rows:
        torch, same = environments[row["environment_id"]]
        group = (torch in torches, row["started_at"], row["run_id"], same)
        of_metric = groups.setdefault((row["cell_id"], row["metric"]), {})
        of_metric.setdefault(group, []).append(_noise(row))
    found: dict[int, dict[str, sides.Noise]] = {}
    for (cell, metric), of_metric in groups.items():
        best = max(group[:3] for group in of_metric)
        alike = [pooled(listed) for group, listed in of_metric.items() if group[:3] == best]
        found.setdefault(cell, {})[metric] = max(alike, key=lambda one: one.between_sd)
    return found


def pooled(equal: Sequence[sides.Noise]) -> sides.Noise:
    """The noise of equal sides of one run, which an environment and its copies are, as that of one.

    Variances are averaged by their degrees of freedom, each side around its own mean. Values stand in order of their
    replicas, so that those measured next to each other stay neighbours.
    """
    if len(equal) == 1:
        return equal[0]
    within = [(one.within_sd, len(one.values) * (one.rounds - 1)) for one in equal]
    return sides.Noise(
        metric=equal[0].metric,
        between_sd=_pooled_sd([(one.between_sd, len(one.values) - 1) for one in equal]) or 0.0,
        within_sd=_pooled_sd([(sd, freedom) for sd, freedom in within if sd is not None]),
        rounds=min(one.rounds for one in equal),
        values=tuple(
            value
            for replica in zip_longest(*(one.values for one in equal))
            for value in replica
            if value is not None
        ),
        run=equal[0].run,
    )


def _pooled_sd(parts: Sequence[tuple[float, int]]) -> float | None:
    freedom = sum(weight for _, weight in parts)
    return math.sqrt(sum(sd**2 * weight for sd, weight in parts) / freedom) if freedom else None


def _environments(reads: Reads) -> dict[int, tuple[str | None, str]]:
    """Environment row to its torch version, and a text that is the same for an environment and its copies."""
    calibrated = select(NOISE.c.environment_id)
    rows = reads.execute(select(ENVIRONMENT).where(ENVIRONMENT.c.id.in_(calibrated))).mappings()
    return {
        row["id"]: (
            row["torch_version"],
            json.dumps(
                {name: value for name, value in row["fields"].items() if name != "copy"}, sort_keys=True
            ),
        )
        for row in rows
    }


def _noise(row: RowMapping) -> sides.Noise:
    return sides.Noise(
        metric=row["metric"],
        between_sd=row["between_sd"],
        within_sd=row["within_sd"],
        rounds=row["rounds"],
        values=tuple(row["replica_values"]),
        run=row["run_id"],
    )
