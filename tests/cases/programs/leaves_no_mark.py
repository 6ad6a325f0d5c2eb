"""One that comes after it, and finds torch as it was."""

import torch

BUCKETS = [{"n": 6}]
COMPILE = {"backend": "eager"}


def build():
    def tiny(x):
        return x * 0.5, torch.ones(3).dtype == torch.float32

    return tiny


def inputs(bucket):
    return (torch.full((bucket["n"],), 1e-40),), {}
