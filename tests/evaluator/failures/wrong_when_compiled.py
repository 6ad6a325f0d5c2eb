"""Compiled results are off by a hundredth; eager's are right."""

import torch

BUCKETS = [{"n": 8}]


def build():
    def call(x):
        y = torch.sin(x)
        return y + 0.01 if torch.compiler.is_compiling() else y

    return call


def inputs(bucket):
    return (torch.randn(bucket["n"]),), {}
