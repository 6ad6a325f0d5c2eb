"""A branch said as an operator over functions, which eager runs by compiling it for itself."""

import torch

BUCKETS = [{"sign": 1.0}, {"sign": -1.0}]
COMPILE = {"backend": "eager"}


def build():
    def either(x):
        return torch.cond(x.sum() > 0, lambda y: y.sqrt(), lambda y: y.square(), (x,))

    return either


def inputs(bucket):
    return ((torch.rand(10) + 1) * bucket["sign"],), {}
