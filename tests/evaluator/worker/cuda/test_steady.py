"""What stands beside the numbers of a device's rounds, and the series that a flush makes."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from types import SimpleNamespace
from typing import Any, cast

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode

from evaluator.worker.intervals import Interval, Timer
from evaluator.worker.protocol import Sample
from evaluator.worker.rounds import Qualities, Rounds
from evaluator.worker.sides import Side
from evaluator.worker.targets.cuda import steady
from evaluator.worker.targets.cuda.batches import DeviceTimer, Watched
from evaluator.worker.targets.cuda.device import StreamsUsed
from evaluator.worker.targets.cuda.nvml import judged
from evaluator.worker.targets.cuda.steady import looked_at, qualities
from evaluator.worker.walked import CompileCount
from tests.evaluator.worker.cuda.gpu import Gpu


@dataclass
class Program:
    """A side whose call is what a test says."""

    mode: str
    call: Callable[[], Any]
    streams: Sequence[str] = ()
    held: Any = field(default_factory=lambda: ((), {}))

    def fresh(self) -> Any:
        return self.held

    def ready(self) -> contextlib.AbstractContextManager[None]:
        return contextlib.nullcontext()

    def batch(self, timer: Timer, inputs: Sequence[Any]) -> Interval:
        return timer.batch(partial(self.submit, inputs), self.streams)

    def submit(self, inputs: Sequence[Any]) -> None:
        for _ in inputs:
            self.call()


def rounds(gpu: Gpu, repeats: int) -> tuple[Rounds, SimpleNamespace]:
    count = SimpleNamespace(total=0)
    timer = DeviceTimer(gpu, clock=gpu.clock, cpu_clock=gpu.clock)
    return Rounds(timer, cast(CompileCount, count), repeats, mutates=False), count


def sides(*programs: Program) -> list[Side]:
    return cast(list[Side], list(programs))


def of(samples: list[Sample], metric: str) -> list[tuple[float | None, list[str]]]:
    return [(s["value"], s["flags"]) for s in samples if s["metric"] == metric]


def test_a_round_has_three_numbers_a_call() -> None:
    gpu = Gpu()
    made, _ = rounds(gpu, repeats=10)
    both = sides(
        Program("eager", lambda: gpu.launch(10, 100)), Program("compiled", lambda: gpu.launch(10, 40))
    )
    samples = made.measure(both, 2, dict.fromkeys(("eager", "compiled"), Qualities()))
    # 10 x 10 submitted; 10 until the first begins and 10 x 100 or 10 x 40 of work; microseconds in milliseconds.
    expected = {"host_ms": (0.010, 0.010), "stream_ms": (0.101, 0.041), "wall_ms": (0.101, 0.041)}
    for name, (eager, compiled) in expected.items():
        for mode, value in (("eager", eager), ("compiled", compiled)):
            assert [v for v, _ in of(samples, f"{mode}.{name}")] == [pytest.approx(value)] * 2, name
    assert all(sample["flags"] == [] for sample in samples)


def test_a_flag_stands_beside_the_number_it_is_about() -> None:
    gpu = Gpu()
    made, _ = rounds(gpu, repeats=2)
    program = sides(Program("eager", lambda: gpu.launch(100, 10)))
    found = {"eager": qualities(Watched(host_s=1e-4, wall_s=1.01e-4, submissions=(1e-4, 1e-4)))}
    samples = made.measure(program, 1, found)
    assert {s["metric"]: s["flags"] for s in samples} == {
        "eager.wall_ms": [],
        "eager.cpu_ms": [],
        "eager.host_ms": [],
        "eager.stream_ms": ["host_bound"],
    }
    queued = {"eager": qualities(Watched(1e-4, 2e-4, (1e-4,) * 2, launching=300))}
    samples = made.measure(program, 1, queued)
    assert [s["metric"] for s in samples if s["flags"]] == ["eager.host_ms"]
    assert of(samples, "eager.host_ms")[0][1] == ["queue_full"]


def test_work_on_an_undeclared_stream_leaves_no_stream_time() -> None:
    gpu = Gpu()
    made, _ = rounds(gpu, repeats=2)
    program = sides(Program("eager", lambda: gpu.launch(10, 50, stream="side")))
    found = {"eager": qualities(Watched(1e-5, 2e-5, (1e-5,) * 2, elsewhere=True))}
    samples = made.measure(program, 3, found)
    assert of(samples, "eager.stream_ms") == [(None, ["undeclared_stream"])]
    assert of(samples, "eager.flushed_ms") == [(None, ["undeclared_stream"])]
    # Two calls of 50, the first submitted at 10: nothing of it is left out of the wall.
    assert [value for value, _ in of(samples, "eager.wall_ms")] == [pytest.approx(0.055)] * 3


def test_what_refuses_to_be_looked_at_is_timed_and_says_so() -> None:
    gpu = Gpu()
    made, _ = rounds(gpu, repeats=20)
    looks = iter([ValueError("not under a mode")])

    def call() -> None:
        for refusal in looks:
            raise refusal
        gpu.launch(10, 100)

    program = sides(Program("eager", call))
    assert isinstance(made.timer, DeviceTimer)
    found, _ = looked_at(made.timer, program, made)
    samples = made.measure(program, 1, found)
    assert of(samples, "eager.stream_ms") == [(pytest.approx(0.1005), ["streams_unseen"])]


def test_a_round_on_a_throttled_or_shared_device_keeps_its_number_and_says_so() -> None:
    gpu = Gpu()
    made, _ = rounds(gpu, repeats=1)
    told = iter(
        [
            # Before and after each of three rounds; a counter that moved tells of what neither reading saw.
            {"thermal_violation": 5}, {"thermal_violation": 5},
            {"thermal_violation": 5}, {"thermal_violation": 9},
            {"thermal_violation": 9}, {"thermal_violation": 9, "other_processes": 1},
        ]
    )  # fmt: skip
    made = replace(made, state=lambda: next(told), judge=judged)
    samples = made.measure(sides(Program("eager", lambda: gpu.launch(10, 50))), 3, {"eager": Qualities()})
    for name in ("wall_ms", "stream_ms"):
        assert of(samples, f"eager.{name}") == [
            (pytest.approx(0.060), flags) for flags in ([], ["throttled"], ["shared_gpu"])
        ]


def test_flushed_calls_are_qualified_as_rounds_are(monkeypatch: pytest.MonkeyPatch) -> None:
    gpu = Gpu()
    made, _ = rounds(gpu, repeats=4)
    made = replace(made, state=lambda: {"other_processes": 1}, judge=judged)
    monkeypatch.setattr(steady, "Flush", lambda: lambda: gpu.launch(2, 700))
    assert isinstance(made.timer, DeviceTimer)
    program = sides(Program("eager", lambda: gpu.launch(2, 100)))
    samples = steady.flushed(made.timer, program, made, 2, {"eager": Qualities()})
    assert of(samples, "eager.flushed_ms") == [(pytest.approx(0.100), ["shared_gpu"])] * 2


def test_the_device_is_warmed_by_work_and_not_by_what_lies_between() -> None:
    gpu = Gpu()
    made, _ = rounds(gpu, repeats=10)
    called: list[float] = []

    def call() -> None:
        gpu.launch(10, 100)
        called.append(gpu.now)

    made.warm(sides(Program("eager", call))[0], 3e-3)
    # A batch is 10 + 10 x 100: three of them are 3.03 ms.
    assert len(called) == 30


def test_how_the_device_is_while_it_works_is_kept() -> None:
    gpu = Gpu()
    made, _ = rounds(gpu, repeats=20)
    made = replace(made, state=lambda: {"busy": gpu.busy()})
    assert isinstance(made.timer, DeviceTimer)
    _, busy = looked_at(made.timer, sides(Program("eager", lambda: gpu.launch(10, 100))), made)
    assert busy == {"eager": {"busy": True}}


def test_a_round_that_compiled_has_no_number() -> None:
    gpu = Gpu()
    made, count = rounds(gpu, repeats=1)

    def call() -> None:
        gpu.launch(10, 50)
        count.total += count.total < 1

    samples = made.measure(sides(Program("eager", call)), 2, {"eager": Qualities()})
    for name in ("wall_ms", "host_ms", "stream_ms", "cpu_ms"):
        first, second = of(samples, f"eager.{name}")
        assert first == (None, ["compiled_in_region"])
        assert second[0] is not None and second[1] == []


def test_the_streams_that_operators_work_on_are_seen() -> None:
    device = SimpleNamespace(stream=lambda: here)
    fake = FakeTensorMode()
    x = FakeTensor(fake, torch.empty(4, device="meta"), torch.device("cuda", 0))
    here = "main"
    with fake, StreamsUsed(device, ["main"]) as used:
        y = (x * 2).view(2, 2)
        torch.empty_like(x)
        torch.ones(3)
    # One of these works on the device: a view does nothing, memory alone neither, and the last is the host's.
    assert (used.launching, used.elsewhere) == (1, False)
    with fake, StreamsUsed(device, ["main"]) as used:
        here = "side"
        y + 1
    assert (used.launching, used.elsewhere) == (1, True)
    with fake, StreamsUsed(device, ["main", "side"]) as used:
        y + 1
    assert not used.elsewhere
