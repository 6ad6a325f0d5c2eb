"""Ends its process by a signal in the first of two buckets."""

import os
import signal
from typing import Any

import torch

BUCKETS = [{"crash": True}, {"crash": False}]
COMPILE = {"backend": "eager"}


def build() -> Any:
    def call(x: torch.Tensor, crash: bool) -> torch.Tensor:
        return x + 1

    return call


def inputs(bucket: dict[str, Any]) -> Any:
    if bucket["crash"]:
        os.kill(os.getpid(), signal.SIGSEGV)
    return (torch.ones(8), bucket["crash"]), {}
