"""A word in the arguments that is another one in each of three buckets: two recompiles."""

from typing import Any

import torch

BUCKETS = [{"mode": "add"}, {"mode": "multiply"}, {"mode": "subtract"}]
COMPILE = {"backend": "eager"}


def build() -> Any:
    def call(x: torch.Tensor, mode: str) -> torch.Tensor:
        if mode == "add":
            return x + 2
        return x * 2 if mode == "multiply" else x - 2

    return call


def inputs(bucket: dict[str, Any]) -> Any:
    return (torch.ones(8), bucket["mode"]), {}
