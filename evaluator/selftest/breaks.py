"""Two graph breaks at two lines, so three graphs."""

from typing import Any

import torch

BUCKETS: list[dict[str, Any]] = [{}]
COMPILE = {"backend": "eager"}


def build() -> Any:
    def call(x: torch.Tensor) -> torch.Tensor:
        x = x + 1
        torch._dynamo.graph_break()
        x = x * 2
        torch._dynamo.graph_break()
        return x - 3

    return call


def inputs(bucket: dict[str, Any]) -> Any:
    return (torch.ones(8),), {}
