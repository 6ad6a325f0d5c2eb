"""A switch that is thrown while inputs are made: the guard on the global state fails."""

import torch

BUCKETS = [{"mode": "off"}, {"mode": "on"}]
COMPILE = {"backend": "eager"}


def build():
    def wave(x):
        return x.sin() + 1

    return wave


def inputs(bucket):
    torch.use_deterministic_algorithms(bucket["mode"] == "on")
    return (torch.randn(5),), {}
