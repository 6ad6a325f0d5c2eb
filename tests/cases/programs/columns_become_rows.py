"""A compiler that lays out by rows what eager lays out by columns: equal numbers, other strides."""

import torch


def by_rows(graph, example):
    return lambda *args: [result.contiguous() for result in graph(*args)]


BUCKETS = [{"n": 6}]
COMPILE = {"backend": by_rows}


def build():
    def turned(x):
        return (x + 1).t()

    return turned


def inputs(bucket):
    return (torch.randn(bucket["n"], 4),), {}
