"""Table look-ups, bound by memory and by indices only known when the code runs."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from workloads.registry import Target, workload

ROWS, WIDTH = 1000, 64
BAG_LENGTH = 8


def inputs(bucket: dict[str, Any], target: Target) -> tuple[tuple[Any, ...], dict[str, Any]]:
    bags = bucket["bags"]
    indices = torch.randint(ROWS, (bags * BAG_LENGTH,), device=target.device)
    starts = torch.arange(0, bags * BAG_LENGTH, BAG_LENGTH, device=target.device)
    return (indices, starts), {}


@workload(
    "embedding.bag",
    stands_for="the sparse features of a ranking model: many rows of a table, averaged a bag",
    inputs=inputs,
    buckets=[{"bags": 16}, {"bags": 256}, {"bags": 100}],
    tags=("standard", "dynamic"),
)
def build(target: Target) -> nn.Module:
    return nn.EmbeddingBag(ROWS, WIDTH, mode="mean").to(target.device).eval()
