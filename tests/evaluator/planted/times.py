"""Workloads for a comparison of times whose sides differ in one declared variable: some get slower with it.

Named after trees so that no name tells what becomes of it. What is slower does more work, rather than sleeping, so
that its share of the whole is the same on a slow machine and on a fast one, on an idle one and on a busy one.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from typing import Any

import torch
from torch._inductor.custom_graph_pass import CustomGraphPass

from workloads.registry import Target, workload

VARIABLE = "COMPILEWATCH_TEST_SEASON"
AUTUMN = os.environ.get(VARIABLE) == "autumn"

# Rounds of a hash in the operator, in a hundredth of its usual work: about a millisecond in all. The rest of a call is
# a fifteenth of that, so that a tenth of the whole is 11 of them.
ROUNDS_A_PERCENT = 30
USUAL, SLOWER = 100, 111

# Rounds of a hash in a pass of the compiler, about a quarter of what the rest of such a compile takes.
COMPILE_ROUNDS = 1_700_000


def spend(rounds: int) -> None:
    """Work for the processor that the compiler does not see."""
    hashlib.pbkdf2_hmac("sha256", b"password", b"salt", rounds)


@torch.library.custom_op("compilewatch_trees::settle", mutates_args=())
def settle(x: torch.Tensor, percent: int) -> torch.Tensor:
    spend(ROUNDS_A_PERCENT * percent)
    return x.clone()


@settle.register_fake
def _(x: torch.Tensor, percent: int) -> torch.Tensor:
    return torch.empty_like(x)


def square(bucket: dict[str, Any], target: Target) -> tuple[tuple[Any, ...], dict[str, Any]]:
    return (torch.randn(16, 32, device=target.device),), {}


def settled(x: torch.Tensor) -> torch.Tensor:
    return settle(torch.relu(x), SLOWER if AUTUMN else USUAL) + 1


def settled_after(x: torch.Tensor) -> torch.Tensor:
    compiling = torch.compiler.is_compiling()
    return settle(torch.sigmoid(x), SLOWER if AUTUMN and compiling else USUAL) * 2


def settled_twice(x: torch.Tensor) -> torch.Tensor:
    return settle(settle(torch.tanh(x), USUAL // 2), USUAL // 2) - 1


def softened(x: torch.Tensor) -> torch.Tensor:
    return torch.softmax(x, dim=-1) * torch.sin(x)


class Look(CustomGraphPass):
    """A pass that changes nothing."""

    def __call__(self, graph: torch.fx.graph.Graph) -> None:
        spend(COMPILE_ROUNDS)

    def uuid(self) -> str:
        # Named, since a pass without a name keeps the graph out of the compiler's caches.
        return "compilewatch-trees-look"


@workload("osier", inputs=square, buckets=[{}], environment=[VARIABLE])
def build_osier(target: Target) -> Callable[..., Any]:
    """An operator of one's own."""
    return settled


@workload("poplar", inputs=square, buckets=[{}], environment=[VARIABLE])
def build_poplar(target: Target) -> Callable[..., Any]:
    """An operator of one's own after an activation."""
    return settled_after


@workload("rowan", inputs=square, buckets=[{}], environment=[VARIABLE])
def build_rowan(target: Target) -> Callable[..., Any]:
    """A softmax that weighs waves."""
    if AUTUMN:
        torch._inductor.config.post_grad_custom_post_pass = Look()
    return softened


@workload("sorrel", inputs=square, buckets=[{}], environment=[VARIABLE])
def build_sorrel(target: Target) -> Callable[..., Any]:
    """An operator of one's own, twice."""
    return settled_twice
