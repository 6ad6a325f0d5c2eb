"""A switch that is thrown while inputs are made: the guard on the global state fails. Only what is captured is asked for."""

import torch

from workloads.registry import Variant, workload


def wave(x):
    return x.sin() + 1


def inputs(bucket, target):
    torch.use_deterministic_algorithms(bucket["mode"] == "on")
    return (torch.randn(5),), {}


@workload(
    "determinism_on_and_off",
    inputs=inputs,
    buckets=[{"mode": "off"}, {"mode": "on"}],
    variants=[Variant("default", {"backend": "eager"}, evidence_only=True)],
)
def build(target):
    """A function under a global switch."""
    return wave
