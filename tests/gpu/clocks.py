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


def batch(call: Callable[[], None], calls: int) -> None:
    for _ in range(calls):
        call()


def clock_ramp(stage: Stage, timer: DeviceTimer, call: Callable[[], None]) -> None:
    """Batches from the first call on: the clock rises with load, which is what the warm-up is for."""
    times = []
    begun = time.perf_counter()
    while time.perf_counter() - begun < 1.0:
        interval = timer.batch(partial(batch, call, CALLS))
        times.append((round(time.perf_counter() - begun, 3), interval.stream_s / CALLS * 1e3))
    late = statistics.median(ms for at, ms in times if at > 0.5)
    after = [ms for at, ms in times if at > 0.3]
    stage.number("stream_ms of a batch, by seconds since the first", times[:40])
    worst = max(abs(ms / late - 1) for ms in after)
    stage.check(
        "after 300 ms the clock has risen: medians stay within 5%", statistics.median(after) / late < 1.05
    )
    stage.number("furthest batch after 300 ms, as part of the median", worst)


def against_timer(stage: Stage, timer: DeviceTimer, call: Callable[[], None]) -> None:
    from torch.utils.benchmark import Timer

    ours = statistics.median(timer.batch(partial(batch, call, CALLS)).wall_s / CALLS for _ in range(ROUNDS))
    theirs = Timer("call()", globals={"call": call}).blocked_autorange(min_run_time=1.0).median
    stage.near("wall time of a product, torch.utils.benchmark.Timer", ours * 1e3, theirs * 1e3)


def against_do_bench(stage: Stage, timer: DeviceTimer, call: Callable[[], None]) -> None:
    from triton.testing import do_bench

    flush = Flush()
    calls: list[Callable[[], None]] = [call] * CALLS
    ours = statistics.median(timer.each(calls, flush).stream_s / CALLS for _ in range(ROUNDS))
    theirs = do_bench(call, warmup=100, rep=300, return_mode="mean")
    stage.near("device time with a flushed L2, triton.testing.do_bench", ours * 1e3, theirs)


def against_replay(stage: Stage, timer: DeviceTimer, call: Callable[[], None]) -> None:
    from triton.testing import do_bench_cudagraph

    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        batch(call, 3)
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        batch(call, CALLS)
    graph.replay()
    ours = statistics.median(timer.batch(graph.replay).stream_s / CALLS for _ in range(ROUNDS))
    with torch.cuda.stream(torch.cuda.Stream()):
        theirs = do_bench_cudagraph(call, rep=200, return_mode="median")
    stage.near("device time in a replayed graph, do_bench_cudagraph", ours * 1e3, theirs)


def known_sleep(stage: Stage, timer: DeviceTimer) -> None:
    """The device busy for a number of its cycles: twice as many take twice as long, and the host does not wait."""
    # torch has no public way to keep a device busy for a known number of cycles.
    once, twice = (
        [timer.batch(partial(torch.cuda._sleep, CYCLES * factor)) for _ in range(ROUNDS)] for factor in (1, 2)
    )
    first, second = (statistics.median(one.stream_s for one in of) for of in (once, twice))
    stage.near("a sleep of twice the cycles", second, 2 * first)
    stage.number("clock by the sleep, MHz", CYCLES / first / 1e6)
    submitted = statistics.median(one.host_s for one in twice)
    stage.check("the host returns before the device is done", submitted < 0.1 * second, submitted / second)
    stage.check("the wall holds the whole of it", all(one.wall_s >= one.stream_s * 0.99 for one in twice))


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
