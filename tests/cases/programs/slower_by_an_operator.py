"""A branch for the compiler alone, with an operator in it that waits two milliseconds."""

import time

import torch

BUCKETS = [{"n": 2}]
COMPILE = {"backend": "aot_eager"}


@torch.library.custom_op("compilewatch_cases::waits", mutates_args=())
def waits(x: torch.Tensor) -> torch.Tensor:
    time.sleep(0.002)
    return x.clone()


@waits.register_fake
def _(x):
    return torch.empty_like(x)


class Waiting(torch.nn.Module):
    def forward(self, x):
        if torch.compiler.is_compiling():
            x = waits(x)
        return x.neg()


def build():
    return Waiting()


def inputs(bucket):
    return (torch.randn(bucket["n"]),), {}
