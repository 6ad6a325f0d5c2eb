"""The compile probe: the first call of one bucket alone in a new process, with empty or filled caches.

No trace runs here: it slows compiling. What the compiler tells about itself in process is enough for phases.
"""

from __future__ import annotations

import gc
import resource
import sys
import time
from typing import Any, Final

import torch
from torch._inductor import async_compile

from evaluator.worker import calling, processes
from evaluator.worker.owned import owned_tensors
from evaluator.worker.phases import autotune_s, phase_samples
from evaluator.worker.protocol import Sample
from evaluator.worker.session import WORKLOAD_ERRORS, ProbeSession
from evaluator.worker.targets.cuda import starting
from evaluator.worker.targets.cuda.memory import Rise, TorchAllocator
from evaluator.worker.trees import flatten

_METRICS: Final[dict[str, str]] = {
    "cold": "compile.cold_s",
    "warm": "compile.warm_cache_s",
    "cold_serial": "compile.cold_serial_s",
}


def run(session: ProbeSession) -> None:
    """Measure ``compile.cold_s``, ``compile.warm_cache_s`` or ``compile.cold_serial_s`` of the session's only bucket."""
    (bucket,) = session.buckets
    if session.request.get("cache") == "cold_serial":
        torch._inductor.config.compile_threads = 1
    on_cuda = session.target.device.startswith("cuda")
    cold = session.request.get("cache") == "cold"
    facts: dict[str, Any] = {}
    stage = "setup"
    try:
        session.stage(stage, bucket)
        # Before anything else touches the device, or it would be counted short.
        context_s = starting.make_context() if on_cuda else None
        stage = "build"
        session.stage(stage, bucket)
        compiled = session.compile(session.build())
        stage = "inputs"
        session.stage(stage, bucket)
        args, kwargs = session.inputs(bucket)
        trainable = calling.trainable_tensors(compiled, args, kwargs) if session.workload.training else None
        if on_cuda and session.options.get("backend", "inductor") == "inductor":
            # As the C++ header on a CPU: the toolchain's own, and present in every cold sample.
            facts["triton_driver_s"] = starting.make_triton()
        if on_cuda:
            facts["library_handles"] = starting.make_handles(
                _tensors(compiled, args, kwargs), training=session.workload.training
            )
        modules = len(sys.modules)
        gc.collect()
        growth = processes.Growth()
        stage = "compile"
        session.stage(stage, bucket)
        # What made the inputs may still run on the device, which is waited for.
        rise = Rise(TorchAllocator()) if on_cuda else None
        started = time.perf_counter()
        calling.call(
            session.workload,
            compiled,
            args,
            kwargs,
            seed=session.seed,
            target=session.target,
            trainable=trainable,
        )
        elapsed = time.perf_counter() - started
    except WORKLOAD_ERRORS as error:
        session.failure(bucket, error, stage, samples=_failed(session))
        return
    facts |= _caches()
    facts["late_imports"] = len(sys.modules) - modules
    facts["compiled_graphs"] = _count("stats", "unique_graphs")
    facts["compile_pool"] = _compile_pool()
    flags = _flags(session, facts)
    samples: list[Sample] = [{"metric": _metric(session), "round": None, "value": elapsed, "flags": flags}]
    if cold:
        metrics = torch._dynamo.utils.get_compilation_metrics()
        samples += phase_samples(metrics)
        samples += _memory(growth.mb())
    if cold and rise is not None:
        allocated, reserved = rise.peaks_mb()
        values = {
            "init.cuda_s": context_s,
            "compile.autotune_s": autotune_s(metrics),
            "compile.device_allocated_peak_mb": allocated,
            "compile.device_reserved_peak_mb": reserved,
        }
        samples += [
            {"metric": metric, "round": None, "value": value, "flags": []} for metric, value in values.items()
        ]
    session.result(bucket, samples=samples, facts=facts)


def _metric(session: ProbeSession) -> str:
    return _METRICS[session.request.get("cache") or "warm"]


def _failed(session: ProbeSession) -> list[Sample]:
    return [{"metric": _metric(session), "round": None, "value": None, "flags": ["failed"]}]


def _count(group: str, name: str) -> int:
    return int(torch._dynamo.utils.counters[group][name])


def _caches() -> dict[str, Any]:
    """Hits, misses and bypasses of both caches, from the two counter groups that stay right in one process."""
    found = {}
    for outcome in ("hit", "miss", "bypass"):
        found[f"fx_cache_{outcome}"] = _count("inductor", f"fxgraph_cache_{outcome}")
        found[f"aot_cache_{outcome}"] = _count("aot_autograd", f"autograd_cache_{outcome}")
    return found


def _flags(session: ProbeSession, facts: dict[str, Any]) -> list[str]:
    """What makes this number other than its name says."""
    flags = []
    missed = facts["fx_cache_miss"] + facts["aot_cache_miss"]
    bypassed = facts["fx_cache_bypass"] + facts["aot_cache_bypass"]
    hit = facts["fx_cache_hit"] + facts["aot_cache_hit"]
    if session.request.get("cache") != "warm":
        if hit and not missed:
            flags.append("cache_hit")
    elif missed:
        flags.append("cache_missed")
    elif bypassed:
        flags.append("cache_bypassed")
    if facts["compiled_graphs"] == 0:
        flags.append("nothing_compiled")
    return flags


def _tensors(fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[torch.Tensor]:
    """What a call computes on: what is held, and what is given."""
    owned = owned_tensors(fn)
    given = [*flatten(args).tensors(), *flatten(kwargs).tensors()]
    return [*owned.parameters.values(), *owned.buffers.values(), *(tensor for _, tensor in given)]


def _compile_pool() -> dict[str, Any]:
    """How many threads compile, and whether the pool of processes for Triton kernels was ready before the call ended.

    It starts beside the first compile, and until it is ready kernels compile one after another: on a GPU a cold compile
    is a race with it. None where this torch does not say.
    """
    pool = getattr(async_compile, "AsyncCompile", None)
    ready = getattr(pool, "_ready_future", None)
    threads = getattr(async_compile, "get_compile_threads", None)
    return {
        "threads": None if threads is None else threads(),
        "ready": None if pool is None or not hasattr(pool, "_ready_future") else bool(ready and ready.done()),
    }


def _memory(growth_mb: float | None) -> list[Sample]:
    flags = ["failed"] if growth_mb is None else []
    children = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1e3 * 1.024
    return [
        {"metric": "compile.host_peak_mb", "round": None, "value": growth_mb, "flags": flags},
        {"metric": "compile.children_peak_mb", "round": None, "value": children, "flags": []},
    ]
