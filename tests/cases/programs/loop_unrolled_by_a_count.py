"""A loop over a count, unrolled into as many operators as it has turns: the longer, the longer it compiles."""

import torch

BUCKETS = [{"turns": 2}, {"turns": 9}]
COMPILE = {"backend": "aot_eager"}


def build():
    def settle(x, turns):
        state = torch.zeros_like(x)
        for _ in range(turns):
            state = (state * 0.25 + x).sin()
        return state

    return settle


def inputs(bucket):
    return (torch.randn(6), bucket["turns"]), {}
