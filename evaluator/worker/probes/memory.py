"""The memory probe: peak memory of steady calls over what the process holds between them, one mode a process."""

from __future__ import annotations

import ctypes
import functools
import gc
from typing import Any, Final

import torch

from evaluator.worker import calling, processes
from evaluator.worker.protocol import Sample
from evaluator.worker.session import WORKLOAD_ERRORS, ProbeSession
from evaluator.worker.targets.cuda import starting
from evaluator.worker.targets.cuda.memory import METRIC_NAMES, Steady, TorchAllocator

_WARM_CALLS: Final = 3
_MEASURED_CALLS: Final = 5


def run(session: ProbeSession) -> None:
    """Measure peak host memory of one mode of the session's only bucket, and on a GPU the device's memory too."""
    (bucket,) = session.buckets
    mode = session.request["mode"]
    on_cuda = session.target.device.startswith("cuda")
    device: Steady | None = None
    facts: dict[str, Any] = {}
    stage = "setup"
    try:
        session.stage(stage, bucket)
        if on_cuda:
            device, facts = _device(session, mode)
        stage = "build"
        session.stage(stage, bucket)
        built = session.build()
        fn = session.compile(built) if mode == "compiled" else built
        stage = "compile" if mode == "compiled" else "eager"
        session.stage(stage, bucket)
        for _ in range(_WARM_CALLS):
            _call(session, fn, session.inputs(bucket))
        # Made before the baseline: the inputs' own memory is the caller's, not the call's.
        inputs = [session.inputs(bucket) for _ in range(_MEASURED_CALLS)]
        stage = "call"
        session.stage(stage, bucket)
        gc.collect()
        # Freed blocks that the C library keeps would hide the next call's growth.
        ctypes.CDLL(None).malloc_trim(0)
        held = processes.Growth()
        for number in range(_MEASURED_CALLS):
            if device is None:
                _call(session, fn, inputs[number])
            else:
                # Gone with the call: what stays on the device between calls is then the workload's own.
                device.measure(functools.partial(_call, session, fn, inputs.pop()))
        growth = held.mb()
        flags = ["failed"] if growth is None else []
        samples: list[Sample] = [
            {"metric": f"{mode}.host_peak_mb", "round": None, "value": growth, "flags": flags}
        ]
        if device is not None:
            gc.collect()
            on_device, pools = device.finish()
            samples += on_device
            facts |= pools
    except WORKLOAD_ERRORS as error:
        session.failure(bucket, error, stage, samples=_failed(mode, on_cuda))
        return
    session.result(bucket, samples=samples, facts=facts)


def _device(session: ProbeSession, mode: str) -> tuple[Steady, dict[str, Any]]:
    """The device with its context and the libraries' handles, before anything of the workload is on it."""
    starting.make_context()
    allocator = TorchAllocator()
    empty = allocator.stats()
    ones = [torch.ones(1, device="cuda", dtype=dtype) for dtype in (torch.float32, torch.bfloat16)]
    made = starting.make_handles(ones, training=session.workload.training)
    del ones
    allocator.wait()
    kept = allocator.stats()
    workspace = (kept["allocated_bytes.all.current"] - empty["allocated_bytes.all.current"]) / 1e6
    return Steady(allocator, mode, empty, workspace), {"library_handles": made}


def _failed(mode: str, on_cuda: bool) -> list[Sample]:
    names = ("host_peak_mb", *(METRIC_NAMES if on_cuda else ()))
    return [{"metric": f"{mode}.{name}", "round": None, "value": None, "flags": ["failed"]} for name in names]


def _call(session: ProbeSession, fn: Any, inputs: tuple[tuple[Any, ...], dict[str, Any]]) -> None:
    args, kwargs = inputs
    calling.call(session.workload, fn, args, kwargs, seed=session.seed, target=session.target)
