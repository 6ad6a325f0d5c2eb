"""Convolutions with what follows them, where folding and memory layout are the compiler's choices."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

from workloads.registry import Bucket, Target, workload

CHANNELS = 12


class Causal(nn.Module):
    """A convolution along time that sees the past only, with a gate."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv1d(CHANNELS, 2 * CHANNELS, kernel_size=4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        value, gate = self.conv(F.pad(x, (3, 0))).chunk(2, dim=1)
        return torch.tanh(value) * torch.sigmoid(gate)


class Up(nn.Module):
    """Twice the size by interpolation, then a convolution, beside a transposed convolution."""

    def __init__(self) -> None:
        super().__init__()
        self.smooth = nn.Conv2d(CHANNELS, CHANNELS, kernel_size=3, padding=1)
        self.learned = nn.ConvTranspose2d(CHANNELS, CHANNELS, kernel_size=2, stride=2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.smooth(F.interpolate(x, scale_factor=2, mode="nearest")) + self.learned(x)


def inputs(bucket: dict[str, Any], target: Target) -> tuple[tuple[Any, ...], dict[str, Any]]:
    return (torch.randn(bucket["batch"], 3, 32, 32, device=target.device),), {}


def features(bucket: dict[str, Any], target: Target) -> tuple[tuple[Any, ...], dict[str, Any]]:
    return (torch.randn(bucket["batch"], CHANNELS, 16, 16, device=target.device),), {}


def channels_last(bucket: dict[str, Any], target: Target) -> tuple[tuple[Any, ...], dict[str, Any]]:
    x = torch.randn(bucket["batch"], CHANNELS, 16, 16, device=target.device)
    return (x.to(memory_format=torch.channels_last),), {}


def signals(bucket: dict[str, Any], target: Target) -> tuple[tuple[Any, ...], dict[str, Any]]:
    return (torch.randn(2, CHANNELS, bucket["steps"], device=target.device),), {}


@workload(
    "conv.conv_bn",
    stands_for="the building block of vision backbones: convolution, batch norm in eval mode, ReLU",
    inputs=inputs,
    buckets=[{"batch": 2}, {"batch": 16}, {"batch": 7}, Bucket.of({"batch": 512}, requires="gpu")],
    tags=("standard", "dynamic"),
)
def build(target: Target) -> nn.Module:
    block = nn.Sequential(
        nn.Conv2d(3, 16, kernel_size=3, padding=1, bias=False), nn.BatchNorm2d(16), nn.ReLU()
    )
    return block.to(target.device).eval()


@workload(
    "conv.depthwise_separable",
    stands_for="the block of mobile backbones: a convolution a channel, then one by one, which are bound by memory",
    inputs=features,
    buckets=[{"batch": 2}, {"batch": 9}, {"batch": 5}],
    tags=("standard", "dynamic"),
)
def build_depthwise_separable(target: Target) -> nn.Module:
    block = nn.Sequential(
        nn.Conv2d(CHANNELS, CHANNELS, kernel_size=3, padding=1, groups=CHANNELS),
        nn.ReLU6(),
        nn.Conv2d(CHANNELS, 2 * CHANNELS, kernel_size=1),
    )
    return block.to(target.device).eval()


@workload(
    "conv.channels_last",
    stands_for="images kept with their channels last: whether the layout holds to the end or is copied",
    inputs=channels_last,
    buckets=[{"batch": 2}, {"batch": 7}, {"batch": 11}],
    tags=("dynamic",),
)
def build_channels_last(target: Target) -> nn.Module:
    block = nn.Sequential(nn.Conv2d(CHANNELS, 20, kernel_size=3, padding=1), nn.GELU(), nn.AvgPool2d(2))
    return block.to(device=target.device, memory_format=torch.channels_last).eval()


@workload(
    "conv.upsample",
    stands_for="the way up in image models: interpolation and a transposed convolution",
    inputs=features,
    buckets=[{"batch": 1}, {"batch": 6}, {"batch": 3}],
    tags=("dynamic",),
)
def build_upsample(target: Target) -> nn.Module:
    return Up().to(target.device).eval()


@workload(
    "conv.causal_gate",
    stands_for="convolutions over time in audio and state-space models: padding on one side, a gate, any length",
    inputs=signals,
    buckets=[{"steps": 30}, {"steps": 100}, {"steps": 333}],
    tags=("standard", "dynamic"),
)
def build_causal_gate(target: Target) -> nn.Module:
    return Causal().to(target.device).eval()
