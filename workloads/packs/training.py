"""Training steps: the forward graph, the loss, and the backward graph that is traced with it."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

from workloads.registry import Target, workload

WIDTH = 64


class MlpLoss(nn.Module):
    """A two-layer perceptron and its loss, so that what is compiled ends in the scalar that training needs."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH))

    def forward(self, x: torch.Tensor, wanted: torch.Tensor) -> torch.Tensor:
        return F.mse_loss(self.layers(x), wanted)


def inputs(bucket: dict[str, Any], target: Target) -> tuple[tuple[Any, ...], dict[str, Any]]:
    shape = (bucket["batch"], WIDTH)
    return (torch.randn(shape, device=target.device), torch.randn(shape, device=target.device)), {}


@workload(
    "training.mlp_step",
    stands_for="one training step of a feed-forward block: forward, loss and the compiled backward",
    inputs=inputs,
    buckets=[{"batch": 32}, {"batch": 128}],
    training=True,
    tags=("standard", "training", "dynamic"),
)
def build(target: Target) -> nn.Module:
    return MlpLoss().to(target.device).train()
