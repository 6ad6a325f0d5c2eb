"""Operators that are not torch's own: the compiler calls them as they are, or can't."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from workloads.registry import Target, workload

WIDTH = 72


@torch.library.custom_op("compilewatch_packs::wrap", mutates_args=())
def wrap(x: torch.Tensor, period: float) -> torch.Tensor:
    return torch.remainder(x, period)


@wrap.register_fake
def _(x: torch.Tensor, period: float) -> torch.Tensor:
    return torch.empty_like(x)


@torch.library.custom_op("compilewatch_packs::unknown", mutates_args=())
def unknown(x: torch.Tensor) -> torch.Tensor:
    return x.flip(-1)


class Clipped(torch.autograd.Function):
    """A hard limit whose gradient passes as if it were not there."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        return x.clamp(-1, 1)

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> torch.Tensor:
        return gradient


class ClippedLoss(nn.Module):
    """A layer, the limit, and a loss."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(WIDTH, WIDTH)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return Clipped.apply(self.layer(x)).square().mean()


def wrapped(x: torch.Tensor) -> torch.Tensor:
    return torch.sin(wrap(x * 3, 2.5)) + 1


def unknown_inside(x: torch.Tensor) -> torch.Tensor:
    return torch.relu(unknown(x + 1))


def inputs(bucket: dict[str, Any], target: Target) -> tuple[tuple[Any, ...], dict[str, Any]]:
    return (torch.randn(bucket["rows"], WIDTH, device=target.device),), {}


@workload(
    "custom.operator",
    stands_for="an operator of one's own, registered with what its result looks like: one graph, called as it is",
    inputs=inputs,
    buckets=[{"rows": 16}, {"rows": 54}, {"rows": 100}],
    tags=("standard", "dynamic"),
)
def build_operator(target: Target) -> Callable[..., Any]:
    return wrapped


@workload(
    "custom.operator_without_fake",
    stands_for="an operator that never said what its result looks like: eager runs it, compiling must say why it can't",
    inputs=inputs,
    buckets=[{"rows": 16}],
    tags=("stress",),
)
def build_operator_without_fake(target: Target) -> Callable[..., Any]:
    return unknown_inside


@workload(
    "custom.autograd_function",
    stands_for="a gradient written by hand: autograd.Function inside a compiled training step",
    inputs=inputs,
    buckets=[{"rows": 20}, {"rows": 58}, {"rows": 110}],
    training=True,
    tags=("standard", "training", "dynamic"),
)
def build_autograd_function(target: Target) -> nn.Module:
    return ClippedLoss().to(target.device).train()
