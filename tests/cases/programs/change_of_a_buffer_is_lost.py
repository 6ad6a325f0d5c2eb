"""The same for what a module keeps from call to call."""

import torch


def on_copies(graph, example):
    return lambda *args: graph(*[arg.clone() for arg in args])


BUCKETS = [{"n": 6}]
COMPILE = {"backend": on_copies}


class Seen(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("highest", torch.full((6,), -9.0))

    def forward(self, x):
        torch.maximum(self.highest, x, out=self.highest)
        return x.relu()


def build():
    return Seen()


def inputs(bucket):
    return (torch.randn(bucket["n"]),), {}
