"""A compiler that refuses the graph: an error, and no break."""

import torch


def refuses(graph, example):
    raise NotImplementedError("no cosine here")


BUCKETS = [{"n": 6}]
COMPILE = {"backend": refuses}


def build():
    def cosine(x):
        return x.cos()

    return cosine


def inputs(bucket):
    return (torch.randn(bucket["n"]),), {}
