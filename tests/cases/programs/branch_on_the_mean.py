"""A branch on data: the second bucket takes the way that the first did not."""

import torch

BUCKETS = [{"sign": 1.0}, {"sign": -1.0}]
COMPILE = {"backend": "eager"}


def build():
    def either(x):
        if x.sum() > 0:
            return x.log1p()
        return x.square() + 1

    return either


def inputs(bucket):
    return (torch.rand(10) * bucket["sign"],), {}
