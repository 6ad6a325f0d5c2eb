"""Attention with a bias that is a function of two places: another operator over a function, in a module."""

import torch
from torch.nn.attention.flex_attention import flex_attention

BUCKETS = [{"n": 5}]
COMPILE = {"backend": "eager"}


class Nearer(torch.nn.Module):
    def forward(self, x):
        def bias(score, batch, head, place, other):
            return score - (place - other).abs()

        return flex_attention(x, x, x, score_mod=bias)


def build():
    return Nearer()


def inputs(bucket):
    return (torch.randn(1, 2, bucket["n"], 16),), {}
