"""A limit that is checked in eager and not where it is compiled."""

import torch

BUCKETS = [{"n": 6}]
COMPILE = {"backend": "aot_eager"}


def build():
    def checked(x):
        if not torch.compiler.is_compiling():
            raise ValueError("six is too many")
        return x + 1

    return checked


def inputs(bucket):
    return (torch.randn(bucket["n"]),), {}
