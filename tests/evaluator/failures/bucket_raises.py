"""The inputs of one bucket can't be made; the other bucket is fine."""

import torch

BUCKETS = [{"n": 4}, {"n": -1}, {"n": 6}]


def build():
    def double(x):
        return x * 2

    return double


def inputs(bucket):
    return (torch.randn(bucket["n"]),), {}
