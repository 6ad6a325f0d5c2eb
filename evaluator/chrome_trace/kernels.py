"""What ran, by name: launches and device time."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeVar

from evaluator.chrome_trace.recording import Work, WorkKind

T = TypeVar("T")


@dataclass(frozen=True)
class Total:
    """All work of a name: how often it ran and for how long together (µs). ``registers`` and ``occupancy`` are those of all
    its launches, None where they differ or are not given."""

    kind: WorkKind
    name: str
    launches: int
    time: float
    registers: int | None
    occupancy: float | None


def totals(work: Iterable[Work]) -> tuple[Total, ...]:
    """Totals by kind and name, longest first."""
    groups: dict[tuple[WorkKind, str], list[Work]] = {}
    for one in work:
        groups.setdefault((one.kind, one.name), []).append(one)
    found = [
        Total(
            kind,
            name,
            len(members),
            sum(one.end - one.start for one in members),
            _same([one.registers for one in members]),
            _same([one.occupancy for one in members]),
        )
        for (kind, name), members in groups.items()
    ]
    return tuple(sorted(found, key=lambda one: (-one.time, one.name)))


def _same(values: list[T]) -> T | None:
    return values[0] if len(set(values)) == 1 else None
