"""A C++ compiler that is not there: every graph is right, and none can be built."""

import torch

BUCKETS = [{"n": 6}]
COMPILE = {"options": {"cpp.cxx": ("no-such-compiler",)}}


def build():
    def hinge(x):
        return torch.relu(1 - x)

    return hinge


def inputs(bucket):
    return (torch.randn(bucket["n"]),), {}
