"""A compiler that puts its NaN elsewhere: the error of the rest is no number that could tell."""

import torch


def rotated(graph, example):
    return lambda *args: [result.roll(1) for result in graph(*args)]


BUCKETS = [{"n": 6}]
COMPILE = {"backend": rotated}


def build():
    def roots(x):
        return x.sqrt()

    return roots


def inputs(bucket):
    return (torch.tensor([4.0, -1.0, 4.0, 4.0, 4.0, 4.0])[: bucket["n"]],), {}
