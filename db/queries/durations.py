"""How long units of work took before on a machine: what an estimate is made from."""

from __future__ import annotations

import statistics
from collections import defaultdict
from typing import Final

from sqlalchemy import func, select

from db.models import Bucket, Cell, Evaluation, Probe, Run, Variant, Workload
from db.session import Reads

# The unit of work that a probe belongs to, where it is not its own: timing follows a walk in the same process,
# and what a walk generated for a card that is not there is built after it.
_UNIT_OF: Final = {"timing": "walk", "build": "walk"}
# Enough for a steady median; older runs were made by other versions of everything.
_RECENT_RUNS: Final = 10


def unit_durations(reads: Reads, machine: str, target: str = "cpu") -> dict[tuple[str, str, str, str], float]:
    """(workload, variant, bucket, unit) to the median seconds it took, over the machine's last runs and their children.

    A unit's time is that of all its probes in one replica: both compiles of a bucket, a walk with its timing.
    """
    # A run that confirms or explains another has a few cells only, and would push out those that have all.
    alone = select(Run.uuid).where(Run.machine_id == machine, Run.parent_uuid.is_(None))
    last = alone.order_by(Run.id.desc()).limit(_RECENT_RUNS)
    recent = select(Run.id).where(Run.uuid.in_(last) | Run.parent_uuid.in_(last), Run.machine_id == machine)
    rows = reads.execute(
        select(
            Workload.name,
            Variant.name,
            Bucket.name,
            Evaluation.id,
            Probe.replica_id,
            Probe.probe,
            func.sum(Probe.duration_s),
        )
        .select_from(Evaluation)
        .join(Cell, Cell.id == Evaluation.cell_id)
        .join(Bucket, Bucket.id == Cell.bucket_id)
        .join(Variant, Variant.id == Cell.variant_id)
        .join(Workload, Workload.id == Bucket.workload_id)
        .join(Probe, Probe.evaluation_id == Evaluation.id)
        .where(Evaluation.run_id.in_(recent), Cell.target == target, Probe.duration_s.is_not(None))
        .group_by(Workload.name, Variant.name, Bucket.name, Evaluation.id, Probe.replica_id, Probe.probe)
    )
    units: dict[tuple[str, str, str, str], dict[tuple[int, int | None], float]] = defaultdict(dict)
    for workload, variant, bucket, evaluation, replica, probe, seconds in rows:
        spent = units[workload, variant, bucket, _UNIT_OF.get(probe, probe)]
        spent[evaluation, replica] = spent.get((evaluation, replica), 0.0) + (seconds or 0.0)
    return {unit: statistics.median(spent.values()) for unit, spent in units.items()}
