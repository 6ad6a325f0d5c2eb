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

from evaluator.worker import calling, processes
from evaluator.worker.protocol import Sample
from evaluator.worker.session import WORKLOAD_ERRORS, ProbeSession

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
    stage = "build"
    try:
        session.stage(stage, bucket)
        compiled = session.compile(session.build())
        stage = "inputs"
        session.stage(stage, bucket)
        args, kwargs = session.inputs(bucket)
        trainable = calling.trainable_tensors(compiled, args, kwargs) if session.workload.training else None
        modules = len(sys.modules)
        gc.collect()
        resident = processes.memory_mb("VmRSS")
        processes.reset_peak()
        stage = "compile"
        session.stage(stage, bucket)
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
    facts = _caches()
    facts["late_imports"] = len(sys.modules) - modules
    facts["compiled_graphs"] = _count("stats", "unique_graphs")
    flags = _flags(session, facts)
    samples: list[Sample] = [{"metric": _metric(session), "round": None, "value": elapsed, "flags": flags}]
    if session.request.get("cache") == "cold":
        samples += _phases()
        samples += _memory(resident)
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


def _phases() -> list[Sample]:
    """Seconds of each phase, without the phases it calls, summed over the frames of the call.

    From torch's own compilation metrics: each of its numbers includes the next (Dynamo calls AOTAutograd calls
    Inductor calls the toolchain), all on one clock, so taking one from the next is no mix of clocks. A field that
    a torch version lacks leaves its phase NULL.
    """
    totals: dict[str, float | None] = {}
    for name, field in (
        ("dynamo", "dynamo_cumulative_compile_time_us"),
        ("aot_autograd", "aot_autograd_cumulative_compile_time_us"),
        ("inductor", "inductor_cumulative_compile_time_us"),
        ("toolchain", "triton_compile_time_us"),
        ("backward", "backward_cumulative_compile_time_us"),
    ):
        metrics = torch._dynamo.utils.get_compilation_metrics()
        known = [getattr(one, field) for one in metrics if getattr(one, field, None) is not None]
        totals[name] = sum(known) / 1e6 if known else None
    whole = totals["dynamo"]
    if whole is not None and totals["backward"] is not None:
        # A lazily compiled backward is outside the frame's time, and reaches Inductor by way of AOTAutograd.
        aot = (totals["aot_autograd"] or 0.0) + totals["backward"]
        whole += totals["backward"]
        totals["aot_autograd"] = aot
    exclusive = {
        "compile.dynamo_s": _less(whole, totals["aot_autograd"]),
        "compile.aot_autograd_s": _less(totals["aot_autograd"], totals["inductor"]),
        "compile.inductor_s": _less(totals["inductor"], totals["toolchain"]),
        "compile.toolchain_s": totals["toolchain"],
    }
    return [
        {"metric": metric, "round": None, "value": value, "flags": []} for metric, value in exclusive.items()
    ]


def _less(outer: float | None, inner: float | None) -> float | None:
    if outer is None or inner is None:
        return None
    return outer - inner if outer >= inner else None


def _memory(resident_mb: float) -> list[Sample]:
    growth = processes.memory_mb("VmHWM") - resident_mb
    children = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1e3 * 1.024
    return [
        {"metric": "compile.host_peak_mb", "round": None, "value": growth, "flags": []},
        {"metric": "compile.children_peak_mb", "round": None, "value": children, "flags": []},
    ]
