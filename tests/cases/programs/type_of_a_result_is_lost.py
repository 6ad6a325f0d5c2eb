"""A tensor with a type of its own, of which the compiler makes a plain one."""

import torch

BUCKETS = [{"n": 6}]
COMPILE = {"backend": "aot_eager"}


class Metres(torch.Tensor):
    pass


def build():
    def longer(x):
        return x * 2 if torch.compiler.is_compiling() else (x * 2).as_subclass(Metres)

    return longer


def inputs(bucket):
    return (torch.randn(bucket["n"]),), {}
