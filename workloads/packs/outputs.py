"""Results that are no single float tensor: trees, integers, nothing, complex numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import torch

from workloads.registry import Target, workload

WIDTH = 44


class Scored(NamedTuple):
    """Scores with where the best of each row is."""

    scores: torch.Tensor
    best: torch.Tensor


def tree(x: torch.Tensor) -> dict[str, Any]:
    scores = torch.softmax(x, dim=-1)
    found = Scored(scores, scores.argmax(dim=-1))
    return {"found": found, "nothing": None, "rows": x.shape[0], "parts": [x.mean(), (x > 0).any(dim=-1)]}


def counted(values: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    order = torch.argsort(values, dim=-1, stable=True)
    return order, (values.to(torch.uint8) + 200)


def spectrum(x: torch.Tensor) -> torch.Tensor:
    return torch.fft.rfft(x * torch.hann_window(WIDTH, device=x.device)).abs().log1p()


def rows_of(bucket: dict[str, Any], target: Target) -> tuple[tuple[Any, ...], dict[str, Any]]:
    return (torch.randn(bucket["rows"], WIDTH, device=target.device),), {}


def whole_numbers(bucket: dict[str, Any], target: Target) -> tuple[tuple[Any, ...], dict[str, Any]]:
    return (torch.randint(0, 250, (bucket["rows"], WIDTH), device=target.device),), {}


@workload(
    "outputs.tree",
    stands_for="a model's output object: a named tuple in a dict beside None, a number and a list",
    inputs=rows_of,
    buckets=[{"rows": 21}, {"rows": 63}, {"rows": 105}],
    tags=("standard", "dynamic"),
)
def build_tree(target: Target) -> Callable[..., Any]:
    return tree


@workload(
    "outputs.integers",
    stands_for="orders and bytes that wrap around: whole numbers that must agree exactly",
    inputs=whole_numbers,
    buckets=[{"rows": 23}, {"rows": 69}, {"rows": 115}],
    tags=("dynamic",),
)
def build_integers(target: Target) -> Callable[..., Any]:
    return counted


@workload(
    "outputs.spectrum",
    stands_for="a spectrogram: a complex library call between operators that can be fused",
    inputs=rows_of,
    buckets=[{"rows": 25}, {"rows": 75}, {"rows": 125}],
    tags=("standard", "dynamic"),
)
def build_spectrum(target: Target) -> Callable[..., Any]:
    return spectrum
