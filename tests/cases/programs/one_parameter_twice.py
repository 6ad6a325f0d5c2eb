"""A parameter that stands twice in a list, trained."""

import torch

BUCKETS = [{"n": 6}]
TRAINING = True
COMPILE = {"backend": "aot_eager"}


class Both(torch.nn.Module):
    def __init__(self):
        super().__init__()
        weight = torch.nn.Parameter(torch.arange(6.0) / 6)
        self.weights = torch.nn.ParameterList([weight, weight])

    def forward(self, x):
        return (x * self.weights[0] + self.weights[1].sin()).square().mean()


def build():
    return Both()


def inputs(bucket):
    return (torch.randn(bucket["n"]),), {}
