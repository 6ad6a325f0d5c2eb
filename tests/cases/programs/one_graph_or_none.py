"""A break where only a whole graph will do: an error for the bucket, and no graph."""

import torch

BUCKETS = [{"n": 4}, {"n": 6}]
COMPILE = {"backend": "eager", "fullgraph": True}


def build():
    def asks(x):
        if x.sum() > 0:
            return x + 1
        return x - 1

    return asks


def inputs(bucket):
    return (torch.rand(bucket["n"]),), {}
