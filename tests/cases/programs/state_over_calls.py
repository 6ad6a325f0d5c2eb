"""A module that counts its calls in a buffer: call i of one side belongs to call i of the other."""

import torch

BUCKETS = [{"n": 4}]
CALLS = 3
COMPILE = {"backend": "aot_eager"}


class Counter(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("calls", torch.zeros(()))

    def forward(self, x):
        self.calls.add_(1)
        return x * self.calls


def build():
    return Counter()


def inputs(bucket):
    return (torch.randn(bucket["n"]),), {}
