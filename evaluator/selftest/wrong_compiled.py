"""Wrong by a hundredth in compiled code only."""

from typing import Any

import torch

BUCKETS: list[dict[str, Any]] = [{}]
ERROR = 0.01


def _backend(graph: Any, example_inputs: Any) -> Any:
    def wrong(*arguments: Any) -> Any:
        return tuple(output + ERROR for output in graph.forward(*arguments))

    return wrong


COMPILE = {"backend": _backend}


def build() -> Any:
    def call(x: torch.Tensor) -> torch.Tensor:
        return x * 0.5

    return call


def inputs(bucket: dict[str, Any]) -> Any:
    return (torch.ones(8),), {}
