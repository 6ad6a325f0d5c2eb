"""The spread of what is constant but for rounding, brought to length one: noise, and nothing else."""

import torch


def from_the_end(graph, example):
    # The same sums in the other order.
    return lambda x: graph(x.flip(1))


BUCKETS = [{"n": 6}]
COMPILE = {"backend": from_the_end}


class Noise(torch.nn.Module):
    def forward(self, x):
        centred = x - x.mean(dim=1, keepdim=True)
        return torch.nn.functional.normalize(centred.sum(dim=1), dim=0)


def build():
    return Noise()


def inputs(bucket):
    return (torch.randn(bucket["n"], 301),), {}
