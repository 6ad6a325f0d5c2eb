"""A compile that takes a known time longer in one bucket: a backend that sleeps before it hands the graph back."""

import time
from typing import Any

import torch

BUCKETS = [{"n": 8}, {"n": 1024}]
SLEEP_S = 2.0


def _backend(graph: Any, example_inputs: Any) -> Any:
    if any(isinstance(one, torch.Tensor) and one.shape[0] == 1024 for one in example_inputs):
        time.sleep(SLEEP_S)
    return graph.forward


COMPILE = {"backend": _backend, "dynamic": False}


def build() -> Any:
    return torch.nn.functional.silu


def inputs(bucket: dict[str, Any]) -> Any:
    return (torch.ones(bucket["n"]),), {}
