"""A C++ compiler that does nothing but fail."""

import torch

BUCKETS = [{"n": 6}]
COMPILE = {"options": {"cpp.cxx": ("false",)}}


class Hinge(torch.nn.Module):
    def forward(self, x):
        return torch.relu(2 - x).sum()


def build():
    return Hinge()


def inputs(bucket):
    return (torch.randn(bucket["n"]),), {}
