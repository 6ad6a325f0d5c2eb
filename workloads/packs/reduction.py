"""Reductions along a row, where the compiler decides how a sum is split."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F

from workloads.registry import Bucket, Target, workload

ROWS = 96


def softmax_sum(scores: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
    return (torch.softmax(scores, dim=-1) * values).sum(dim=-1)


def token_loss(logits: torch.Tensor, wanted: torch.Tensor) -> torch.Tensor:
    return F.cross_entropy(logits, wanted)


def running_mean(x: torch.Tensor) -> torch.Tensor:
    steps = torch.arange(1, x.shape[-1] + 1, device=x.device)
    return torch.cumsum(x, dim=-1) / steps


def moments(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    variance, mean = torch.var_mean(x, dim=0)
    return mean, torch.rsqrt(variance + 1e-5)


def best_of(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    values, places = torch.topk(x, 4, dim=-1)
    return torch.softmax(values, dim=-1), places


def total(x: torch.Tensor) -> torch.Tensor:
    return (x * x).sum()


def inputs(bucket: dict[str, Any], target: Target) -> tuple[tuple[Any, ...], dict[str, Any]]:
    shape = (ROWS, bucket["width"])
    return (torch.randn(shape, device=target.device), torch.randn(shape, device=target.device)), {}


def token_inputs(bucket: dict[str, Any], target: Target) -> tuple[tuple[Any, ...], dict[str, Any]]:
    words = bucket["words"]
    logits = torch.randn(ROWS, words, device=target.device)
    return (logits, torch.randint(words, (ROWS,), device=target.device)), {}


def one_input(bucket: dict[str, Any], target: Target) -> tuple[tuple[Any, ...], dict[str, Any]]:
    return (torch.randn(ROWS, bucket["width"], device=target.device),), {}


@workload(
    "reduction.softmax_sum",
    stands_for="weighted averages: a softmax and the sum it weighs, three passes over a row that can share one",
    inputs=inputs,
    buckets=[{"width": 256}, {"width": 2048}, {"width": 700}, Bucket.of({"width": 131072}, requires="gpu")],
    tags=("smoke", "standard", "dynamic"),
)
def build(target: Target) -> Callable[..., Any]:
    return softmax_sum


@workload(
    "reduction.cross_entropy",
    stands_for="the loss over a vocabulary: an online softmax and a gather that need not write the probabilities",
    inputs=token_inputs,
    buckets=[{"words": 500}, {"words": 2000}, {"words": 8000}, Bucket.of({"words": 128256}, requires="gpu")],
    tags=("standard", "dynamic"),
)
def build_cross_entropy(target: Target) -> Callable[..., Any]:
    return token_loss


@workload(
    "reduction.running_mean",
    stands_for="a scan along a row, which only some backends have a kernel for",
    inputs=one_input,
    buckets=[{"width": 128}, {"width": 1500}, {"width": 400}],
    tags=("standard", "dynamic"),
)
def build_running_mean(target: Target) -> Callable[..., Any]:
    return running_mean


@workload(
    "reduction.moments",
    stands_for="column statistics of a batch: a reduction over the outer dimension, two results of one pass",
    inputs=one_input,
    buckets=[{"width": 200}, {"width": 1200}, {"width": 500}],
    tags=("dynamic",),
)
def build_moments(target: Target) -> Callable[..., Any]:
    return moments


@workload(
    "reduction.top_k",
    stands_for="routing and sampling: the best few of a row with their places, which a library call finds",
    inputs=one_input,
    buckets=[{"width": 150}, {"width": 900}, {"width": 400}],
    tags=("dynamic",),
)
def build_top_k(target: Target) -> Callable[..., Any]:
    return best_of


@workload(
    "reduction.total",
    stands_for="one number out of a whole tensor, as norms of gradients are: how a long sum is split",
    inputs=one_input,
    buckets=[{"width": 100}, {"width": 6000}, {"width": 1700}],
    tags=("dynamic",),
)
def build_total(target: Target) -> Callable[..., Any]:
    return total
