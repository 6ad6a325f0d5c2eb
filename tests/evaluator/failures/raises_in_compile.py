"""An operator that eager runs and the compiler can't trace: it has no shape function."""

import torch

BUCKETS = [{"n": 4}]


def build():
    if not hasattr(torch.ops.watchfail, "opaque"):

        @torch.library.custom_op("watchfail::opaque", mutates_args=())
        def opaque(x: torch.Tensor) -> torch.Tensor:
            return x.clone()

    def call(x):
        return torch.ops.watchfail.opaque(x) + 1

    return call


def inputs(bucket):
    return (torch.randn(bucket["n"]),), {}
