"""Autocast as a decorator of a method, and a norm in it."""

import torch

BUCKETS = [{"n": 6}]
COMPILE = {"backend": "aot_eager"}


class Narrow(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(8, 4)

    @torch.autocast("cpu", dtype=torch.bfloat16)
    def forward(self, x):
        return self.layer(x)


def build():
    return Narrow()


def inputs(bucket):
    return (torch.randn(bucket["n"], 8),), {}
