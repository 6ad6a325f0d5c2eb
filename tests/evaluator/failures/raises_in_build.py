"""build() raises: a fault of the workload's set-up."""

import torch

BUCKETS = [{"n": 4}]


def build():
    raise FileNotFoundError("weights.bin is not here")


def inputs(bucket):
    return (torch.randn(bucket["n"]),), {}
