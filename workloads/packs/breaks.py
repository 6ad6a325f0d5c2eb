"""Code that does not become one graph, one case by decree and one by its data."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from workloads.registry import Target, workload


def with_break(x: torch.Tensor) -> torch.Tensor:
    hidden = torch.sin(x) + 1
    torch._dynamo.graph_break()
    return hidden * hidden.cos()


def by_sign(x: torch.Tensor) -> torch.Tensor:
    scaled = x * 2
    if scaled.mean() > 0:
        return scaled.exp()
    return scaled.square().neg()


def square(bucket: dict[str, Any], target: Target) -> tuple[tuple[Any, ...], dict[str, Any]]:
    return (torch.randn(64, 64, device=target.device),), {}


def signed(bucket: dict[str, Any], target: Target) -> tuple[tuple[Any, ...], dict[str, Any]]:
    return (torch.rand(64, 64, device=target.device) * bucket["sign"],), {}


@workload(
    "breaks.deliberate",
    stands_for="a call the compiler must leave to Python: one break, two graphs, whatever the version",
    inputs=square,
    buckets=[{}],
    tags=("quickstart", "smoke", "standard"),
)
def build_deliberate(target: Target) -> Callable[..., Any]:
    return with_break


@workload(
    "breaks.data_dependent",
    stands_for="a branch on a tensor's value: a break, and a graph more once the data takes the other way",
    inputs=signed,
    buckets=[{"sign": 1}, {"sign": -1}],
    tags=("standard",),
)
def build_data_dependent(target: Target) -> Callable[..., Any]:
    return by_sign
