"""One weight used twice, trained: it has one gradient, the sum of both uses."""

import torch

BUCKETS = [{"rows": 3}]
TRAINING = True
COMPILE = {"backend": "aot_eager"}


class Twice(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.there = torch.nn.Linear(6, 6, bias=False)
        self.back = torch.nn.Linear(6, 6, bias=False)
        self.back.weight = self.there.weight

    def forward(self, x):
        return self.back(torch.tanh(self.there(x))).square().sum()


def build():
    return Twice()


def inputs(bucket):
    return (torch.randn(bucket["rows"], 6),), {}
