"""A machine that slows down while both sides are measured on it, which must not be taken for one of them.

Made of numbers: what a machine does can't be ordered, and no test may depend on it. Each cell has its own time and
its own luck; the machine multiplies every time by what it is worth at the moment.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable

import pytest

from evaluator.verdicts.findings import Verdicts
from evaluator.verdicts.sides import AccuracyResult, CellName, EnvironmentSide, Pair, Series, Side
from evaluator.verdicts.whole import candidates, compare

CELLS, REPLICAS = 40, 5
# Of a replica to the next, in an equal environment.
BETWEEN_SD = 0.01
METRICS = {
    "compiled.wall_ms": ("ms", 0.4),
    "eager.wall_ms": ("ms", 0.9),
    "compile.cold_s": ("s", 3.0),
    "compile.warm_cache_s": ("s", 0.8),
}
FACTS = {"graphs": 1, "ops": 4, "graph_breaks": 0, "recompiles": 0, "second_walk_compiles": 0, "compiles": 1}

# A moment of the run, counted in starts of a server -> how many times as long everything takes.
Machine = Callable[[int], float]


def steadily(moment: int) -> float:
    return 1 + 0.05 * moment


def at_once(moment: int) -> float:
    return 1.0 if moment < REPLICAS else 1.4


def every_other(moment: int) -> float:
    return 1.0 if moment % 4 < 2 else 1.25


def moments(side: int) -> list[int]:
    """When each replica of a side is measured, the sides in turns: A B, B A, A B, ..."""
    return [2 * replica + (side if replica % 2 == 0 else 1 - side) for replica in range(REPLICAS)]


def side(number: int, cell: int, machine: Machine, luck: random.Random, slower: float = 1.0) -> Side:
    """One evaluation; ``slower`` multiplies the compiled times of this side alone."""
    series = {}
    for metric, (unit, usual) in METRICS.items():
        own = slower if metric == "compiled.wall_ms" else 1.0
        values = tuple(
            usual * (1 + cell % 7) * own * machine(moment) * math.exp(luck.gauss(0, BETWEEN_SD))
            for moment in moments(number)
        )
        series[metric] = Series(metric, unit, tuple(range(REPLICAS)), values)
    return Side(
        evaluation=2 * cell + number,
        uuid=f"{cell:08d}-{number}",
        run=1,
        environment="ab"[number] * 64,
        torch="2.13.0",
        machine="here",
        status="ok",
        reason=None,
        facts=dict(FACTS),
        accuracy=AccuracyResult("pass", None, 0.0, 1e-8, 1e-8),
        series=series,
    )


def environment(number: int, run: int = 1) -> EnvironmentSide:
    variables = {"COLOUR": "red"} if number else {}
    return EnvironmentSide(
        hash="ab"[number] * 64,
        label=f"side {number + 1}",
        fields={"torch": "2.13.0", "python": "3.11.7", "libraries": {}, "variables": variables},
        run=run,
        machine="here",
    )


def compared(machine: Machine, seed: int, slower: dict[int, float] | None = None) -> Verdicts:
    """A comparison in turns on this machine; ``slower``: cell -> how many times as long its compiled calls take."""
    luck = random.Random(seed)
    pairs = [
        pair(cell, machine, machine, luck, (slower or {}).get(cell, 1.0), interleaved=True)
        for cell in range(CELLS)
    ]
    return compare(environment(0), environment(1), pairs)


def pair(
    cell: int, first: Machine, second: Machine, luck: random.Random, slower: float, *, interleaved: bool
) -> Pair:
    return Pair(
        cell=CellName(f"w{cell}", "-", "default", "cpu"),
        base=side(0, cell, first, luck),
        candidate=side(1, cell, second, luck, slower),
        base_definition="same",
        candidate_definition="same",
        interleaved=interleaved,
    )


def changes(verdicts: Verdicts) -> list[tuple[str, str, str]]:
    """What is said to have changed for the better or the worse."""
    return [
        (cell.cell.workload, finding.metric, finding.verdict)
        for cell in verdicts.cells
        for finding in cell.findings
        if finding.verdict in ("regressed", "newly_failing", "flaky", "improved", "fixed")
    ]


@pytest.mark.parametrize("machine", [steadily, at_once, every_other])
@pytest.mark.parametrize("seed", range(5))
def test_a_machine_that_slows_for_both_sides_changes_nothing(machine: Machine, seed: int) -> None:
    verdicts = compared(machine, seed)
    assert changes(verdicts) == []
    assert not candidates(verdicts).times
    assert verdicts.answer in ("Upgrade", "Not enough evidence")
    assert verdicts.compared == verdicts.total == CELLS


def test_a_machine_that_is_slow_all_along_hides_nothing() -> None:
    verdicts = compared(lambda moment: 3.0, 11, slower={3: 1.2, 17: 1.2})
    assert sorted(name for name, _, _ in changes(verdicts)) == ["w17", "w3"]
    assert {cell.workload for cell in candidates(verdicts).times} == {"w3", "w17"}


def test_a_machine_that_was_slow_for_the_later_run_confirms_nothing() -> None:
    # Every time of the candidate is a quarter longer, eager's too; the sides were measured one after the other.
    luck = random.Random(5)
    pairs = [
        pair(cell, lambda moment: 1.0, lambda moment: 1.25, luck, 1.0, interleaved=False)
        for cell in range(CELLS)
    ]
    verdicts = compare(environment(0), environment(1, run=2), pairs)
    longer = [
        finding
        for cell in verdicts.cells
        for finding in cell.findings
        if finding.gating and finding.kind == "time" and finding.verdict == "regressed"
    ]
    assert longer
    assert all(finding.confirmed is False for finding in longer)
    assert all("not_interleaved" in finding.reasons for finding in longer)
    assert verdicts.answer == "Not enough evidence"
