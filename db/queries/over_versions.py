"""One number for each torch version of a cell: the line that a table draws beside its row."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import func, select

from db.queries.run_sides import WHOLE_PURPOSES
from db.queries.versions import in_order
from db.session import Reads
from db.tables import ENVIRONMENT, EVALUATION, RUN, SUMMARY


def over_versions(
    reads: Reads, evaluations: Sequence[int], machine: str, metric: str
) -> dict[int, tuple[float, ...]]:
    """For each of these evaluations the metric's median of its cell under every torch version, oldest first, in the
    metric's unit: of each version the newest finished evaluation on this machine. A version without a number is left
    out, and an evaluation without any."""
    cells = {
        row.id: row.cell_id
        for row in reads.execute(
            select(EVALUATION.c.id, EVALUATION.c.cell_id).where(EVALUATION.c.id.in_(list(evaluations)))
        )
    }
    newest = (
        select(
            func.max(EVALUATION.c.id).label("evaluation"),
            EVALUATION.c.cell_id.label("cell"),
            ENVIRONMENT.c.torch_version.label("torch"),
        )
        .join(ENVIRONMENT, ENVIRONMENT.c.id == EVALUATION.c.environment_id)
        .join(RUN, RUN.c.id == EVALUATION.c.run_id)
        .where(
            EVALUATION.c.cell_id.in_(set(cells.values())),
            EVALUATION.c.status.is_not(None),
            ENVIRONMENT.c.torch_version.is_not(None),
            RUN.c.purpose.in_(WHOLE_PURPOSES),
            RUN.c.machine_id == machine,
        )
        .group_by(EVALUATION.c.cell_id, ENVIRONMENT.c.torch_version)
        .subquery()
    )
    rows = reads.execute(
        select(newest.c.cell, newest.c.torch, SUMMARY.c.median).join(
            SUMMARY, (SUMMARY.c.evaluation_id == newest.c.evaluation) & (SUMMARY.c.metric == metric)
        )
    ).all()
    rank = {torch: place for place, torch in enumerate(in_order(row.torch for row in rows))}
    lines: dict[int, list[float]] = {}
    for row in sorted(rows, key=lambda row: rank[row.torch]):
        lines.setdefault(row.cell, []).append(row.median)
    return {evaluation: tuple(lines[cell]) for evaluation, cell in cells.items() if cell in lines}
