"""A compiler that works on copies: the result is right, and the argument should have changed."""

import torch


def on_copies(graph, example):
    return lambda *args: graph(*[arg.clone() for arg in args])


BUCKETS = [{"n": 6}]
COMPILE = {"backend": on_copies}


def build():
    def push(x, step):
        x.add_(step)
        return step * 2

    return push


def inputs(bucket):
    return (torch.randn(bucket["n"]), torch.ones(bucket["n"])), {}
