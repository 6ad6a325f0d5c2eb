"""The network of an image generator from diffusers, at toy size with random weights: nothing is downloaded.

The library is imported where the model is built, so that the workload can be listed without it.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from workloads.registry import Target, workload

TEXT_WIDTH = 24


def noisy_images(bucket: dict[str, Any], target: Target) -> tuple[tuple[Any, ...], dict[str, Any]]:
    batch, device = bucket["batch"], target.device
    sample, text = (
        torch.randn(batch, 4, 16, 16, device=device),
        torch.randn(batch, 6, TEXT_WIDTH, device=device),
    )
    return (sample, torch.randint(1000, (batch,), device=device), text), {"return_dict": False}


@workload(
    "diffusion.unet",
    stands_for="the network of an image generator: convolutions, group norms and attention to a text, and back up",
    inputs=noisy_images,
    buckets=[{"batch": 2}, {"batch": 3}, {"batch": 7}],
    tags=("models", "dynamic"),
    libraries=("diffusers",),
)
def build(target: Target) -> nn.Module:
    from diffusers import UNet2DConditionModel

    model = UNet2DConditionModel(
        sample_size=16,
        layers_per_block=1,
        block_out_channels=(16, 32),
        norm_num_groups=4,
        attention_head_dim=8,
        cross_attention_dim=TEXT_WIDTH,
        down_block_types=("CrossAttnDownBlock2D", "DownBlock2D"),
        mid_block_type="UNetMidBlock2DCrossAttn",
        up_block_types=("UpBlock2D", "CrossAttnUpBlock2D"),
    )
    return model.to(target.device).eval()
