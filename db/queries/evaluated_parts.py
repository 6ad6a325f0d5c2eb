"""What hangs on an evaluation, from rows to what verdicts are given: break sites, guards, kernels, series."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from sqlalchemy import RowMapping, Text, cast

from db.queries.evaluated_builds import Builds
from db.queries.frames import lists
from db.tables import SUMMARY
from evaluator.verdicts.sides import BreakSite, GuardFailure, KernelUse, Series
from evaluator.worker.protocol import METRICS

Row = RowMapping

# A summary's lists are most of what reading a large comparison costs. As text: one text for all is read far faster than
# thousands.
SERIES: Final = (
    SUMMARY.c.evaluation_id,
    SUMMARY.c.metric,
    cast(SUMMARY.c.replica_numbers, Text).label("numbers"),
    cast(SUMMARY.c.replica_medians, Text).label("medians"),
    SUMMARY.c.flags,
)


def break_of(row: Row) -> BreakSite:
    return BreakSite(
        id=row["id"],
        reason=row["reason"] or "",
        break_id=row["break_id"],
        file=row["file"],
        line=row["line"],
        function=row["function"],
        inherited=row["inherited"],
        events=row["events"] or 0,
    )


def guard_of(row: Row) -> GuardFailure:
    return GuardFailure(
        id=row["id"],
        reason=row["reason"] or "",
        guard=row["guard"],
        file=row["file"],
        line=row["line"],
        function=row["function"],
    )


def kernel_of(row: Row, builds: Builds) -> KernelUse:
    return KernelUse(
        id=row["id"],
        name=row["name"],
        kind=row["kind"],
        source_hash=row["source_hash"],
        source_sha256=row["source_sha256"],
        graph=row["graph"],
        origin=row["origin"],
        launch_hash=row["launch_hash"],
        form=row["form"],
        calls=row["calls"],
        loads=row["loads"],
        stores=row["stores"],
        bytes_moved=row["bytes_moved"],
        build=builds.of(row["source_sha256"], row["name"]),
    )


def series_of(rows: Sequence[Row]) -> dict[int, dict[str, Series]]:
    """The series of every evaluation by metric."""
    numbers, medians = (lists(row[name] for row in rows) for name in ("numbers", "medians"))
    found: dict[int, dict[str, Series]] = {}
    for row, replicas, values in zip(rows, numbers, medians, strict=True):
        metric = row["metric"]
        found.setdefault(row["evaluation_id"], {})[metric] = Series(
            metric=metric,
            # A metric of another version of the evaluator has no unit here.
            unit=METRICS[metric][0] if metric in METRICS else "1",
            replicas=replicas,
            values=values,
            flags=frozenset(row["flags"] or ()),
        )
    return found
