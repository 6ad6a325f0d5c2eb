"""An operator that gives floats and says in its fake that it gives integers as wide: their bits are read as such."""

import torch

BUCKETS = [{"n": 16}]


@torch.library.custom_op("compilewatch_cases::lifted", mutates_args=())
def lifted(x: torch.Tensor) -> torch.Tensor:
    return x + 0.5


@lifted.register_fake
def _(x):
    return torch.empty_like(x, dtype=torch.int32)


def build():
    def shifted(x):
        return lifted(x) * 2 + 1

    return shifted


def inputs(bucket):
    return (torch.rand(bucket["n"]),), {}
