"""What is left of a number after a large one was added and taken away: eager is far from right, and so is any other order."""

import torch


def larger_still(graph, example):
    return lambda x: [(x + 9e7) - 9e7]


BUCKETS = [{"n": 24}]
COMPILE = {"backend": larger_still}


def build():
    def remainder(x):
        return (x + 3e7) - 3e7

    return remainder


def inputs(bucket):
    return (torch.rand(bucket["n"]) * 20,), {}
