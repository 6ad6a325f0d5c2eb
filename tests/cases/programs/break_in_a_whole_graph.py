"""A break by decree where only a whole graph will do, in a module."""

import torch

BUCKETS = [{"n": 6}]
COMPILE = {"backend": "eager", "fullgraph": True}


class Decreed(torch.nn.Module):
    def forward(self, x):
        x = x + 1
        torch._dynamo.graph_break()
        return x * 2


def build():
    return Decreed()


def inputs(bucket):
    return (torch.randn(bucket["n"]),), {}
