"""What a change of the arguments costs: a compile each time, or one that covers the rest."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from workloads.registry import Target, workload


def refine(x: torch.Tensor, steps: int) -> torch.Tensor:
    # A Python loop over an int argument is unrolled, so each count is another program under every variant.
    for _ in range(steps):
        x = torch.tanh(x * 0.5 + 0.1)
    return x


def gram(x: torch.Tensor) -> torch.Tensor:
    return (x @ x.t()).relu().sum(dim=0)


def with_steps(bucket: dict[str, Any], target: Target) -> tuple[tuple[Any, ...], dict[str, Any]]:
    return (torch.randn(32, 64, device=target.device), bucket["steps"]), {}


def with_rows(bucket: dict[str, Any], target: Target) -> tuple[tuple[Any, ...], dict[str, Any]]:
    return (torch.randn(bucket["rows"], 64, device=target.device),), {}


@workload(
    "shapes.recompile_each_bucket",
    stands_for="a step count passed as an int, as samplers and decoders do: each value compiles again",
    inputs=with_steps,
    buckets=[{"steps": 2}, {"steps": 3}, {"steps": 4}],
    tags=("standard",),
)
def build_recompile_each_bucket(target: Target) -> Callable[..., Any]:
    return refine


@workload(
    "shapes.goes_dynamic",
    stands_for="batch sizes that vary as a server sees them: the second compiles dynamic code, the rest reuse it",
    inputs=with_rows,
    buckets=[{"rows": 24}, {"rows": 40}, {"rows": 96}],
    tags=("smoke", "standard", "dynamic"),
)
def build_goes_dynamic(target: Target) -> Callable[..., Any]:
    return gram
