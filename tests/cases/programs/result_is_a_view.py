"""A result that shares memory with the argument, and is changed on the way."""

import torch

BUCKETS = [{"rows": 4}]
COMPILE = {"backend": "aot_eager"}


class Turned(torch.nn.Module):
    def forward(self, x):
        turned = x.t()
        turned[0].add_(1)
        return turned


def build():
    return Turned()


def inputs(bucket):
    return (torch.randn(bucket["rows"], 3),), {}
