"""A number from Python's own generator in each call."""

import random

import torch

BUCKETS = [{"n": 6}]
COMPILE = {"backend": "aot_eager"}


class Shaken(torch.nn.Module):
    def forward(self, x):
        return x * 0 + random.random()


def build():
    return Shaken()


def inputs(bucket):
    return (torch.randn(bucket["n"]),), {}
