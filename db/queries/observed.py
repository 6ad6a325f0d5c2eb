"""What was seen to run in the profiled batches of an evaluation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd
from sqlalchemy import Connection, select

from db.models import (
    Bucket,
    Cell,
    Evaluation,
    Facts,
    Kernel,
    ObservedKernel,
    ObservedOperator,
    Probe,
    Replica,
)
from db.queries.frames import frame


@dataclass(frozen=True)
class ObservedRecord:
    """The profile of one evaluation, of the first replica's last attempt. ``modes``: what is known of eager and compiled, by
    name: the fact ``profile`` of the README. ``kernels``: mode, kind, name, launches, device_ms, registers, spills, occupancy;
    ``operators``: mode, name, calls, host_ms, kernels; both in recorded order. ``elsewhere``: name, kind, form of the kernels
    that the same walk generated for other buckets."""

    status: str
    reason: str | None
    modes: Mapping[str, Mapping[str, Any]]
    kernels: pd.DataFrame
    operators: pd.DataFrame
    elsewhere: pd.DataFrame


def observed(connection: Connection, evaluation_id: int) -> ObservedRecord | None:
    """What was seen to run; None where nothing was profiled."""
    probe = connection.execute(
        select(Probe.id, Probe.status, Probe.reason, Probe.facts)
        .outerjoin(Replica, Replica.id == Probe.replica_id)
        .where(Probe.evaluation_id == evaluation_id, Probe.probe == "profile")
        .order_by(Replica.number.is_(None), Replica.number, Probe.attempt.desc(), Probe.id)
        .limit(1)
    ).first()
    if probe is None:
        return None
    kernels = select(
        *(ObservedKernel.mode, ObservedKernel.kind, ObservedKernel.name, ObservedKernel.launches),
        *(ObservedKernel.device_ms, ObservedKernel.registers, ObservedKernel.spills),
        ObservedKernel.occupancy,
    )
    operators = select(
        *(ObservedOperator.mode, ObservedOperator.name, ObservedOperator.calls),
        *(ObservedOperator.host_ms, ObservedOperator.kernels),
    )
    facts = probe.facts or {}
    return ObservedRecord(
        status=probe.status,
        reason=probe.reason,
        modes={mode: said for mode, said in facts.items() if isinstance(said, Mapping)},
        kernels=frame(
            connection, kernels.where(ObservedKernel.probe_id == probe.id).order_by(ObservedKernel.id)
        ),
        operators=frame(
            connection, operators.where(ObservedOperator.probe_id == probe.id).order_by(ObservedOperator.id)
        ),
        elsewhere=_elsewhere(connection, evaluation_id),
    )


def _elsewhere(connection: Connection, evaluation_id: int) -> pd.DataFrame:
    """Kernels of the walks that other buckets of this workload, variant and target had in the same run and environment."""
    mine = (
        select(Evaluation.run_id, Evaluation.environment_id, Cell.variant_id, Cell.target, Bucket.workload_id)
        .join(Cell, Cell.id == Evaluation.cell_id)
        .join(Bucket, Bucket.id == Cell.bucket_id)
        .where(Evaluation.id == evaluation_id)
        .subquery()
    )
    query = (
        select(Kernel.name, Kernel.kind, Kernel.form)
        .select_from(mine)
        .join(
            Evaluation,
            (Evaluation.run_id == mine.c.run_id) & (Evaluation.environment_id == mine.c.environment_id),
        )
        .join(
            Cell,
            (Cell.id == Evaluation.cell_id)
            & (Cell.variant_id == mine.c.variant_id)
            & (Cell.target == mine.c.target),
        )
        .join(Bucket, (Bucket.id == Cell.bucket_id) & (Bucket.workload_id == mine.c.workload_id))
        .join(Facts, Facts.evaluation_id == Evaluation.id)
        .join(Kernel, Kernel.probe_id == Facts.probe_id)
        .where(Evaluation.id != evaluation_id)
        .order_by(Kernel.id)
    )
    return frame(connection, query)
