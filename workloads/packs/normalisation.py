"""Normalisation layers: a reduction and what follows it, over the last dimension."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from workloads.registry import Target, workload

WIDTH = 512


def inputs(bucket: dict[str, Any], target: Target) -> tuple[tuple[Any, ...], dict[str, Any]]:
    return (torch.randn(bucket["rows"], WIDTH, device=target.device),), {}


@workload(
    "normalisation.layer_norm",
    stands_for="the norm before every attention and feed-forward block: mean, variance and scale in one pass",
    inputs=inputs,
    buckets=[{"rows": 64}, {"rows": 1024}],
    tags=("standard", "dynamic"),
)
def build(target: Target) -> nn.Module:
    return nn.LayerNorm(WIDTH).to(target.device).eval()
