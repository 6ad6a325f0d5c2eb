"""How long a plan takes: from what the same units, or their neighbours, took before, else from stated guesses. Pure."""

from __future__ import annotations

import statistics
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from evaluator.plan import Unit, UnitKind

# Seconds for one bucket where nothing is known yet: about twice what the workloads of this project took on two idle
# cores, since a user's are larger. A guess, and always labelled as one.
GUESS_S: Final[dict[UnitKind, float]] = {
    "compile": 8.0,
    "walk": 8.0,
    "accuracy": 4.0,
    "memory": 4.0,
    "profile": 6.0,
}
GUESS_START_S: Final = 8.0
GUESS_TOOLCHAIN_S: Final = 20.0

# Disk, in MB, likewise: a precompiled C++ header stays for the whole run, caches until nothing needs them, and
# records with their compressed logs stay for good, and so do Chrome traces of both modes where they are recorded.
GUESS_HEADER_MB: Final = 150.0
GUESS_CACHE_MB: Final = 5.0
GUESS_RECORD_MB: Final = 0.2
GUESS_TRACES_MB: Final = 0.5

# Seconds that a probe took for one bucket: (workload, variant, bucket, unit kind).
History = Mapping[tuple[str, str, str, str], float]
# What a figure rests on: the same bucket, other buckets of its workload and variant, or nothing.
Ground = Literal["same", "near", "guess"]


class Figures:
    """What one bucket of a unit takes, by what was recorded of it or else of its neighbours."""

    def __init__(self, history: History) -> None:
        self._same = history
        found: dict[tuple[str, str, str], list[float]] = defaultdict(list)
        for (workload, variant, _, kind), seconds in history.items():
            found[workload, variant, kind].append(seconds)
        self._near = {key: statistics.median(seconds) for key, seconds in found.items()}

    def seconds(self, unit: Unit, bucket: str) -> tuple[float, Ground]:
        """Seconds, and what they rest on: what it took before, what the same unit's other buckets took in the
        median, or the guess for its kind."""
        same = self._same.get((unit.workload, unit.variant, bucket, unit.kind))
        if same is not None:
            return same, "same"
        near = self._near.get((unit.workload, unit.variant, unit.kind))
        return (GUESS_S[unit.kind], "guess") if near is None else (near, "near")


@dataclass(frozen=True)
class Estimate:
    """``known``, ``near`` and ``guessed``: how many bucket visits each kind of figure stands for."""

    seconds: float
    scratch_mb: float
    results_mb: float
    known: int
    near: int
    guessed: int

    @property
    def basis(self) -> str:
        parts = [
            (self.known, "from earlier runs on this machine"),
            (self.near, "from other buckets of the same workloads"),
            (self.guessed, "a guess"),
        ]
        said = [(count, what) for count, what in parts if count]
        if len(said) > 1:
            total = self.known + self.near + self.guessed
            (first, what), *more = said
            middle = [f"{count} {ground}" for count, ground in more[:-1]]
            return ", ".join([f"{first} of {total} figures {what}", *middle, f"the rest {more[-1][1]}"])
        if not said:
            return "nothing of it can be measured here"
        return "a guess: nothing like it was run on this machine before" if self.guessed else said[0][1]


def estimate(units: Sequence[Unit], environments: int, history: History) -> Estimate:
    """What these units take, with the server starts and toolchains around them."""
    figures = Figures(history)
    starts = len({(unit.environment, unit.replica) for unit in units})
    needs_toolchain = any(unit.kind != "walk" for unit in units)
    seconds = starts * GUESS_START_S + (environments * GUESS_TOOLCHAIN_S if needs_toolchain else 0.0)
    grounds: Counter[Ground] = Counter()
    for unit in units:
        for bucket in unit.buckets:
            spent, ground = figures.seconds(unit, bucket)
            seconds += spent
            grounds[ground] += 1
    cells = len({(unit.environment, unit.workload, unit.variant, b) for unit in units for b in unit.buckets})
    profiled = sum(len(unit.buckets) for unit in units if unit.kind == "profile")
    return Estimate(
        seconds=seconds,
        scratch_mb=environments * GUESS_HEADER_MB * needs_toolchain + _most_folders(units) * GUESS_CACHE_MB,
        results_mb=cells * GUESS_RECORD_MB + profiled * GUESS_TRACES_MB,
        known=grounds["same"],
        near=grounds["near"],
        guessed=grounds["guess"],
    )


def _most_folders(units: Sequence[Unit]) -> int:
    """The largest number of cache folders that exist at one time."""
    held: set[str] = set()
    most = 0
    for unit in units:
        held |= {step.folder for step in unit.steps}
        most = max(most, len(held))
        held -= set(unit.frees)
    return most


def duration(seconds: float) -> str:
    """Seconds as people say them: ``8 s``, ``3 min 20 s``, ``1 h 05 min``."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"
