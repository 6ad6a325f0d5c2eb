"""The same said as float(), in a method of a module."""

import torch

BUCKETS = [{"n": 7}]
COMPILE = {"backend": "eager"}


class Rescaled(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(7, 3)

    def forward(self, x):
        norm = float(x.norm())
        return self.layer(x) / norm


def build():
    return Rescaled()


def inputs(bucket):
    return (torch.randn(2, bucket["n"]),), {}
