"""Element-wise work, which the compiler fuses into one kernel."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F

from workloads.registry import Bucket, Target, workload

WIDTH = 512


def silu_gate(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return F.silu(x + y) * (x - y)


def bias_gelu_residual(x: torch.Tensor, bias: torch.Tensor, residual: torch.Tensor) -> torch.Tensor:
    return F.gelu(x + bias, approximate="tanh") + residual


def quantise(x: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
    return torch.clamp(torch.round(x / scale), -128, 127).to(torch.int8)


def masked_blend(x: torch.Tensor, y: torch.Tensor, keep: torch.Tensor) -> torch.Tensor:
    return torch.where(keep[:, None], torch.tanh(x), y.abs().sqrt())


def inputs(bucket: dict[str, Any], target: Target) -> tuple[tuple[Any, ...], dict[str, Any]]:
    shape = (bucket["rows"], 512)
    return (torch.randn(shape, device=target.device), torch.randn(shape, device=target.device)), {}


def half_inputs(bucket: dict[str, Any], target: Target) -> tuple[tuple[Any, ...], dict[str, Any]]:
    rows = (bucket["rows"], WIDTH)
    sizes = (rows, (WIDTH,), rows)
    return tuple(torch.randn(size, device=target.device).to(torch.bfloat16) for size in sizes), {}


def scaled_inputs(bucket: dict[str, Any], target: Target) -> tuple[tuple[Any, ...], dict[str, Any]]:
    # Halves of the step never come up, so that no rounding mode decides.
    x = torch.randn(bucket["rows"], WIDTH, device=target.device)
    return (x, torch.full((WIDTH,), 0.037, device=target.device)), {}


def blend_inputs(bucket: dict[str, Any], target: Target) -> tuple[tuple[Any, ...], dict[str, Any]]:
    shape = (bucket["rows"], WIDTH)
    keep = torch.rand(bucket["rows"], device=target.device) > 0.5
    return (torch.randn(shape, device=target.device), torch.randn(shape, device=target.device), keep), {}


@workload(
    "pointwise.silu_gate",
    stands_for="gated activations: four element-wise operators that should become one kernel",
    inputs=inputs,
    buckets=[{"rows": 128}, {"rows": 512}, {"rows": 2048}, Bucket.of({"rows": 65536}, requires="gpu")],
    tags=("quickstart", "smoke", "standard", "dynamic"),
)
def build(target: Target) -> Callable[..., Any]:
    return silu_gate


@workload(
    "pointwise.bias_gelu_residual",
    stands_for="the end of a feed-forward block in bfloat16: bias, activation and residual in one pass",
    inputs=half_inputs,
    buckets=[{"rows": 96}, {"rows": 256}, {"rows": 1024}, Bucket.of({"rows": 32768}, requires="gpu")],
    tags=("standard", "dynamic"),
)
def build_bias_gelu_residual(target: Target) -> Callable[..., Any]:
    return bias_gelu_residual


@workload(
    "pointwise.quantise",
    stands_for="quantising activations: division, rounding and a narrow integer type, compared exactly",
    inputs=scaled_inputs,
    buckets=[{"rows": 64}, {"rows": 768}, {"rows": 300}],
    tags=("dynamic",),
)
def build_quantise(target: Target) -> Callable[..., Any]:
    return quantise


@workload(
    "pointwise.masked_blend",
    stands_for="a mask over rows, broadcast into a choice between two expressions of which only one is needed",
    inputs=blend_inputs,
    buckets=[{"rows": 72}, {"rows": 300}, {"rows": 100}],
    tags=("dynamic",),
)
def build_masked_blend(target: Target) -> Callable[..., Any]:
    return masked_blend
