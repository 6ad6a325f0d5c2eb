"""Writing to a view whose parts overlap, which AOTAutograd refuses; eager does it."""

import torch

BUCKETS = [{"n": 6}]
COMPILE = {"backend": "aot_eager"}


class Windows(torch.nn.Module):
    def forward(self, x):
        return (x * 3).unfold(0, 3, 1).abs_()


def build():
    return Windows()


def inputs(bucket):
    return (torch.randn(bucket["n"]),), {}
