"""Batch sizes after which dynamic code is there, then a batch of one. Only what is captured is asked for."""

import torch

from workloads.registry import Variant, workload


def centre(x):
    return x - x.mean()


def inputs(bucket, target):
    return (torch.randn(bucket["rows"], 4),), {}


@workload(
    "size_one_comes_last",
    inputs=inputs,
    buckets=[{"rows": 2}, {"rows": 5}, {"rows": 9}, {"rows": 1}],
    variants=[Variant("default", {"backend": "eager"}, evidence_only=True)],
)
def build(target):
    """A function that is given batches of several sizes."""
    return centre
