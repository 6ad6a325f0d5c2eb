"""Nothing planted: what this machine's own noise does to its time is what is asked."""

from typing import Any

import torch

BUCKETS: list[dict[str, Any]] = [{}]


def build() -> Any:
    def call(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.silu(x + y) * (x - y)

    return call


def inputs(bucket: dict[str, Any]) -> Any:
    return (torch.randn(512, 512), torch.randn(512, 512)), {}
