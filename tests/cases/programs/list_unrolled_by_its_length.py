"""The same by the length of a list: one operator more for each tensor in it."""

import torch

BUCKETS = [{"parts": 2}, {"parts": 7}]
COMPILE = {"backend": "aot_eager"}


class Joined(torch.nn.Module):
    def forward(self, parts):
        total = parts[0].square()
        for part in parts[1:]:
            total = total + part
        return total


def build():
    return Joined()


def inputs(bucket):
    return ([torch.randn(4) for _ in range(bucket["parts"])],), {}
