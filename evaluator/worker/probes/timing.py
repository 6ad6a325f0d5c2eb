"""The timing probe: warm steady state of eager and compiled, interleaved, after a completed walk.

Each round is one batch of calls; its numbers are batch means. Nothing is timed that still compiles, and what
ran eager is never given as a compiled time.
"""

from __future__ import annotations

import gc
import math
import statistics
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

import torch

from evaluator.worker import calling
from evaluator.worker.protocol import Sample
from evaluator.worker.session import WORKLOAD_ERRORS, ProbeSession
from evaluator.worker.trees import flatten
from evaluator.worker.walked import BucketWalk, CompileCount

if TYPE_CHECKING:
    from workloads.registry import Bucket

Inputs = tuple[tuple[Any, ...], dict[str, Any]]

# A slow call is not repeated for ever: warm-up ends here even before ten calls, and says how many it made.
_LONGEST_WARMUP_S: Final = 20.0
_LEAST_WARMUP_CALLS: Final = 2
# Below this a single call can't be told from the clock's own step.
_CLOCK_S: Final = 1e-7
# Neither side's round gets longer than this where the other side is much faster.
_LONGEST_ROUND_MS: Final = 500.0
# Mutated inputs need a set of their own for each call, made before the clock; this bounds their memory.
_MOST_FRESH_SETS: Final = 32
# A process whose middle half of rounds spreads over more than this part of their median tells little by it.
_NOISY_SPREAD: Final = 0.2
_LEAST_ROUNDS_TO_JUDGE: Final = 4
_MODES: Final = ("eager", "compiled")


class Side:
    """One mode of a bucket: what is called, its inputs, and for training what a step needs besides."""

    def __init__(self, session: ProbeSession, bucket: Bucket, mode: str, fn: Callable[..., Any]) -> None:
        self.mode = mode
        self._session = session
        self._bucket = bucket
        self._fn = fn
        self.held = self.fresh()
        self._trainable: list[torch.Tensor] = []
        self._cotangents: Any = None
        if session.workload.training:
            # Found once, outside every clock: which tensors receive gradients, and what backward begins with.
            self._trainable = calling.trainable_tensors(fn, *self.held)
            self._cotangents = calling.call(
                session.workload, fn, *self.fresh(), seed=session.seed, target=session.target
            ).cotangents

    def fresh(self) -> Inputs:
        """New inputs, the same values every time."""
        return self._session.inputs(self._bucket)

    def batch(self, inputs: list[Inputs]) -> tuple[float, float]:
        """One call for each set of inputs: (wall seconds until all is known done, processor seconds)."""
        workload, target, fn = self._session.workload, self._session.target, self._fn
        trainable, cotangents = self._trainable, self._cotangents
        with calling.grad_mode(workload):
            calling.synchronize(target)
            cpu, wall = time.process_time(), time.perf_counter()
            if workload.training:
                for args, kwargs in inputs:
                    calling.clear_gradients(trainable)
                    calling.backward(fn(*args, **kwargs), cotangents=cotangents)
            else:
                for args, kwargs in inputs:
                    fn(*args, **kwargs)
            calling.synchronize(target)
            return time.perf_counter() - wall, time.process_time() - cpu


def run(session: ProbeSession, compiled: Any, walks: list[BucketWalk], count: CompileCount) -> None:
    """Time each walked bucket and report a ``timing`` result for it."""
    unstable = sum(walk.compiles[1] for walk in walks)
    eager: Any = None
    for walk in walks:
        bucket = walk.bucket
        if unstable:
            session.result(
                bucket,
                "not_comparable",
                "timing",
                reason=f"no steady state: the second walk compiled {unstable} times",
                samples=_empty(_MODES, "unstable"),
            )
            continue
        stage = "build"
        try:
            session.stage(stage, bucket, "timing")
            if eager is None:
                eager = session.build()
            stage = "timing"
            session.stage(stage, bucket, "timing")
            _time(session, walk, eager, compiled, count)
        except WORKLOAD_ERRORS as error:
            session.failure(bucket, error, stage, "timing", samples=_empty(_MODES, "failed"))


def _time(session: ProbeSession, walk: BucketWalk, eager: Any, compiled: Any, count: CompileCount) -> None:
    bucket, plan = walk.bucket, session.request["timing"]
    mutates = bool(walk.mutates)
    with calling.restored_grad_mode():
        sides = [Side(session, bucket, "eager", eager)]
        if walk.regions:
            sides.append(Side(session, bucket, "compiled", compiled))
        warmed = [_warm_up(side, plan) for side in sides]
        repeats = _repeats(session, bucket, plan, [seconds for _, seconds in warmed], mutates)
        # What lives now is not looked at again: a collection between rounds would walk torch's whole heap each time.
        gc.collect()
        gc.freeze()
        samples = _rounds(sides, plan["rounds"], repeats, mutates, count)
    noisy = [side.mode for side in sides if _is_noisy(samples, side.mode)]
    for sample in samples:
        if sample["metric"].partition(".")[0] in noisy and sample["value"] is not None:
            sample["flags"] = [*sample["flags"], "noisy"]
    samples += _no_device([side.mode for side in sides])
    status, reason = "ok", None
    if not walk.regions:
        # What ran was eager's code once more: its time is no compiled time, so there is none.
        samples += _empty(("compiled",), "ran_eager")
        status, reason = "not_comparable", "no compiled code ran: the compiled callable ran eager"
    session.result(
        bucket,
        status,
        "timing",
        reason=reason,
        samples=samples,
        timing_protocol={
            "rounds": plan["rounds"],
            "repeats": repeats,
            "warmup": max(calls for calls, _ in warmed),
            "warmup_ms": plan["warmup_ms"],
            "order": "interleaved",
            "fresh_inputs": mutates,
            "value": "batch mean of one call; a replica's value is the median of its rounds",
            "inputs": _described(*sides[0].held),
            "precision": _precision(),
            "grad": calling.keeps_gradients(session.workload),
            "training": session.workload.training,
        },
    )


