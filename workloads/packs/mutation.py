"""Code that changes what it was given, keeps state, or returns a view: what the compiler has to keep in order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

from workloads.registry import Target, workload

WIDTH = 56
PLACES = 64


def add_in_place(x: torch.Tensor, step: torch.Tensor) -> torch.Tensor:
    x.add_(step, alpha=0.5)
    return x.square().sum(dim=-1)


def views(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    doubled = x * 2
    return doubled[:, : WIDTH // 2], doubled.t()


def through_a_slice(x: torch.Tensor) -> torch.Tensor:
    y = x.clone()
    y[:, ::2] = torch.sigmoid(y[:, 1::2])
    return y + x


class Cache(nn.Module):
    """One head's keys and values, written at the place that is asked for, then attended to."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("keys", torch.zeros(1, PLACES, WIDTH))
        self.register_buffer("values", torch.zeros(1, PLACES, WIDTH))

    def forward(self, x: torch.Tensor, place: torch.Tensor) -> torch.Tensor:
        self.keys.index_copy_(1, place, torch.tanh(x))
        self.values.index_copy_(1, place, x)
        return F.scaled_dot_product_attention(x, self.keys, self.values)


class Counting(nn.Module):
    """A layer that follows the mean of what it sees in a buffer."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros(WIDTH))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.mean.lerp_(x.mean(dim=0), 0.1)
        return x - self.mean


def two(bucket: dict[str, Any], target: Target) -> tuple[tuple[Any, ...], dict[str, Any]]:
    shape = (bucket["rows"], WIDTH)
    return (torch.randn(shape, device=target.device), torch.randn(shape, device=target.device)), {}


def one(bucket: dict[str, Any], target: Target) -> tuple[tuple[Any, ...], dict[str, Any]]:
    return (torch.randn(bucket["rows"], WIDTH, device=target.device),), {}


def token(bucket: dict[str, Any], target: Target) -> tuple[tuple[Any, ...], dict[str, Any]]:
    x = torch.randn(1, 1, WIDTH, device=target.device)
    return (x, torch.tensor([bucket["place"]], device=target.device)), {}


@workload(
    "mutation.input_in_place",
    stands_for="an argument changed in place, as buffers of a simulation are: the change must reach the caller",
    inputs=two,
    buckets=[{"rows": 20}, {"rows": 70}, {"rows": 130}],
    tags=("standard", "dynamic"),
)
def build_input_in_place(target: Target) -> Callable[..., Any]:
    return add_in_place


@workload(
    "mutation.views_out",
    stands_for="results that are views of one another: what shares memory in eager shares it compiled",
    inputs=one,
    buckets=[{"rows": 18}, {"rows": 66}, {"rows": 130}],
    tags=("dynamic",),
)
def build_views_out(target: Target) -> Callable[..., Any]:
    return views


@workload(
    "mutation.strided_write",
    stands_for="writing every second column of a tensor that is read again: in-place code made functional and back",
    inputs=one,
    buckets=[{"rows": 22}, {"rows": 74}, {"rows": 130}],
    tags=("dynamic",),
)
def build_strided_write(target: Target) -> Callable[..., Any]:
    return through_a_slice


@workload(
    "mutation.kv_cache",
    stands_for="a decoder's cache of static size, written at a place given as a tensor, so that no place compiles again",
    inputs=token,
    buckets=[{"place": 0}, {"place": 1}, {"place": 2}],
    tags=("standard",),
)
def build_kv_cache(target: Target) -> nn.Module:
    return Cache().to(target.device).eval()


@workload(
    "mutation.batch_norm_buffers",
    stands_for="batch norm in train mode: running statistics that every call changes",
    inputs=one,
    buckets=[{"rows": 26}, {"rows": 90}, {"rows": 150}],
    tags=("standard", "dynamic"),
)
def build_batch_norm_buffers(target: Target) -> nn.Module:
    return nn.BatchNorm1d(WIDTH).to(target.device).train()


@workload(
    "mutation.running_mean",
    stands_for="a module's own buffer followed over calls",
    inputs=one,
    buckets=[{"rows": 30}, {"rows": 96}, {"rows": 150}],
    tags=("dynamic",),
)
def build_running_mean(target: Target) -> nn.Module:
    return Counting().to(target.device).eval()
