"""What was built of the kernels of evaluations for a card that is not there, by evaluation and kernel."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from sqlalchemy import ColumnElement, RowMapping, select

from db.queries.evaluated_probes import in_order
from db.session import Reads
from db.tables import KERNEL_BUILD, PROBE
from evaluator.verdicts.sides import Build


@dataclass(frozen=True)
class Builds:
    """The builds of one evaluation, by source and name, and by source alone: one source is built once."""

    by_name: Mapping[tuple[str, str], Build] = field(default_factory=dict)
    by_source: Mapping[str, Build] = field(default_factory=dict)

    def of(self, source: str | None, name: str) -> Build | None:
        """The build of the kernel with this source (SHA-256) and name; None where it was not built."""
        if source is None:
            return None
        return self.by_name.get((source, name)) or self.by_source.get(source)


NO_BUILDS: Final = Builds()


def builds(reads: Reads, scope: ColumnElement[bool]) -> dict[int, Builds]:
    """The builds of these evaluations; of several build probes of one, the first replica's last attempt counts."""
    query = select(PROBE.c.evaluation_id, KERNEL_BUILD).join(
        KERNEL_BUILD, KERNEL_BUILD.c.probe_id == PROBE.c.id
    )
    first: dict[int, int] = {}
    rows: dict[int, list[RowMapping]] = {}
    for row in in_order(reads, query, scope, KERNEL_BUILD.c.id):
        of = row["evaluation_id"]
        if row["probe_id"] == first.setdefault(of, row["probe_id"]):
            rows.setdefault(of, []).append(row)
    return {of: _builds(listed) for of, listed in rows.items()}


def _builds(rows: list[RowMapping]) -> Builds:
    named = [(row["source_sha256"], row["name"], _build(row)) for row in rows if row["source_sha256"]]
    return Builds(
        {(source, name): build for source, name, build in named},
        {source: build for source, _, build in reversed(named)},
    )


def _build(row: RowMapping) -> Build:
    return Build(
        id=row["id"],
        registers=row["registers"],
        spill_stores=row["spill_stores"],
        spill_loads=row["spill_loads"],
        stack=row["stack"],
        shared=row["shared"],
        cubin_bytes=row["cubin_bytes"],
        sass_hash=row["sass_hash"],
        error=row["error"],
    )