def _rounds(sides: list[Side], rounds: int, repeats: int, mutates: bool, count: CompileCount) -> list[Sample]:
    samples: list[Sample] = []
    for number in range(rounds):
        # The order turns each round, so that a drift of the machine meets both sides alike.
        for side in sides if number % 2 == 0 else reversed(sides):
            inputs = [side.fresh() for _ in range(repeats)] if mutates else [side.held] * repeats
            before = count.total
            gc.collect()
            gc.disable()
            try:
                wall, cpu = side.batch(inputs)
            finally:
                gc.enable()
            # A round that compiled measured the compiler: void.
            flags = [] if count.total == before else ["compiled_in_region"]
            for name, seconds in (("wall_ms", wall), ("cpu_ms", cpu)):
                value = None if flags else seconds * 1e3 / repeats
                samples.append(
                    {"metric": f"{side.mode}.{name}", "round": number, "value": value, "flags": flags}
                )
    return samples


def _warm_up(side: Side, plan: dict[str, Any]) -> tuple[int, float]:
    """Call until both floors of the plan are met; (calls made, median seconds of a call).

    The median and not the fastest: beside other processes a usual call may take many times the best one, and the
    rounds would take as many times longer than they should.
    """
    calls: list[float] = []
    begun = time.perf_counter()
    while True:
        calls.append(side.batch([side.fresh()])[0])
        spent = time.perf_counter() - begun
        if len(calls) >= plan["warmup_calls"] and spent * 1e3 >= plan["warmup_ms"]:
            return len(calls), statistics.median(calls)
        if spent > _LONGEST_WARMUP_S and len(calls) >= _LEAST_WARMUP_CALLS:
            return len(calls), statistics.median(calls)


def _repeats(
    session: ProbeSession, bucket: Bucket, plan: dict[str, Any], seconds: list[float], mutates: bool
) -> int:
    """Calls a round, the same for both sides: as fixed by the workload or the request, else about ``round_ms``."""
    fixed = (plan.get("repeats") or {}).get(bucket.name) or session.workload.repeats
    if fixed:
        return int(fixed)
    wanted = math.ceil(plan["round_ms"] / 1e3 / max(min(seconds), _CLOCK_S))
    most = max(1, math.floor(_LONGEST_ROUND_MS / 1e3 / max(*seconds, _CLOCK_S)))
    return max(1, min(wanted, most, _MOST_FRESH_SETS if mutates else wanted))


def _is_noisy(samples: list[Sample], mode: str) -> bool:
    """Whether the rounds' wall times of a mode spread widely: another process took its turns among them."""
    rounds = [s["value"] for s in samples if s["metric"] == f"{mode}.wall_ms" and s["value"] is not None]
    if len(rounds) < _LEAST_ROUNDS_TO_JUDGE:
        return False
    lower, middle, upper = statistics.quantiles(rounds, n=4)
    return upper - lower > _NOISY_SPREAD * middle


def _no_device(modes: list[str]) -> list[Sample]:
    """On CPU the host does the work: there is no submission apart from it and no stream to ask, so NULL."""
    return [
        {"metric": f"{mode}.{name}", "round": None, "value": None, "flags": ["no_device"]}
        for mode in modes
        for name in ("host_ms", "stream_ms")
    ]


def _empty(modes: tuple[str, ...], flag: str) -> list[Sample]:
    return [
        {"metric": f"{mode}.{name}", "round": None, "value": None, "flags": [flag]}
        for mode in modes
        for name in ("wall_ms", "cpu_ms", "host_ms", "stream_ms")
    ]


def _described(args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[dict[str, Any]]:
    """What a reader needs to make the same inputs: each tensor's place, dtype, shape, strides and device."""
    return [
        {
            "path": path,
            "dtype": str(tensor.dtype).removeprefix("torch."),
            "shape": list(tensor.shape),
            "stride": list(tensor.stride()) if tensor.layout == torch.strided else None,
            "device": str(tensor.device),
        }
        for path, tensor in [*flatten(args, "args").tensors(), *flatten(kwargs, "kwargs").tensors()]
    ]


def _precision() -> dict[str, str | None]:
    """The float32 precision in force, read back from torch; None where this version has no such setting."""
    places = {
        "matmul": torch.backends.cuda.matmul,
        "cudnn.conv": getattr(torch.backends.cudnn, "conv", None),
        "mkldnn.matmul": getattr(torch.backends.mkldnn, "matmul", None),
        "default": torch.backends,
    }
    return {name: getattr(place, "fp32_precision", None) for name, place in places.items()}
