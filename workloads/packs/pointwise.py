"""Element-wise work, which the compiler fuses into one kernel."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F

from workloads.registry import Target, workload


def silu_gate(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return F.silu(x + y) * (x - y)


def inputs(bucket: dict[str, Any], target: Target) -> tuple[tuple[Any, ...], dict[str, Any]]:
    shape = (bucket["rows"], 512)
    return (torch.randn(shape, device=target.device), torch.randn(shape, device=target.device)), {}


@workload(
    "pointwise.silu_gate",
    stands_for="gated activations: four element-wise operators that should become one kernel",
    inputs=inputs,
    buckets=[{"rows": 128}, {"rows": 512}, {"rows": 2048}],
    tags=("quickstart", "smoke", "standard", "dynamic"),
)
def build(target: Target) -> Callable[..., Any]:
    return silu_gate
