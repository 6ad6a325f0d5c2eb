"""Compiles without complaint; the compiled code raises when it runs, and eager never does."""

import torch

BUCKETS = [{"n": 4}]


def build():
    if not hasattr(torch.ops.watchfail, "only_compiled"):

        @torch.library.custom_op("watchfail::only_compiled", mutates_args=())
        def only_compiled(x: torch.Tensor, compiled: bool) -> torch.Tensor:
            if compiled:
                raise ArithmeticError("the compiled path is broken")
            return x.clone()

        @only_compiled.register_fake
        def _(x, compiled):
            return torch.empty_like(x)

    def call(x):
        return torch.ops.watchfail.only_compiled(x, torch.compiler.is_compiling()) + 1

    return call


def inputs(bucket):
    return (torch.randn(bucket["n"]),), {}
