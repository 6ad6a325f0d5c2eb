"""A size of one after others, in the inner dimension of a module's input. Only what is captured is asked for."""

import torch

from workloads.registry import Variant, workload


class Peak(torch.nn.Module):
    def forward(self, x):
        return torch.softmax(x, dim=1).amax(dim=1)


def inputs(bucket, target):
    return (torch.randn(3, bucket["length"]),), {}


@workload(
    "length_one_comes_last",
    inputs=inputs,
    buckets=[{"length": 4}, {"length": 6}, {"length": 11}, {"length": 1}],
    variants=[Variant("default", {"backend": "eager"}, evidence_only=True)],
)
def build(target):
    """A module that is given rows of several lengths."""
    return Peak()
