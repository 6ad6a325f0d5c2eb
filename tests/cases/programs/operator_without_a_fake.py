"""An operator that never said what its result looks like: eager runs it, tracing can't."""

import torch

BUCKETS = [{"n": 4}]
COMPILE = {"backend": "aot_eager"}


@torch.library.custom_op("compilewatch_cases::mirror", mutates_args=())
def mirror(x: torch.Tensor) -> torch.Tensor:
    return x.flip(0)


def build():
    def mirrored(x):
        return mirror(x * 2)

    return mirrored


def inputs(bucket):
    return (torch.randn(bucket["n"]),), {}
