"""Raises in compiled code only."""

from typing import Any

import torch

BUCKETS: list[dict[str, Any]] = [{}]


def _backend(graph: Any, example_inputs: Any) -> Any:
    def fail(*arguments: Any) -> Any:
        raise RuntimeError("planted: the compiled path is broken")

    return fail


COMPILE = {"backend": _backend}


def build() -> Any:
    return torch.nn.functional.silu


def inputs(bucket: dict[str, Any]) -> Any:
    return (torch.ones(8),), {}
