"""A function that says it must not be compiled."""

import torch

BUCKETS = [{"n": 4}]
COMPILE = {"backend": "eager"}


def build():
    @torch.compiler.disable
    def left_alone(x):
        return x * 2

    return left_alone


def inputs(bucket):
    return (torch.randn(bucket["n"]),), {}
