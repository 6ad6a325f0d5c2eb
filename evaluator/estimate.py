"""How long a plan takes: from what the same units took before, else from stated guesses. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

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


@dataclass(frozen=True)
class Estimate:
    """``known`` and ``guessed``: how many bucket visits each kind of figure stands for."""

    seconds: float
    scratch_mb: float
    results_mb: float
    known: int
    guessed: int

    @property
    def basis(self) -> str:
        if not self.guessed:
            return "from earlier runs on this machine"
        if not self.known:
            return "a guess: nothing like it was run on this machine before"
        return f"{self.known} of {self.known + self.guessed} figures from earlier runs on this machine, the rest a guess"


def estimate(units: Sequence[Unit], environments: int, history: History) -> Estimate:
    """What these units take, with the server starts and toolchains around them."""
    starts = len({(unit.environment, unit.replica) for unit in units})
    needs_toolchain = any(unit.kind != "walk" for unit in units)
    seconds = starts * GUESS_START_S + (environments * GUESS_TOOLCHAIN_S if needs_toolchain else 0.0)
    known = guessed = 0
    for unit in units:
        for bucket in unit.buckets:
            is_known = _key(unit, bucket) in history
            known, guessed = (known + 1, guessed) if is_known else (known, guessed + 1)
            seconds += seconds_of(unit, bucket, history)
    cells = len({(unit.environment, unit.workload, unit.variant, b) for unit in units for b in unit.buckets})
    profiled = sum(len(unit.buckets) for unit in units if unit.kind == "profile")
    return Estimate(
        seconds=seconds,
        scratch_mb=environments * GUESS_HEADER_MB * needs_toolchain + _most_folders(units) * GUESS_CACHE_MB,
        results_mb=cells * GUESS_RECORD_MB + profiled * GUESS_TRACES_MB,
        known=known,
        guessed=guessed,
    )


def seconds_of(unit: Unit, bucket: str, history: History) -> float:
    """What one bucket of a unit takes: what it took before, else the guess for its kind."""
    return history.get(_key(unit, bucket), GUESS_S[unit.kind])


def _key(unit: Unit, bucket: str) -> tuple[str, str, str, str]:
    return (unit.workload, unit.variant, bucket, unit.kind)


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
