"""Convolutions with what follows them, where folding and memory layout are the compiler's choices."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from workloads.registry import Target, workload


def inputs(bucket: dict[str, Any], target: Target) -> tuple[tuple[Any, ...], dict[str, Any]]:
    return (torch.randn(bucket["batch"], 3, 32, 32, device=target.device),), {}


@workload(
    "conv.conv_bn",
    stands_for="the building block of vision backbones: convolution, batch norm in eval mode, ReLU",
    inputs=inputs,
    buckets=[{"batch": 2}, {"batch": 16}],
    tags=("standard", "dynamic"),
)
def build(target: Target) -> nn.Module:
    block = nn.Sequential(
        nn.Conv2d(3, 16, kernel_size=3, padding=1, bias=False), nn.BatchNorm2d(16), nn.ReLU()
    )
    return block.to(target.device).eval()
