"""A named tuple of complex numbers, bytes that wrap around, nothing at all, and a view of the argument."""

from typing import NamedTuple

import torch

BUCKETS = [{"n": 6}]
COMPILE = {"backend": "aot_eager"}


class Parts(NamedTuple):
    waves: torch.Tensor
    bytes: torch.Tensor
    empty: torch.Tensor
    view: torch.Tensor
    word: str


def build():
    def parts(x):
        counts = (x * 100).to(torch.uint8)
        return Parts(torch.complex(x, -x) * 2j, counts + 200, x[:0], x[1:], "done"), None, x.sum()

    return parts


def inputs(bucket):
    return (torch.rand(bucket["n"]) + 1,), {}
