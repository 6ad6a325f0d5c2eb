"""A call that takes a known time longer in one bucket: an operator that sleeps, since a sleep breaks the graph."""

import time
from typing import Any

import torch

BUCKETS = [{"sleep_ms": 0}, {"sleep_ms": 5}]


def _sleep(x: torch.Tensor, milliseconds: float) -> torch.Tensor:
    if milliseconds:
        time.sleep(milliseconds / 1000)
    return x.clone()


def _same(x: torch.Tensor, milliseconds: float) -> torch.Tensor:
    return torch.empty_like(x)


sleep = torch.library.custom_op("compilewatch_selftest::sleep", _sleep, mutates_args=())
sleep.register_fake(_same)


def build() -> Any:
    def call(x: torch.Tensor, milliseconds: float) -> torch.Tensor:
        return sleep(torch.relu(x), milliseconds) + 1

    return call


def inputs(bucket: dict[str, Any]) -> Any:
    return (torch.ones(64), float(bucket["sleep_ms"])), {}
