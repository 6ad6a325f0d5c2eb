"""Autocast inside the function: the result is narrow, in eager and compiled."""

import torch

BUCKETS = [{"n": 6}]
COMPILE = {"backend": "aot_eager"}


def build():
    def scores(x):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return x @ x.t()

    return scores


def inputs(bucket):
    return (torch.randn(bucket["n"], 8),), {}
