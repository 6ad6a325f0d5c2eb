"""Python that asks a tensor what to do next: captured, broken up, or turned into an operator of its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from workloads.registry import Target, workload


def by_item(x: torch.Tensor) -> torch.Tensor:
    largest = x.abs().max().item()
    return torch.tanh(x / (largest + 1.0)) * 2


def selected(x: torch.Tensor) -> torch.Tensor:
    return x[x > 0].exp().sum()


def chosen(x: torch.Tensor) -> torch.Tensor:
    return torch.cond(x.sum() > 0, grow, shrink, (x,))


def grow(x: torch.Tensor) -> torch.Tensor:
    return x.sin() + 1


def shrink(x: torch.Tensor) -> torch.Tensor:
    return x.cos() - 1


def stacked(parts: list[torch.Tensor]) -> torch.Tensor:
    kept = []
    for place, part in enumerate(parts):
        kept.append(torch.relu(part) * (place + 1))
    return torch.stack(kept).sum(dim=0)


def until_small(x: torch.Tensor) -> torch.Tensor:
    for _ in range(8):
        x = x * 0.5
        if x.abs().max() < 0.1:
            break
    return x + 1


def square(bucket: dict[str, Any], target: Target) -> tuple[tuple[Any, ...], dict[str, Any]]:
    return (torch.randn(32, 48, device=target.device),), {}


def signed(bucket: dict[str, Any], target: Target) -> tuple[tuple[Any, ...], dict[str, Any]]:
    return (torch.rand(32, 48, device=target.device) * bucket["sign"],), {}


def parts(bucket: dict[str, Any], target: Target) -> tuple[tuple[Any, ...], dict[str, Any]]:
    return ([torch.randn(24, 40, device=target.device) for _ in range(bucket["parts"])],), {}


@workload(
    "control.item",
    stands_for="a scale taken out of a tensor with .item(): a break, or a number that is only known when it runs",
    inputs=square,
    buckets=[{}],
    tags=("standard",),
)
def build_item(target: Target) -> Callable[..., Any]:
    return by_item


@workload(
    "control.boolean_mask",
    stands_for="rows picked by a mask: a result whose size nobody knows before",
    inputs=square,
    buckets=[{}],
    tags=("standard",),
)
def build_boolean_mask(target: Target) -> Callable[..., Any]:
    return selected


@workload(
    "control.cond",
    stands_for="a branch said to the compiler with torch.cond: both sides in one graph, whatever the data",
    inputs=signed,
    buckets=[{"sign": 1}, {"sign": -1}],
    tags=("standard",),
)
def build_cond(target: Target) -> Callable[..., Any]:
    return chosen


@workload(
    "control.list_of_tensors",
    stands_for="features that come as a list of tensors: a loop over it is unrolled, and each length is another program",
    inputs=parts,
    buckets=[{"parts": 3}, {"parts": 5}, {"parts": 2}],
    tags=("dynamic",),
)
def build_list_of_tensors(target: Target) -> Callable[..., Any]:
    return stacked


@workload(
    "control.early_stop",
    stands_for="a solver that looks at its tensor to stop: a break in every turn of a loop",
    inputs=square,
    buckets=[{}],
    tags=("stress",),
)
def build_early_stop(target: Target) -> Callable[..., Any]:
    return until_small
