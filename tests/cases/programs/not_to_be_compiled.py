"""All the work is in a function that says it must not be compiled: a break, and nothing around it."""

import torch

BUCKETS = [{"n": 4}]
COMPILE = {"backend": "eager"}


def build():
    @torch.compiler.disable
    def left_alone(x):
        return x * 2

    def outer(x):
        return left_alone(x)

    return outer


def inputs(bucket):
    return (torch.randn(bucket["n"]),), {}
