"""What a comparison does not hold: cells that neither side evaluated, and evaluations newer than a side's."""

from __future__ import annotations

import pandas as pd
from sqlalchemy import Connection, func, select

from db.models import Bucket, Cell, Environment, Evaluation, Run, Variant, Workload
from db.queries.frames import AnySelect, frame
from db.queries.run_sides import WHOLE_PURPOSES

# The columns that name a cell, as ``evaluator.verdicts.sides.CellName`` does.
NAMES = ("workload", "bucket", "variant", "target")


def known_cells(connection: Connection) -> pd.DataFrame:
    """Every cell that a whole run evaluated, in declared order: workload, bucket, variant, target, run (the newest that has it)."""
    counted = (
        select(Evaluation.cell_id, func.max(Evaluation.run_id).label("run"))
        .join(Run, Run.id == Evaluation.run_id)
        .where(Run.purpose.in_(WHOLE_PURPOSES))
        .group_by(Evaluation.cell_id)
        .subquery()
    )
    found = frame(
        connection,
        _named(counted.c.run)
        .select_from(counted)
        .join(Cell, Cell.id == counted.c.cell_id)
        .join(Bucket, Bucket.id == Cell.bucket_id)
        .join(Variant, Variant.id == Cell.variant_id)
        .join(Workload, Workload.id == Bucket.workload_id)
        .order_by(Workload.name, Variant.position, Bucket.position, Cell.id),
    )
    # A cell of an earlier definition has the same name.
    newest = found.groupby(list(NAMES), sort=False, as_index=False)["run"].max()
    return pd.DataFrame(newest)


def newer(connection: Connection, run: int, torch: str | None) -> pd.DataFrame:
    """Cells that a later whole run on the run's machine evaluated under the same torch: workload, bucket, variant,
    target, run (the newest of those), started_at."""
    about = connection.execute(select(Run.started_at, Run.machine_id).where(Run.id == run)).one()
    query = (
        _named(Run.id.label("run"), Run.started_at)
        .select_from(Evaluation)
        .join(Run, Run.id == Evaluation.run_id)
        .join(Environment, Environment.id == Evaluation.environment_id)
        .join(Cell, Cell.id == Evaluation.cell_id)
        .join(Bucket, Bucket.id == Cell.bucket_id)
        .join(Variant, Variant.id == Cell.variant_id)
        .join(Workload, Workload.id == Bucket.workload_id)
        .where(
            Run.purpose.in_(WHOLE_PURPOSES),
            Run.machine_id == about.machine_id,
            Run.started_at > about.started_at,
            Environment.torch_version == torch,
            Evaluation.status.is_not(None),
        )
        .order_by(Run.started_at, Run.id)
    )
    return frame(connection, query).drop_duplicates(list(NAMES), keep="last")


def _named(*more: object) -> AnySelect:
    return select(
        Workload.name.label("workload"),
        Bucket.name.label("bucket"),
        Variant.name.label("variant"),
        Cell.target,
        *more,
    )
