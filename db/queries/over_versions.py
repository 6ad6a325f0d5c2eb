"""One number for each torch version of a cell: the line that a table draws beside its row."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import select

from db.queries.newest import newest
from db.queries.versions import in_order
from db.session import Reads
from db.tables import EVALUATION, SUMMARY


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
    of_each = newest(machine).where(EVALUATION.c.cell_id.in_(set(cells.values()))).subquery()
    rows = reads.execute(
        select(of_each.c.cell, of_each.c.torch, SUMMARY.c.median).join(
            SUMMARY, (SUMMARY.c.evaluation_id == of_each.c.evaluation) & (SUMMARY.c.metric == metric)
        )
    ).all()
    of_torch: dict[str, list[tuple[int, float]]] = {}
    for cell, torch, median in rows:
        of_torch.setdefault(torch, []).append((cell, median))
    lines: dict[int, list[float]] = {}
    for torch in in_order(of_torch):
        for cell, median in of_torch[torch]:
            lines.setdefault(cell, []).append(median)
    return {evaluation: tuple(lines[cell]) for evaluation, cell in cells.items() if cell in lines}
