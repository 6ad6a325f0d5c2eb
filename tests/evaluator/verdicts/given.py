"""Evaluations as verdicts are given them, made up: two sides alike unless a test says otherwise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from evaluator.verdicts.sides import (
    AccuracyResult,
    BreakSite,
    CellName,
    EnvironmentSide,
    Failure,
    GuardFailure,
    KernelUse,
    LeafDigest,
    Pair,
    Rung,
    Series,
    Side,
)

BASE_ID, CANDIDATE_ID = 12, 57
RERUN_BASE_ID, RERUN_CANDIDATE_ID = 112, 157

# Five replicas within 0.4% of each other: every effect in these tests is far larger.
STEADY = (9.98, 9.99, 10.0, 10.01, 10.02)
# Eight, as the second stage has them: 99% needs more than four.
STEADY_8 = (9.97, 9.98, 9.99, 10.0, 10.0, 10.01, 10.02, 10.03)

FACTS: Mapping[str, Any] = {
    "graphs": 1,
    "ops": 4,
    "graph_breaks": 0,
    "break_events": 0,
    "compiles": 1,
    "recompiles": 0,
    "recompile_limit_hit": False,
    "ran_eager": "none",
    "second_walk_compiles": 0,
    "backward_graphs": 0,
    "dynamic_symbols": 0,
    "reused_code": False,
    "nothing_compiled": False,
    "guards": 11,
}
# What a process said of itself on one machine under torch 2.13.0 and 2.14.1.
FIELDS: Mapping[str, Any] = {
    "torch": "2.13.0+cpu",
    "torch_git": "cf30153c4c131c8164ee7798e5022d810682e2cb",
    "built_cuda": None,
    "built_hip": None,
    "triton": "3.7.1",
    "python": "3.11.7",
    "python_implementation": "cpython",
    "os": "Linux 6.18.44",
    "libc": "glibc 2.36",
    "compiler": "g++ (Debian 12.2.0-14+deb12u1) 12.2.0",
    "cpu_model": "Intel(R) Xeon(R) Processor",
    "cpu_count": 2,
    "cpu_affinity": 2,
    "cpu_capability": "AVX512",
    "threads": 2,
    "interop_threads": 2,
    "gpu": None,
    "capability": None,
    "driver": None,
    "libraries": {"numpy": "2.4.6", "transformers": "5.24.0"},
    "variables": {},
}
NEXT_TORCH: Mapping[str, Any] = {
    "torch": "2.14.1+cu130",
    "torch_git": "5c4886908584029761b579af026dcfb627c84070",
    "built_cuda": "13.0",
    "triton": "3.8.0",
}


def times(
    metric: str, factor: float = 1.0, values: Sequence[float] = STEADY, flags: Sequence[str] = ()
) -> Series:
    unit = "ms" if metric.endswith("_ms") else "MB" if metric.endswith("_mb") else "s"
    return Series(
        metric, unit, tuple(range(len(values))), tuple(one * factor for one in values), frozenset(flags)
    )


def series(values: Sequence[float] = STEADY, **factors: float) -> dict[str, Series]:
    """A series a metric, each the steady values times a factor; ``compiled__wall_ms`` stands for compiled.wall_ms."""
    named = {name.replace("__", "."): factor for name, factor in factors.items()}
    return {metric: times(metric, factor, values) for metric, factor in named.items()}


def kernel(name: str = "cpp_fused_add_0", body: str | None = "body", **changes: Any) -> KernelUse:
    start: dict[str, Any] = {
        "id": 1,
        "kind": "extern" if body is None else "cpp",
        "source_hash": body,
        "source_sha256": None if body is None else f"text of {body}",
        "graph": "0/0",
        "origin": "inference",
    }
    return KernelUse(name=name, **(start | changes))


def site(**changes: Any) -> BreakSite:
    start: dict[str, Any] = {
        "id": 1,
        "reason": "Call to `torch._dynamo.graph_break()`: User-inserted graph break. Message: None",
        "break_id": "gb0025",
        "file": "pack.py",
        "line": 15,
        "function": "forward",
        "inherited": False,
        "events": 1,
    }
    return BreakSite(**(start | changes))


def guard(**changes: Any) -> GuardFailure:
    start: dict[str, Any] = {
        "id": 1,
        "reason": "tensor 'x' size mismatch at index 0. expected 128, actual 512",
        "guard": "x",
        "file": "pack.py",
        "line": 14,
        "function": "forward",
    }
    return GuardFailure(**(start | changes))


def leaf(sha256: str = "same", sample: Sequence[Any] | None = (1.0, 2.0), **changes: Any) -> LeafDigest:
    start: dict[str, Any] = {"leaf": "out", "dtype": "float32", "shape": (2,)}
    return LeafDigest(**(start | changes), sha256=sha256, sample=None if sample is None else tuple(sample))


def accuracy(verdict: str | None = "pass", *digests: LeafDigest, **changes: Any) -> AccuracyResult:
    start: dict[str, Any] = {
        "reason": None,
        "max_abs": 0.0,
        "rmse_fp64": 1e-8,
        "eager_rmse_fp64": 1e-8,
        "digests": digests or (leaf(),),
    }
    return AccuracyResult(verdict=verdict, **(start | changes))


def side(evaluation: int = BASE_ID, facts: Mapping[str, Any] | None = None, **changes: Any) -> Side:
    """An evaluation that went well: one graph, one kernel, right. ``facts`` are changes of those."""
    start: dict[str, Any] = {
        "uuid": f"u{evaluation}",
        "run": 1,
        "environment": "base",
        "torch": "2.13.0+cpu",
        "machine": "m",
        "status": "ok",
        "reason": None,
        "facts": {**FACTS, **(facts or {})},
        "kernels": (kernel(),),
        "accuracy": accuracy(),
    }
    return Side(evaluation=evaluation, **(start | changes))


def failing(evaluation: int = CANDIDATE_ID, status: str = "compile_error", **changes: Any) -> Side:
    start: dict[str, Any] = {
        "status": status,
        "reason": "compile raised torch._inductor.exc.InductorError",
        "failure": Failure("torch._inductor.exc.InductorError", "LoweringException: no such lowering"),
        "kernels": (),
        "accuracy": None,
    }
    return side(evaluation, **(start | changes))


def candidate(facts: Mapping[str, Any] | None = None, **changes: Any) -> Side:
    return side(CANDIDATE_ID, facts, **({"environment": "candidate", "torch": "2.14.1"} | changes))


def pair(base: Side | None, other: Side | None, workload: str = "pack.work", **changes: Any) -> Pair:
    start: dict[str, Any] = {
        "cell": CellName(workload, "n=4", "default", "cpu"),
        "base_definition": None if base is None else "d",
        "candidate_definition": None if other is None else "d",
        "interleaved": True,
    }
    return Pair(base=base, candidate=other, **(start | changes))


def rung(backend: str, base: Side, other: Side) -> Rung:
    return Rung(backend, base, other)


def environment(
    changes: Mapping[str, Any] | None = None, label: str = "torch", **others: Any
) -> EnvironmentSide:
    start: dict[str, Any] = {"hash": label, "run": 1, "machine": "m"}
    return EnvironmentSide(label=label, fields={**FIELDS, **(changes or {})}, **(start | others))
