"""Matrix products, which the compiler hands to a library unless autotuning finds a template faster."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from workloads.registry import Target, workload

SIZE = 1024
TILE = 8


def product(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    # The call makes its own result, as a model's does. With `out=` the compiler would add a copy into the
    # given buffer that eager doesn't have, and the two would no longer be the same work.
    return torch.mm(a, b)


def inputs(bucket: dict[str, Any], target: Target) -> tuple[tuple[Any, ...], dict[str, Any]]:
    shape = (SIZE, SIZE)
    return (torch.randn(shape, device=target.device), torch.randn(shape, device=target.device)), {}


def check_tile(args: tuple[Any, ...], kwargs: dict[str, Any], output: Any) -> None:
    """The first 8 x 8 tile against the same product in float64; AssertionError where it is off."""
    a, b = args
    exact = a[:TILE].double() @ b[:, :TILE].double()
    torch.testing.assert_close(output[:TILE, :TILE].double(), exact, rtol=1e-4, atol=1e-3)


@workload(
    "matmul.fp32_ieee_1024",
    stands_for="a plain float32 product at full precision: the library call underneath every linear layer",
    inputs=inputs,
    buckets=[{}],
    check=check_tile,
    repeats=50,
    precision="ieee",
    tags=("standard",),
)
def build(target: Target) -> Callable[..., Any]:
    return product
