"""Stage 2: our times against those that torch and Triton take of the same calls, and against what is known."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from functools import partial

import torch

from evaluator.worker.targets.cuda.batches import DeviceTimer
from evaluator.worker.targets.cuda.device import CudaDevice, Flush
from tests.gpu.harness import Stage

CALLS, ROUNDS = 50, 7
# A wall holds the wait for the end too, which this many calls make small: 20 us of 10 ms and more.
CALLS_OF_A_WALL, TURNS = 400, 3
SIDE = 1024
# Some ten milliseconds of a GPU's clock.
CYCLES = 20_000_000


def like_against_like(stage: Stage) -> None:
    torch.backends.cuda.matmul.fp32_precision = "ieee"
    a, b = (torch.randn(SIDE, SIDE, device="cuda") for _ in range(2))
    out = torch.empty_like(a)
    multiply = partial(torch.mm, a, b, out=out)
    timer = DeviceTimer(CudaDevice())
    stage.part("the clock's ramp", partial(clock_ramp, stage, timer, multiply))
    with torch.inference_mode():
        stage.part("Timer", partial(against_timer, stage, timer, multiply))
        stage.part("do_bench", partial(against_do_bench, stage, timer, multiply))
        stage.part("do_bench_cudagraph", partial(against_replay, stage, timer, multiply))
    stage.part("a known sleep", partial(known_sleep, stage, timer))
    stage.part("a full queue", partial(full_queue, stage))


def in_turns(ours: Callable[[], float], theirs: Callable[[], float]) -> tuple[float, float]:
    """Medians of both measured in turns: a clock that drifts meanwhile meets both."""
    pairs = [(ours(), theirs()) for _ in range(TURNS)]
    return statistics.median(one for one, _ in pairs), statistics.median(other for _, other in pairs)


def batch(call: Callable[[], None], calls: int) -> None:
    for _ in range(calls):
        call()


def clock_ramp(stage: Stage, timer: DeviceTimer, call: Callable[[], None]) -> None:
    """Batches from the first call on: the clock rises with load, which is what the warm-up is for."""
    # The library's handle and its kernels take longer to load than the clock to rise.
    call()
    torch.cuda.synchronize()
    times = []
    begun = time.perf_counter()
    while time.perf_counter() - begun < 1.0:
        interval = timer.batch(partial(batch, call, CALLS))
        times.append((round(time.perf_counter() - begun, 3), (interval.stream_s or 0.0) / CALLS * 1e3))
    late = statistics.median(ms for at, ms in times if at > 0.5)
    after = [ms for at, ms in times if at > 0.3]
    stage.number("stream_ms of a batch, by seconds since the first", times[:40])
    ratio = statistics.median(after) / late
    stage.check("after 300 ms the clock has risen: medians stay within 5%", ratio < 1.05, ratio)
    worst = max(abs(ms / late - 1) for ms in after)
    stage.number("furthest batch after 300 ms, as part of the median", worst)


def against_timer(stage: Stage, timer: DeviceTimer, call: Callable[[], None]) -> None:
    from torch.utils.benchmark import Timer

    other = Timer("call()", globals={"call": call})

    def ours() -> float:
        walls = [timer.batch(partial(batch, call, CALLS_OF_A_WALL)).wall_s for _ in range(ROUNDS)]
        return statistics.median(walls) / CALLS_OF_A_WALL * 1e3

    def theirs() -> float:
        return float(other.blocked_autorange(min_run_time=0.3).median) * 1e3

    stage.near("wall time of a product, torch.utils.benchmark.Timer", *in_turns(ours, theirs))


def against_do_bench(stage: Stage, timer: DeviceTimer, call: Callable[[], None]) -> None:
    from triton.testing import do_bench

    flush = Flush()
    calls: list[Callable[[], None]] = [call] * CALLS

    def ours() -> float:
        return (
            statistics.median(timer.each(calls, flush).stream_s or 0.0 for _ in range(ROUNDS)) / CALLS * 1e3
        )

    def theirs() -> float:
        return float(do_bench(call, warmup=100, rep=300, return_mode="mean"))

    stage.near("device time with a flushed L2, triton.testing.do_bench", *in_turns(ours, theirs))


def against_replay(stage: Stage, timer: DeviceTimer, call: Callable[[], None]) -> None:
    from triton.testing import do_bench_cudagraph

    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        batch(call, 3)
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        # A replay takes some 10 us to begin, which this many calls make small.
        batch(call, CALLS_OF_A_WALL)
    graph.replay()

    def ours() -> float:
        seconds = statistics.median(timer.batch(graph.replay).stream_s or 0.0 for _ in range(ROUNDS))
        return seconds / CALLS_OF_A_WALL * 1e3

    def theirs() -> float:
        # It makes a stream of its own, beside which the one that is current has to be idle.
        torch.cuda.synchronize()
        return float(do_bench_cudagraph(call, rep=100, return_mode="median"))

    stage.near("device time in a replayed graph, do_bench_cudagraph", *in_turns(ours, theirs))


def known_sleep(stage: Stage, timer: DeviceTimer) -> None:
    """The device busy for a number of its cycles: twice as many take twice as long, and the host does not wait."""
    # torch has no public way to keep a device busy for a known number of cycles.
    timer.batch(partial(torch.cuda._sleep, CYCLES))
    pairs = [
        [timer.batch(partial(torch.cuda._sleep, CYCLES * factor)) for factor in (1, 2)] for _ in range(ROUNDS)
    ]
    once, twice = ([pair[place] for pair in pairs] for place in (0, 1))
    first, second = (statistics.median(one.stream_s or 0.0 for one in of) for of in (once, twice))
    stage.near("a sleep of twice the cycles", second, 2 * first)
    stage.number("clock by the sleep, MHz", CYCLES / first / 1e6)
    submitted = statistics.median(one.host_s or 0.0 for one in twice)
    stage.check("the host returns before the device is done", submitted < 0.1 * second, submitted / second)
    part = min(one.wall_s / (one.stream_s or one.wall_s) for one in twice)
    stage.check("the wall holds the whole of it", part >= 0.99, part)


def full_queue(stage: Stage) -> None:
    """Launches behind a long sleep: how many are taken before submission waits for the device."""
    small = torch.zeros(1, device="cuda")
    torch.cuda.synchronize()
    torch.cuda._sleep(CYCLES * 40)
    seconds = []
    for _ in range(3000):
        begun = time.perf_counter()
        small.add_(1)
        seconds.append(time.perf_counter() - begun)
    torch.cuda.synchronize()
    usual = statistics.median(seconds[:400])
    held = next((place for place, one in enumerate(seconds) if one > max(100 * usual, 0.005)), None)
    stage.number("launches before submission waited", held)
    stage.check("over 500 launches are taken before submission waits", held is None or held > 500, held)
