"""A loop whose end the tensor decides: unlike the body of a counted loop, its condition is a place to go on from."""

import torch

BUCKETS = [{"n": 6}]
COMPILE = {"backend": "eager"}


class Halving(torch.nn.Module):
    def forward(self, x):
        x = x.abs() + 1
        while x.max() > 0.5:
            x = x * 0.25
        return x


def build():
    return Halving()


def inputs(bucket):
    return (torch.rand(bucket["n"]),), {}
