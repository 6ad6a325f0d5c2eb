"""The memory probe: peak memory of steady calls over what the process holds between them, one mode a process."""

from __future__ import annotations

import ctypes
import gc
from typing import Any, Final

from evaluator.worker import calling, processes
from evaluator.worker.session import WORKLOAD_ERRORS, ProbeSession

_WARM_CALLS: Final = 3
_MEASURED_CALLS: Final = 5


def run(session: ProbeSession) -> None:
    """Measure ``eager.host_peak_mb`` or ``compiled.host_peak_mb`` of the session's only bucket."""
    (bucket,) = session.buckets
    mode = session.request["mode"]
    metric = f"{mode}.host_peak_mb"
    stage = "build"
    try:
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
        resident = processes.memory_mb("VmRSS")
        processes.reset_peak()
        for made in inputs:
            _call(session, fn, made)
        growth = processes.memory_mb("VmHWM") - resident
    except WORKLOAD_ERRORS as error:
        failed = [{"metric": metric, "round": None, "value": None, "flags": ["failed"]}]
        session.failure(bucket, error, stage, samples=failed)
        return
    session.result(bucket, samples=[{"metric": metric, "round": None, "value": growth, "flags": []}])


def _call(session: ProbeSession, fn: Any, inputs: tuple[tuple[Any, ...], dict[str, Any]]) -> None:
    args, kwargs = inputs
    calling.call(session.workload, fn, args, kwargs, seed=session.seed, target=session.target)
