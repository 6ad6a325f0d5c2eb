"""Holds 64 MB in a call, beside an input of a few bytes."""

from typing import Any

import torch

BUCKETS: list[dict[str, Any]] = [{}]
COMPILE = {"backend": "eager"}
HELD_BYTES = 64_000_000


def build() -> Any:
    def call(x: torch.Tensor) -> torch.Tensor:
        return torch.ones(HELD_BYTES // 4)[:1] * x

    return call


def inputs(bucket: dict[str, Any]) -> Any:
    return (torch.ones(1),), {}
