"""A loop that switches gradients while it makes its inputs: the guard on the global state fails."""

import torch

BUCKETS = [{"mode": "off"}, {"mode": "on"}]
GRAD = True
COMPILE = {"backend": "eager"}


def build():
    def wave(x):
        return x.cos() * x.sin()

    return wave


def inputs(bucket):
    torch._C._set_grad_enabled(bucket["mode"] == "on")
    return (torch.randn(3, 5),), {}
