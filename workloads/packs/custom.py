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


def cube_kernel() -> Any:
    """A Triton kernel of the workload's own; made when it is asked for, since not every torch comes with Triton."""
    import triton
    import triton.language as tl

    @triton.jit
    def user_cube(source, goal, count, BLOCK: tl.constexpr):  # type: ignore[no-untyped-def]
        place = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        value = tl.load(source + place, mask=place < count)
        tl.store(goal + place, value * value * value, mask=place < count)

    return user_cube


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


@workload(
    "custom.triton_kernel",
    stands_for="a Triton kernel of one's own inside a compiled function: launched as written, next to generated ones",
    inputs=inputs,
    buckets=[{"rows": 16}, {"rows": 54}],
    requires="gpu",
    libraries=("triton",),
    tags=("gpu",),
)
def build_triton_kernel(target: Target) -> Callable[..., Any]:
    kernel = cube_kernel()

    def cubed(x: torch.Tensor) -> torch.Tensor:
        out = torch.empty_like(x)
        kernel[((x.numel() + 255) // 256,)](x, out, x.numel(), BLOCK=256)
        return torch.sin(out) + x

    return cubed
