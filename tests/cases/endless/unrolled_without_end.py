"""A loop that Dynamo unrolls turn by turn, so long that tracing it never ends."""

import torch

BUCKETS = [{"turns": 50_000_000}]
COMPILE = {"backend": "eager", "dynamic": False}


def build():
    def settle(x, turns):
        for _ in range(turns):
            x = x.cos() * 0.5
        return x

    return settle


def inputs(bucket):
    return (torch.randn(3), bucket["turns"]), {}
