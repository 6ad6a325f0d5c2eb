"""A workload that changes what all of torch does in its process."""

import torch

BUCKETS = [{"n": 6}]
COMPILE = {"backend": "eager"}


def build():
    torch.set_default_dtype(torch.float64)
    torch.set_flush_denormal(True)

    def ones(x):
        return x + torch.ones(6)

    return ones


def inputs(bucket):
    return (torch.randn(bucket["n"]),), {}
