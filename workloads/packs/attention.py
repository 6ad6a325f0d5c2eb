"""Attention, which the compiler leaves to the fused operator or decomposes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F

from workloads.registry import Target, workload

# No length equals the head width, or `dynamic=True` would take the two sizes for one and compile again.
BATCH, HEADS, HEAD_WIDTH = 2, 4, 64


def causal_attention(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
    return F.scaled_dot_product_attention(query, key, value, is_causal=True)


def inputs(bucket: dict[str, Any], target: Target) -> tuple[tuple[Any, ...], dict[str, Any]]:
    shape = (BATCH, HEADS, bucket["seq"], HEAD_WIDTH)
    return tuple(torch.randn(shape, device=target.device) for _ in range(3)), {}


@workload(
    "attention.sdpa",
    stands_for="causal attention through scaled_dot_product_attention: which kernel a version picks, by length",
    inputs=inputs,
    buckets=[{"seq": 32}, {"seq": 128}, {"seq": 512}],
    tags=("standard", "dynamic"),
)
def build(target: Target) -> Callable[..., Any]:
    return causal_attention
