"""A list of tensors of which the call changes one, and one given by name."""

import torch

BUCKETS = [{"n": 6}]
COMPILE = {"backend": "aot_eager"}


class Spread(torch.nn.Module):
    def forward(self, parts, scale):
        parts[1].mul_(scale)
        scale.neg_()
        return parts[0] + parts[1]


def build():
    return Spread()


def inputs(bucket):
    return ([torch.randn(bucket["n"]), torch.randn(bucket["n"])],), {"scale": torch.full((1,), 3.0)}
