"""The function raises, compiled or not."""

import torch

BUCKETS = [{"n": 4}]


def build():
    def mismatched(x):
        return x @ torch.ones(7, 7)

    return mismatched


def inputs(bucket):
    return (torch.randn(bucket["n"], 3),), {}
