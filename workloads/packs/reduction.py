"""Reductions along a row, where the compiler decides how a sum is split."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from workloads.registry import Target, workload

ROWS = 96


def softmax_sum(scores: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
    return (torch.softmax(scores, dim=-1) * values).sum(dim=-1)


def inputs(bucket: dict[str, Any], target: Target) -> tuple[tuple[Any, ...], dict[str, Any]]:
    shape = (ROWS, bucket["width"])
    return (torch.randn(shape, device=target.device), torch.randn(shape, device=target.device)), {}


@workload(
    "reduction.softmax_sum",
    stands_for="weighted averages: a softmax and the sum it weighs, three passes over a row that can share one",
    inputs=inputs,
    buckets=[{"width": 256}, {"width": 2048}],
    tags=("smoke", "standard", "dynamic"),
)
def build(target: Target) -> Callable[..., Any]:
    return softmax_sum
