"""Touches memory until it holds 40 GiB."""

import torch

BUCKETS = [{"n": 4}]


def build():
    held = []
    for _ in range(160):
        held.append(torch.ones(1 << 26))
    return torch.sin


def inputs(bucket):
    return (torch.randn(bucket["n"]),), {}
