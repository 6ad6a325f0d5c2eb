"""A word that chooses what is done: each is a constant, and a program of its own. Only what is captured is asked for."""

import torch

from workloads.registry import Variant, workload

UNITS = ("mm", "cm", "dm", "m", "km", "in", "ft", "yd", "mi", "nm")


class Scale(torch.nn.Module):
    def forward(self, x, unit):
        return torch.tanh(x) * len(unit) + ord(unit[0])


def inputs(bucket, target):
    return (torch.randn(5), bucket["unit"]), {}


@workload(
    "limit_by_text",
    inputs=inputs,
    buckets=[{"unit": unit} for unit in UNITS],
    variants=[Variant("default", {"backend": "eager"}, evidence_only=True)],
)
def build(target):
    """A module that is given a word."""
    return Scale()
