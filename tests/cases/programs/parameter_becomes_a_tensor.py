"""A parameter that is returned as it is by eager, and as a plain tensor otherwise."""

import torch

BUCKETS = [{"n": 6}]
COMPILE = {"backend": "aot_eager"}


class Weights(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.arange(6.0))

    def forward(self, x):
        kept = self.weight.data if torch.compiler.is_compiling() else self.weight
        return x * self.weight, kept


def build():
    return Weights()


def inputs(bucket):
    return (torch.randn(bucket["n"]),), {}
