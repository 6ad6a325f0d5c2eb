"""What a change of the arguments costs: a compile each time, or one that covers the rest."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F

from workloads.registry import Target, Variant, workload

# One more than torch compiles of one function before it lets the rest run eager.
STATIC_SIZES = (3, 5, 7, 9, 11, 13, 15, 17, 19)


def refine(x: torch.Tensor, steps: int) -> torch.Tensor:
    # A Python loop over an int argument is unrolled, so each count is another program under every variant.
    for _ in range(steps):
        x = torch.tanh(x * 0.5 + 0.1)
    return x


def gram(x: torch.Tensor) -> torch.Tensor:
    return (x @ x.t()).relu().sum(dim=0)


def scaled(x: torch.Tensor) -> torch.Tensor:
    return torch.sigmoid(x) * x.shape[0]


def padded(x: torch.Tensor) -> torch.Tensor:
    missing = -x.shape[0] % 8
    return F.pad(x, (0, 0, 0, missing)).view(-1, 8, x.shape[1]).mean(dim=1)


def centred(x: torch.Tensor) -> torch.Tensor:
    return x - x.mean(dim=1, keepdim=True)


def where_positive(x: torch.Tensor) -> torch.Tensor:
    return x[torch.nonzero(x[:, 0] > 0).squeeze(1)].sum(dim=0)


def with_steps(bucket: dict[str, Any], target: Target) -> tuple[tuple[Any, ...], dict[str, Any]]:
    return (torch.randn(32, 64, device=target.device), bucket["steps"]), {}


def with_rows(bucket: dict[str, Any], target: Target) -> tuple[tuple[Any, ...], dict[str, Any]]:
    return (torch.randn(bucket["rows"], 64, device=target.device),), {}


def laid_out(bucket: dict[str, Any], target: Target) -> tuple[tuple[Any, ...], dict[str, Any]]:
    x = torch.randn(36, 52, device=target.device)
    return (x if bucket["layout"] == "rows" else x.t().contiguous().t(),), {}


@workload(
    "shapes.recompile_each_bucket",
    stands_for="a step count passed as an int, as samplers and decoders do: each value compiles again",
    inputs=with_steps,
    buckets=[{"steps": 2}, {"steps": 3}, {"steps": 4}],
    tags=("standard",),
)
def build_recompile_each_bucket(target: Target) -> Callable[..., Any]:
    return refine


@workload(
    "shapes.goes_dynamic",
    stands_for="batch sizes that vary as a server sees them: the second compiles dynamic code, the rest reuse it",
    inputs=with_rows,
    buckets=[{"rows": 24}, {"rows": 40}, {"rows": 96}],
    tags=("smoke", "standard", "dynamic"),
)
def build_goes_dynamic(target: Target) -> Callable[..., Any]:
    return gram


@workload(
    "shapes.one_then_many",
    stands_for="a batch of one before larger ones: size 1 is specialised, and dynamic code does not cover it",
    inputs=with_rows,
    buckets=[{"rows": 1}, {"rows": 14}, {"rows": 50}],
    tags=("standard", "dynamic"),
)
def build_one_then_many(target: Target) -> Callable[..., Any]:
    return scaled


@workload(
    "shapes.static_over_the_limit",
    stands_for="batch sizes compiled one by one, dynamic shapes switched off: the ninth runs eager in silence",
    inputs=with_rows,
    buckets=[{"rows": rows} for rows in STATIC_SIZES],
    variants=(Variant("default", {"dynamic": False}),),
    tags=("stress",),
)
def build_static_over_the_limit(target: Target) -> Callable[..., Any]:
    return scaled


@workload(
    "shapes.padded_to_eight",
    stands_for="lengths rounded up in Python: arithmetic on a size that has become a symbol",
    inputs=with_rows,
    buckets=[{"rows": 30}, {"rows": 44}, {"rows": 101}],
    tags=("standard", "dynamic"),
)
def build_padded_to_eight(target: Target) -> Callable[..., Any]:
    return padded


@workload(
    "shapes.other_strides",
    stands_for="one shape laid out in two ways: strides are guarded, and the second layout compiles again",
    inputs=laid_out,
    buckets=[{"layout": "rows"}, {"layout": "columns"}],
    tags=("standard",),
)
def build_other_strides(target: Target) -> Callable[..., Any]:
    return centred


@workload(
    "shapes.size_from_data",
    stands_for="a size that only the data knows: nonzero, then a gather of that many rows",
    inputs=with_rows,
    buckets=[{"rows": 28}, {"rows": 60}],
    tags=("stress",),
)
def build_size_from_data(target: Target) -> Callable[..., Any]:
    return where_positive
