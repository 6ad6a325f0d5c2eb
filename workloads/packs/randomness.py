"""Random numbers in compiled code, which come from another generator than eager's unless told otherwise."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F

from workloads.registry import Target, workload

WIDTH = 80


def dropped(x: torch.Tensor) -> torch.Tensor:
    return F.dropout(torch.relu(x), p=0.2, training=True) * 0.5


def noised(x: torch.Tensor) -> torch.Tensor:
    return x + 0.1 * torch.randn_like(x)


def inputs(bucket: dict[str, Any], target: Target) -> tuple[tuple[Any, ...], dict[str, Any]]:
    return (torch.randn(bucket["rows"], WIDTH, device=target.device),), {}


@workload(
    "randomness.dropout",
    stands_for="dropout where it is on: what is dropped can't be compared, how it is compiled can",
    inputs=inputs,
    buckets=[{"rows": 32}, {"rows": 160}, {"rows": 300}],
    tags=("standard", "dynamic"),
)
def build_dropout(target: Target) -> Callable[..., Any]:
    return dropped


@workload(
    "randomness.noise",
    stands_for="noise of a diffusion step: a tensor of normal numbers made inside the graph",
    inputs=inputs,
    buckets=[{"rows": 34}, {"rows": 170}, {"rows": 300}],
    tags=("dynamic",),
)
def build_noise(target: Target) -> Callable[..., Any]:
    return noised
