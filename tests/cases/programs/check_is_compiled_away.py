"""An assertion in the graph that a compiler leaves out: eager raises for the second bucket, compiled code does not."""

import torch


def unchecked(graph, example):
    return lambda *args: [args[-1] * 3]


BUCKETS = [{"n": 6, "sign": 1.0}, {"n": 6, "sign": -1.0}]
COMPILE = {"backend": unchecked}


class Checked(torch.nn.Module):
    def forward(self, x):
        torch._assert_async(x.sum() > 0)
        return x * 3


def build():
    return Checked()


def inputs(bucket):
    return (torch.ones(bucket["n"]) * bucket["sign"],), {}
