"""Which layer moved: the same cell under more and more of torch.compile, in both environments.

The rungs, from the ground: eager itself (``operators``), Dynamo with what it captured run eagerly (``eager``),
AOTAutograd as well (``aot_eager``), Inductor as well (the cell itself, or ``inductor`` where it adds CUDA graphs).
The first rung that moved names the layer; where all below the cell stayed, what the cell adds is left.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from evaluator.verdicts.accuracy import verdict_of
from evaluator.verdicts.findings import Evidence, Finding
from evaluator.verdicts.pairs import both
from evaluator.verdicts.policy import LEAST_REPLICAS
from evaluator.verdicts.ratio import ratio
from evaluator.verdicts.sides import Pair, Rung, Series, Side
from evaluator.verdicts.words import FAILED

# Backend of a rung -> the layer that it adds to the rung below.
LAYERS: Final = {"eager": "dynamo", "aot_eager": "aot_autograd", "inductor": "inductor"}
NAMES: Final = {
    "operators": "eager operators",
    "dynamo": "Dynamo",
    "aot_autograd": "AOTAutograd",
    "inductor": "Inductor",
    "cuda_graphs": "CUDA graphs",
}
# A rung moved if it holds at least this part of the change.
_SHARE: Final = 0.5
# Where a rung takes far longer than the cell, the same seconds are a small part of it; below this part of the margin
# they are lost in what its own time does from version to version.
_LEAST_MARGIN: Final = 1 / 3
_CONFIDENCE: Final = 0.95


@dataclass(frozen=True)
class Climb:
    """What the ladder says of a finding: the layer, one clause on how, and the evaluations that show it.

    ``layer`` is None where it is one of several, which ``named`` says: "Dynamo or AOTAutograd".
    """

    layer: str | None
    named: str
    text: str
    evidence: tuple[Evidence, ...]


@dataclass(frozen=True)
class Change:
    """How much a time moved: log of the ratio, the difference in its unit, and the ratio below which nothing counts."""

    log: float
    absolute: float
    least_log: float


def climb(finding: Finding, pair: Pair) -> Climb | None:
    """The layer that a bad finding comes from; None where the rungs are missing or do not say.

    A time moved on a rung if it went up there by at least half of what it went up in the cell, as a ratio or in
    seconds (a rung that takes longer shows the same seconds as less), and by more than chance; with fewer than 4 replicas
    a side a rung says nothing about times. A failure and a wrong result are on a rung or are not. A rung that says
    nothing (missing, failed on both sides) leaves open whether its layer or that of the next one moved.
    """
    if finding.kind == "time":
        change = change_of(finding)
        for one in pair.rungs:
            if operators_moved(finding, one.base, one.candidate):
                text = "eager beside the rungs moved as well"
                return Climb("operators", NAMES["operators"], text, both(one.base, one.candidate))
        return _climb(pair, lambda base, candidate: _time_moved(finding.metric, base, candidate, change))
    if finding.kind == "status":
        return _climb(pair, _newly_failing)
    return _climb(pair, _newly_wrong) if finding.kind == "accuracy" else None


def operators_moved(finding: Finding, base: Side, candidate: Side) -> bool:
    """Whether plain eager of the same cell holds at least half of a warm time's change."""
    metric = finding.metric.replace("compiled.", "eager.", 1)
    if metric == finding.metric or not finding.metric.startswith("compiled."):
        return False
    return moved(base.series.get(metric), candidate.series.get(metric), change_of(finding)) is True


def change_of(finding: Finding) -> Change:
    """How much a time moved, by the rerun's estimate where there is one."""
    estimate = finding.rerun or finding.estimate
    log = math.log(estimate.ratio) if estimate else 0.0
    numbers = [one for one in (finding.base, finding.candidate) if isinstance(one, int | float)]
    absolute = numbers[1] - numbers[0] if len(numbers) == 2 else 0.0
    return Change(log, absolute, math.log1p(_LEAST_MARGIN * estimate.margin) if estimate else 0.0)


def moved(base: Series | None, candidate: Series | None, change: Change) -> bool | None:
    """Whether this time went up by at least half of ``change``; None where a side has fewer than 4 replicas of it."""
    if base is None or candidate is None or min(len(base.values), len(candidate.values)) < LEAST_REPLICAS:
        return None
    if min(*base.values, *candidate.values) <= 0 or change.log <= 0:
        return None
    before, after = statistics.median(base.values), statistics.median(candidate.values)
    found = ratio(base.values, candidate.values, _CONFIDENCE)
    if found.low <= 1:
        return False
    log = math.log(found.ratio)
    if log >= _SHARE * change.log:
        return True
    return log >= change.least_log and 0 < _SHARE * change.absolute <= after - before


def _time_moved(metric: str, base: Side, candidate: Side, change: Change) -> bool | None:
    return moved(base.series.get(metric), candidate.series.get(metric), change)


def _newly_failing(base: Side, candidate: Side) -> bool | None:
    if base.status is None or candidate.status is None or base.status in FAILED:
        return None
    return candidate.status in FAILED


def _newly_wrong(base: Side, candidate: Side) -> bool | None:
    if verdict_of(base) != "pass" or verdict_of(candidate) not in ("pass", "fail"):
        return None
    return verdict_of(candidate) == "fail"


def _climb(pair: Pair, moved_on: Callable[[Side, Side], bool | None]) -> Climb | None:
    stayed: list[str] = []
    silent: list[str] = []
    evidence: list[Evidence] = []
    for backend, rung in _rungs(pair):
        found = None if rung is None else moved_on(rung.base, rung.candidate)
        if rung is None or found is None:
            silent.append(backend)
            continue
        evidence += both(rung.base, rung.candidate)
        if found:
            below = f" and not on {' and '.join(stayed)}" if stayed else ""
            layers = [LAYERS[one] for one in (*silent, backend)]
            return Climb(
                # A rung below that says nothing may have moved as well.
                None if silent else layers[-1],
                " or ".join(NAMES[one] for one in layers),
                f"it shows on the rung {backend}{'' if silent else ' already'}{below}",
                tuple(evidence),
            )
        stayed.append(backend)
    if silent:
        return None
    layer = "cuda_graphs" if "inductor" in stayed else "inductor"
    return Climb(
        layer, NAMES[layer], f"it does not show on the rungs {' and '.join(stayed)}", tuple(evidence)
    )


def _rungs(pair: Pair) -> Iterator[tuple[str, Rung | None]]:
    """The rungs from the ground, None for a missing one. Without a rung of its own Inductor is the cell itself."""
    by_backend = {one.backend: one for one in pair.rungs}
    for backend in LAYERS:
        if backend != "inductor" or backend in by_backend:
            yield backend, by_backend.get(backend)
