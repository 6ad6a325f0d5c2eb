"""A compiler that makes the forward graph at once and never comes back from the backward one."""

import torch
from torch._dynamo.backends.common import aot_autograd


def forward(graph, example):
    return graph.forward


def backward(graph, example):
    while True:
        pass


BUCKETS = [{"rows": 4}]
TRAINING = True
COMPILE = {"backend": aot_autograd(fw_compiler=forward, bw_compiler=backward)}


def build():
    torch.manual_seed(3)
    return torch.nn.Linear(5, 2)


def inputs(bucket):
    return (torch.randn(bucket["rows"], 5),), {}
