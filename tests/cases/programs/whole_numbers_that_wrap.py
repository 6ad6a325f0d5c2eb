"""Whole numbers of several widths, which wrap around, and truths: all exact."""

import torch

BUCKETS = [{"n": 6}]
COMPILE = {"backend": "aot_eager"}


class Widths(torch.nn.Module):
    def forward(self, x):
        small = x.to(torch.int8) * 3
        return small, x * 3_000_000_019, x.bitwise_xor(5) > x, x.argsort(descending=True)


def build():
    return Widths()


def inputs(bucket):
    return (torch.arange(bucket["n"]) * 37 - 90,), {}
