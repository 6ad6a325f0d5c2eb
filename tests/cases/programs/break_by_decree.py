"""Two breaks by decree, over three sizes: places, events, graphs and recompiles are four different counts."""

import torch

from workloads.registry import Variant, workload


def three_parts(x):
    a = x.cos()
    torch._dynamo.graph_break()
    b = a + 3
    torch._dynamo.graph_break()
    return b.sin()


def inputs(bucket, target):
    return (torch.randn(bucket["n"]),), {}


@workload(
    "break_by_decree",
    inputs=inputs,
    buckets=[{"n": 5}, {"n": 8}, {"n": 13}],
    variants=[Variant("default", {"backend": "eager"}, evidence_only=True)],
)
def build(target):
    """A function in three parts."""
    return three_parts
