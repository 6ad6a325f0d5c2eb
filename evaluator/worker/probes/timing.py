"""The timing probe: warm steady state of eager and compiled, interleaved, after a completed walk.

Each round is one batch of calls; its numbers are batch means. Nothing is timed that still compiles, and what
ran eager is never given as a compiled time. On a device that works on while the host goes on, a round has three numbers:
`host_ms`, `stream_ms` and `wall_ms`, each by one clock, and what qualifies them stands beside them as flags.
"""

from __future__ import annotations

import gc
import math
import os
import statistics
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import torch

from evaluator.worker import calling, latency
from evaluator.worker.intervals import HostTimer, Timer
from evaluator.worker.precision import in_force
from evaluator.worker.rounds import DEVICE_PARTS, Qualities, Rounds, nothing
from evaluator.worker.session import WORKLOAD_ERRORS, ProbeSession
from evaluator.worker.sides import Side
from evaluator.worker.targets.cuda.batches import DeviceTimer
from evaluator.worker.targets.cuda.device import CudaDevice
from evaluator.worker.targets.cuda.nvml import judged
from evaluator.worker.targets.cuda.steady import device_state, flushed, looked_at
from evaluator.worker.trees import flatten
from evaluator.worker.walked import BucketWalk, CompileCount

if TYPE_CHECKING:
    from workloads.registry import Bucket

# A slow call is not repeated for ever: warm-up ends here even before ten calls, and says how many it made.
_LONGEST_WARMUP_S: Final = 20.0
_LEAST_WARMUP_CALLS: Final = 2
# Below this a single call can't be told from the clock's own step.
_CLOCK_S: Final = 1e-7
# Neither side's round gets longer than this where the other side is much faster.
_LONGEST_ROUND_MS: Final = 500.0
# Mutated inputs need a set of their own for each call, made before the clock; this bounds their memory.
_MOST_FRESH_SETS: Final = 32
_MODES: Final = ("eager", "compiled")
# On CPU the host does the work: there is no submission apart from it and no stream to ask, so NULL.
_WITHOUT_DEVICE: Final = dict.fromkeys(_MODES, Qualities(missing=dict.fromkeys(DEVICE_PARTS, "no_device")))


def run(session: ProbeSession, compiled: Any, walks: list[BucketWalk], count: CompileCount) -> None:
    """Time each walked bucket and report a ``timing`` result for it."""
    unstable = sum(walk.compiles[1] or 0 for walk in walks)
    eager: Any = None
    why = None
    if unstable:
        why = ("unstable", f"no steady state: the second walk compiled {unstable} times")
    elif _launch_blocking(session):
        why = (
            "launch_blocking",
            "CUDA_LAUNCH_BLOCKING is set: every launch waits for its end; unset it to time",
        )
    for walk in walks:
        bucket = walk.bucket
        if why is not None:
            flag, reason = why
            samples = nothing(_MODES, flag)
            session.result(bucket, "not_comparable", "timing", reason=reason, samples=samples)
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
            session.failure(bucket, error, stage, "timing", samples=nothing(_MODES, "failed"))


def _time(session: ProbeSession, walk: BucketWalk, eager: Any, compiled: Any, count: CompileCount) -> None:
    bucket, plan = walk.bucket, session.request["timing"]
    timer = _timer(session)
    with calling.restored_grad_mode():
        sides = [Side(session, bucket, "eager", eager)]
        if walk.regions:
            sides.append(Side(session, bucket, "compiled", compiled))
        warmed = [_warm_up(timer, side, plan) for side in sides]
        repeats = _repeats(session, bucket, plan, [seconds for _, seconds in warmed], bool(walk.mutates))
        rounds = Rounds(timer, count, repeats, bool(walk.mutates))
        qualities, on_device = _WITHOUT_DEVICE, {}
        if isinstance(timer, DeviceTimer):
            state, unread = device_state()
            rounds = replace(rounds, state=state, judge=judged)
            for side in sides:
                rounds.warm(side, plan["warmup_ms"] / 1e3)
            qualities, busy = looked_at(timer, sides, rounds)
            on_device = {"busy": busy, "conditions_unread": unread}
        # What lives now is not looked at again: a collection between rounds would walk torch's whole heap each time.
        gc.collect()
        gc.freeze()
        samples = rounds.measure(sides, plan["rounds"], qualities)
        if isinstance(timer, DeviceTimer):
            samples += flushed(timer, sides, rounds, plan["rounds"], qualities)
        samples += latency.measure(session, bucket, sides, rounds)
    status, reason = "ok", None
    if not walk.regions:
        # What ran was eager's code once more: its time is no compiled time, so there is none.
        samples += nothing(("compiled",), "ran_eager")
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
            "fresh_inputs": bool(walk.mutates),
            "value": "batch mean of one call; a replica's value is the median of its rounds",
            "inputs": _described(*sides[0].held),
            "precision": in_force(),
            "grad": calling.keeps_gradients(session.workload),
            "training": session.workload.training,
            **on_device,
        },
    )


def _timer(session: ProbeSession) -> Timer:
    return DeviceTimer(CudaDevice()) if session.target.device.startswith("cuda") else HostTimer()


def _launch_blocking(session: ProbeSession) -> bool:
    """Whether every launch waits for its end, so that nothing is as it is for users."""
    asked = os.environ.get("CUDA_LAUNCH_BLOCKING", "")
    return session.target.device.startswith("cuda") and asked not in ("", "0")


def _warm_up(timer: Timer, side: Side, plan: dict[str, Any]) -> tuple[int, float]:
    """Call until both floors of the plan are met; (calls made, median seconds of a call).

    The median and not the fastest: beside other processes a usual call may take many times the best one, and the
    rounds would take as many times longer than they should.
    """
    calls: list[float] = []
    begun = time.perf_counter()
    while True:
        calls.append(side.batch(timer, [side.fresh()]).wall_s)
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
