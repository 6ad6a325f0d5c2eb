"""A print in a loop of a module, which leaves the frame to Python just so."""

import torch

BUCKETS = [{"n": 6}]
COMPILE = {"backend": "eager"}


class Steps(torch.nn.Module):
    def forward(self, x):
        for step in range(3):
            x = torch.exp(-x)
            print("step", step)
        return x


def build():
    return Steps()


def inputs(bucket):
    return (torch.rand(bucket["n"]),), {}
