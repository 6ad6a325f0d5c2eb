"""Two steps that may not be compiled with a break between them: compiled Python, and no graph in it."""

import torch

BUCKETS = [{"n": 6}]
COMPILE = {"backend": "eager"}


@torch.compiler.disable
def double(x):
    return x * 2


class Between(torch.nn.Module):
    def forward(self, x):
        x = double(x)
        torch._dynamo.graph_break()
        return double(x)


def build():
    return Between()


def inputs(bucket):
    return (torch.randn(bucket["n"]),), {}
