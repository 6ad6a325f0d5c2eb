"""An operator whose fake keeps the last row that the real one drops: the compiled code sees it when it runs."""

import torch

BUCKETS = [{"rows": 4}]


@torch.library.custom_op("compilewatch_cases::all_but_last", mutates_args=())
def all_but_last(x: torch.Tensor) -> torch.Tensor:
    return x[:-1].clone()


@all_but_last.register_fake
def _(x):
    return torch.empty_like(x)


def build():
    def shortened(x):
        return all_but_last(x * 3) - 1

    return shortened


def inputs(bucket):
    return (torch.randn(bucket["rows"], 3),), {}
