"""The rounds of a timing: batches of both sides in turns, and the samples they leave."""

from __future__ import annotations

import contextlib
import gc
import statistics
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from evaluator.worker.intervals import Interval, Timer
from evaluator.worker.protocol import Sample
from evaluator.worker.sides import Inputs, Side
from evaluator.worker.walked import CompileCount

# metric of a round -> the part of an interval that it is.
_PARTS: Final = {"wall_ms": "wall_s", "cpu_ms": "cpu_s", "host_ms": "host_s", "stream_ms": "stream_s"}
# Those that only a device has which goes on after a call returned.
DEVICE_PARTS: Final = ("host_ms", "stream_ms")
VOID: Final = "compiled_in_region"
# A process whose middle half of rounds spreads over more than this part of their median tells little by it.
_NOISY_SPREAD: Final = 0.2
_LEAST_ROUNDS_TO_JUDGE: Final = 4

# How a device is at one moment.
State = Mapping[str, Any]


@dataclass(frozen=True)
class Qualities:
    """What qualifies all rounds of a side: flags by metric, and why there is no number of some metrics."""

    flags: Mapping[str, Sequence[str]] = field(default_factory=dict)
    missing: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Rounds:
    """How rounds are made: ``repeats`` calls in each, on inputs of their own where calls change them (``mutates``).

    ``state`` tells how the device is before and after each, outside every clock; ``judge`` says in words what of that
    qualifies the round.
    """

    timer: Timer
    count: CompileCount
    repeats: int
    mutates: bool
    state: Callable[[], State] = dict
    judge: Callable[[State, State], Sequence[str]] = lambda before, after: ()

    def inputs(self, side: Side) -> list[Inputs]:
        """What one batch of a side is called with, made outside every clock."""
        return [side.fresh() for _ in range(self.repeats)] if self.mutates else [side.held] * self.repeats

    def measure(self, sides: Sequence[Side], rounds: int, qualities: Mapping[str, Qualities]) -> list[Sample]:
        """The samples of all rounds; ``qualities`` by mode."""
        samples: list[Sample] = []
        for number, side in turns(sides, range(rounds)):
            inputs = self.inputs(side)
            with no_collection(), self.observed() as flags:
                interval = side.batch(self.timer, inputs)
            samples += self._samples(side.mode, number, interval, qualities[side.mode], flags)
        for side in sides:
            samples += missing((side.mode,), qualities[side.mode].missing)
        return _noise_marked(samples, [side.mode for side in sides])

    @contextlib.contextmanager
    def observed(self) -> Iterator[list[str]]:
        """Words that qualify what runs inside, there once it is over: VOID where something compiled, and what the device's
        state before and after says."""
        flags: list[str] = []
        compiles, before = self.count.total, self.state()
        yield flags
        if self.count.total != compiles:
            flags.append(VOID)
        flags.extend(self.judge(before, self.state()))

    def warm(self, side: Side, seconds: float) -> None:
        """Batches back to back until the device has worked for so long: calls one by one leave it idle in between, and
        its clock low."""
        spent = 0.0
        while spent < seconds:
            spent += side.batch(self.timer, self.inputs(side)).wall_s

    def _samples(
        self, mode: str, number: int, interval: Interval, quality: Qualities, flags: Sequence[str]
    ) -> list[Sample]:
        """What a round leaves."""
        return [
            sample(
                f"{mode}.{name}",
                number,
                getattr(interval, part) * 1e3 / self.repeats,
                [*flags, *interval.flags, *quality.flags.get(name, ())],
            )
            for name, part in _PARTS.items()
            if name not in quality.missing
        ]


def turns(sides: Sequence[Side], numbers: Iterable[int]) -> Iterator[tuple[int, Side]]:
    """Each side once for each number. The order turns, so that a drift of the machine meets both sides alike."""
    for number in numbers:
        for side in sides if number % 2 == 0 else reversed(sides):
            yield number, side


def sample(metric: str, number: int, value: float, flags: Sequence[str]) -> Sample:
    """One number of a round. What compiled meanwhile measured the compiler, and has none."""
    return {"metric": metric, "round": number, "value": None if VOID in flags else value, "flags": [*flags]}


@contextlib.contextmanager
def no_collection() -> Iterator[None]:
    """Garbage is collected before, and not inside."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def missing(modes: Sequence[str], why: Mapping[str, str]) -> list[Sample]:
    """Samples without a value for what was not measured at all: ``why`` names the flag of each metric."""
    return [
        {"metric": f"{mode}.{name}", "round": None, "value": None, "flags": [flag]}
        for mode in modes
        for name, flag in why.items()
    ]


def nothing(modes: Sequence[str], flag: str) -> list[Sample]:
    """No number of any metric of a round."""
    return missing(modes, dict.fromkeys(_PARTS, flag))


def _noise_marked(samples: list[Sample], modes: Sequence[str]) -> list[Sample]:
    noisy = [mode for mode in modes if _is_noisy(samples, mode)]
    for sample in samples:
        if sample["metric"].partition(".")[0] in noisy and sample["value"] is not None:
            sample["flags"] = [*sample["flags"], "noisy"]
    return samples


def _is_noisy(samples: list[Sample], mode: str) -> bool:
    """Whether the rounds' wall times of a mode spread widely: another process took its turns among them."""
    values = [s["value"] for s in samples if s["metric"] == f"{mode}.wall_ms" and s["value"] is not None]
    if len(values) < _LEAST_ROUNDS_TO_JUDGE:
        return False
    lower, middle, upper = statistics.quantiles(values, n=4)
    return upper - lower > _NOISY_SPREAD * middle
