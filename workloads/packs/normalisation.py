"""Normalisation layers: a reduction and what follows it."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from workloads.registry import Bucket, Target, workload

WIDTH = 512
CHANNELS = 24


class ResidualRmsNorm(nn.Module):
    """The residual is added, kept and normalised, as decoder blocks do."""

    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.RMSNorm(WIDTH, eps=1e-6)

    def forward(self, x: torch.Tensor, residual: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        kept = x + residual
        return self.norm(kept), kept


def inputs(bucket: dict[str, Any], target: Target) -> tuple[tuple[Any, ...], dict[str, Any]]:
    return (torch.randn(bucket["rows"], WIDTH, device=target.device),), {}


def residual_inputs(bucket: dict[str, Any], target: Target) -> tuple[tuple[Any, ...], dict[str, Any]]:
    shape = (bucket["rows"], WIDTH)
    return (torch.randn(shape, device=target.device), torch.randn(shape, device=target.device)), {}


def images(bucket: dict[str, Any], target: Target) -> tuple[tuple[Any, ...], dict[str, Any]]:
    return (torch.randn(bucket["batch"], CHANNELS, 20, 20, device=target.device),), {}


@workload(
    "normalisation.layer_norm",
    stands_for="the norm before every attention and feed-forward block: mean, variance and scale in one pass",
    inputs=inputs,
    buckets=[{"rows": 64}, {"rows": 1024}, {"rows": 300}, Bucket.of({"rows": 65536}, requires="gpu")],
    tags=("standard", "dynamic"),
)
def build(target: Target) -> nn.Module:
    return nn.LayerNorm(WIDTH).to(target.device).eval()


@workload(
    "normalisation.rms_norm_residual",
    stands_for="the norm of decoder blocks with the residual before it, both of which are used again",
    inputs=residual_inputs,
    buckets=[{"rows": 48}, {"rows": 320}, {"rows": 1500}, Bucket.of({"rows": 49152}, requires="gpu")],
    tags=("standard", "dynamic"),
)
def build_rms_norm_residual(target: Target) -> nn.Module:
    return ResidualRmsNorm().to(target.device).eval()


@workload(
    "normalisation.group_norm",
    stands_for="the norm of diffusion models: statistics of a group of channels over the whole image, then SiLU",
    inputs=images,
    buckets=[{"batch": 2}, {"batch": 9}, {"batch": 5}],
    tags=("standard", "dynamic"),
)
def build_group_norm(target: Target) -> nn.Module:
    return nn.Sequential(nn.GroupNorm(6, CHANNELS), nn.SiLU()).to(target.device).eval()


@workload(
    "normalisation.instance_norm",
    stands_for="the norm of style transfer: every channel of every image by itself",
    inputs=images,
    buckets=[{"batch": 3}, {"batch": 10}, {"batch": 5}],
    tags=("dynamic",),
)
def build_instance_norm(target: Target) -> nn.Module:
    return nn.InstanceNorm2d(CHANNELS, affine=True).to(target.device).eval()
