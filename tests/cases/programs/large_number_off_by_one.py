"""A compiler that is off by one in numbers so large that no relative tolerance would see it."""

import torch


def off_by_one(graph, example):
    return lambda *args: [result + 1 for result in graph(*args)]


BUCKETS = [{"n": 6}]
COMPILE = {"backend": off_by_one}


def build():
    def count(x):
        return x * 1_000_003

    return count


def inputs(bucket):
    return (torch.arange(bucket["n"]) + 7_000_000,), {}
