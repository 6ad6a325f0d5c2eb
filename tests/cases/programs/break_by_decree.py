"""Two breaks by decree, over three sizes: places, events, graphs and recompiles are four different counts."""

import torch

BUCKETS = [{"n": 5}, {"n": 8}, {"n": 13}]
COMPILE = {"backend": "eager"}


def build():
    def three_parts(x):
        a = x.cos()
        torch._dynamo.graph_break()
        b = a + 3
        torch._dynamo.graph_break()
        return b.sin()

    return three_parts


def inputs(bucket):
    return (torch.randn(bucket["n"]),), {}
