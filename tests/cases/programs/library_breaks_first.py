"""A break in torch's own layer, before anything of it is captured."""

import torch

BUCKETS = [{"n": 6}]
COMPILE = {"backend": "eager"}


def build():
    return torch.nn.BatchNorm1d(4, momentum=None).train()


def inputs(bucket):
    return (torch.randn(bucket["n"], 4),), {}
