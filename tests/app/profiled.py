"""Databases of cells whose runs were profiled: traces made by hand, and what the evaluator's own reader says of them.

Nothing of them ran on a GPU. A batch is two calls. Eager, a call launches three kernels of 10 µs and a copy of 4; compiled, one
Triton kernel of 12 and one of cuBLAS of 20, each right after the other.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from db.store import Store
from evaluator.control.attempts import Attempt, Settled
from evaluator.control.probe_records import collect, merged, probe_record
from evaluator.worker.protocol import MODES, PROFILED_REGION
from tests.app import seed
from tests.app.records import MadeRun, MadeWorkload, Record
from tests.app.upgrades import MadeUpgrade
from tests.evaluator.chrome_trace.made import Event, copy, event, kernel, launch, operator, region, written

CALLS = 2
ADD = "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>>(int)"
MUL = "void at::native::vectorized_elementwise_kernel<4, at::native::MulFunctor<float>>(int)"
SILU = "void at::native::vectorized_elementwise_kernel<4, at::native::silu_kernel>(int)"
GEMM = "ampere_sgemm_128x64_tn"
FUSED, UNUSED = "triton_poi_fused_add_mul_silu_0", "triton_red_fused_sum_1"
HOSTILE = "<img src=x onerror=alert(1)> **k** `t` $x$ [l](http://evil.example)"
SYNC = {
    "file": "loop.py",
    "line": 12,
    "function": "forward",
    "times": 1,
    "through": "torch/_tensor.py:1100 in __contains__",
}


def _kernel(name: str, **changes: Any) -> Record:
    source = f"@triton.jit\ndef {name}(in_ptr0, out_ptr0): pass\n"
    known = {"kind": "triton", "form": "pointwise", "graph": "0/0", "origin": "inference"}
    return {"name": name, "source": source, **known, **changes}


GENERATED = (_kernel(FUSED), _kernel(UNUSED, form="reduction"))
GATE = MadeWorkload("point.gate", (("n=512", {"n": 512}),), kernels=GENERATED, target="cuda")
ON_CPU = MadeWorkload("point.host", (("n=512", {"n": 512}),), kernels=(_kernel(FUSED),), target="cpu")


def batch(*names: str, time: float = 10, copies: bool = False) -> tuple[Event, ...]:
    """Two calls that launch these kernels in one stream, 50 µs after one another; each runs from 4 µs after its launch on."""
    found: list[Event] = []
    for number, name in enumerate([*names] * CALLS):
        begun = 10 + 50 * number
        found += [operator("aten::op", begun - 2, begun + 4), launch(number + 1, begun, begun + 2)]
        found.append(
            kernel(number + 1, begun + 4, begun + 4 + time, name=name)
            | {"args": {"device": 0, "stream": 7, "correlation": number + 1, "registers per thread": 22}}
        )
        if copies and name == names[0]:
            found += [
                launch(100 + number, begun + 20, begun + 22, name="cudaMemcpyAsync"),
                copy(100 + number, begun + 24, begun + 28),
            ]
    end = 10 + 50 * CALLS * len(names)
    wait = event("cuda_runtime", "cudaDeviceSynchronize", end + 5, end + 20, correlation=999)
    return (region(PROFILED_REGION, 0, end), *found, wait)


EAGER = batch(ADD, MUL, SILU, copies=True)
COMPILED = (*batch(FUSED, GEMM, time=16), operator("Torch-Compiled Region: 0/0", 5, 100))
MORE = (*batch(FUSED, GEMM, HOSTILE, time=16), operator("Torch-Compiled Region: 0/0", 5, 100))
HOST_ONLY = (region(PROFILED_REGION, 0, 90), operator("aten::mm", 5, 45), operator("aten::mm", 50, 80))


def profile(
    run: str, evaluation: str, traces: dict[str, tuple[Event, ...]], **facts: Any
) -> Iterable[Record]:
    """The records of a profile probe that left these traces, by mode; ``facts`` of the compiled mode."""
    on_device = any(one["cat"] == "kernel" for events in traces.values() for one in events)
    known = {"sync_points": [], "sync_reason": None}
    if not on_device:
        known = {
            "sync_points": None,
            "sync_reason": "the host does the work itself: there is no device to wait for",
        }
    found: list[Record] = []
    for mode in MODES:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            (folder / "0.json").write_bytes(written(*traces[mode]))
            attempt = Attempt(log=folder / "log", limits={}, profile_folder=folder)
            said = {"calls": CALLS, "file": "0.json", "problem": None, "compiles_in_batch": 0, **known}
            if mode == "compiled":
                said |= {"launchers": {FUSED: {"registers": 22, "spills": 6}}, **facts}
            result = {"probe": "profile", "bucket": "n=512", "status": "ok", "facts": {mode: said}}
            attempt.results = {("profile", "n=512"): result}
            attempt.started_at = "2026-03-02T21:20:00+00:00"
            files = collect([attempt], (), False, on_device)
        yield from files.artifacts.values()
        found.append(probe_record(run, evaluation, (0, "profile", None), Settled(result, attempt), files))
    yield merged(*found)


def with_profiles(
    records: Iterable[Record], traces: dict[str, tuple[Event, ...]], **facts: Any
) -> Iterable[Record]:
    """These records, each first walk followed by a profile."""
    for record in records:
        yield record
        if record.get("type") == "probe" and record["probe"] == "walk" and record["replica"] == 0:
            yield from profile(record["run"], record["evaluation"], traces, **facts)


def _write(path: Path, records: Iterable[Record]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    store = Store(str(path))
    store.write_many(list(records))
    store.close()
    return path


def _run(torch: str, number: int) -> MadeRun:
    return MadeRun(torch, number, None, "quick", 1, fields={"gpu": "NVIDIA H100", "capability": "9.0"})


def alone(path: Path) -> Path:
    """One profiled cell of a target with a device: one kernel never launched, and one place that waits."""
    records = _run("2.14.1+cu130", 0).records([GATE])
    return _write(path, with_profiles(records, {"eager": EAGER, "compiled": COMPILED}, sync_points=[SYNC]))


def pair(path: Path, workloads: Sequence[MadeWorkload] = (GATE,)) -> Path:
    """The same cell on two sides; the candidate launches one kernel more, with a hostile name."""
    both = MadeUpgrade(_run("2.13.0+cu130", 10), _run("2.14.1+cu130", 11))
    hashes = {both.candidate.hash}
    evaluations = {
        one["uuid"]
        for one in both.records(workloads, workloads)
        if one["type"] == "evaluation" and one["environment"] in hashes
    }

    def made() -> Iterable[Record]:
        for record in both.records(workloads, workloads):
            yield record
            if record.get("type") == "probe" and record["probe"] == "walk":
                more = record["evaluation"] in evaluations
                traces = {"eager": EAGER, "compiled": MORE if more else COMPILED}
                yield from profile(record["run"], record["evaluation"], traces)

    return _write(path, made())


def on_cpu(path: Path) -> Path:
    """A profiled cell of the CPU: operators, and no kernels."""
    records = _run("2.14.1+cpu", 0).records([ON_CPU])
    compiled = (*HOST_ONLY, operator("Torch-Compiled Region: 0/0", 4, 85))
    return _write(path, with_profiles(records, {"eager": HOST_ONLY, "compiled": compiled}))


def eager_throughout(path: Path) -> Path:
    """What was to be compiled ran eager, something compiled in its batch, and a launch lost its work."""
    broken = (*EAGER, launch(500, 300, 302))
    records = _run("2.14.1+cu130", 0).records([GATE])
    return _write(path, with_profiles(records, {"eager": EAGER, "compiled": broken}, compiles_in_batch=1))


SCENARIOS = {
    "profiled": alone,
    "profiled_pair": pair,
    "profiled_cpu": on_cpu,
    "profiled_eager": eager_throughout,
}
assert seed.SCENARIOS.keys().isdisjoint(SCENARIOS)
