"""Seeded sides of a comparison, made up or read from measured series: what the figures of the statistics rest on."""

from __future__ import annotations

import json
import math
import random
import statistics
from collections.abc import Iterator, Sequence
from pathlib import Path

from evaluator.verdicts.sides import Series

# Measured series live beside the checkout, not in it: they are other projects' data too.
SERIES = Path(__file__).parents[4] / "shared" / "series"

Side = tuple[float, ...]


def series(
    values: Sequence[float], *flags: str, metric: str = "compiled.wall_ms", unit: str = "ms"
) -> Series:
    return Series(metric, unit, tuple(range(len(values))), tuple(values), frozenset(flags))


def side(draw: random.Random, replicas: int, sd: float, effect: float = 0.0, level: float = 10.0) -> Side:
    """Log-normal replica values around ``level`` times 1 + effect; ``sd`` of their logs."""
    return tuple(level * (1 + effect) * math.exp(draw.gauss(0, sd)) for _ in range(replicas))


def rounds(draw: random.Random, replicas: int, each: int, between: float, within: float) -> list[list[float]]:
    """Rounds of replicas: a shift for each replica, and one for each round within it; sds of their logs."""
    found = []
    for _ in range(replicas):
        luck = draw.gauss(0, between)
        found.append([10 * math.exp(luck + draw.gauss(0, within)) for _ in range(each)])
    return found


def equal_processes() -> dict[str, list[float]]:
    """Measured processes that all did the same: name -> each process's median of rounds, in the order of time."""
    found: dict[str, list[float]] = {}
    workloads = json.loads((SERIES / "aa_processes.json").read_text())["workloads"]
    for name, processes in workloads.items():
        found[name] = [statistics.median(each) for each in processes]
    for process in json.loads((SERIES / "aa_control_ratio.json").read_text())["processes"]:
        for name in ("mm", "ew"):
            for clock, place in (("wall", 0), ("cpu", 1)):
                value = statistics.median(one[place] for one in process[name])
                found.setdefault(f"{name} {clock}", []).append(value)
    return found


def interleaved(values: Sequence[float], replicas: int) -> Iterator[tuple[Side, Side]]:
    """Every window of ``2 * replicas`` neighbours as two sides in turns: A B B A A B B A ..."""
    order = [place for place in range(2 * replicas) if place % 4 in (0, 3)]
    other = [place for place in range(2 * replicas) if place % 4 in (1, 2)]
    for start in range(len(values) - 2 * replicas + 1):
        window = values[start : start + 2 * replicas]
        yield tuple(window[place] for place in order), tuple(window[place] for place in other)
