"""A call without any argument."""

import torch

BUCKETS = [{}]
COMPILE = {"backend": "aot_eager"}


def build():
    steps = torch.arange(5.0)

    def ramp():
        return steps * 0.5 + 1

    return ramp


def inputs(bucket):
    return (), {}
