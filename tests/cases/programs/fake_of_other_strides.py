"""An operator that lays its result out by columns and says in its fake that it is laid out by rows."""

import torch

BUCKETS = [{"rows": 4}]


@torch.library.custom_op("compilewatch_cases::by_columns", mutates_args=())
def by_columns(x: torch.Tensor) -> torch.Tensor:
    return x.t().contiguous().t()


@by_columns.register_fake
def _(x):
    return torch.empty_like(x)


class Columns(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("shift", torch.arange(6.0))

    def forward(self, x):
        return by_columns(x).abs() + self.shift


def build():
    return Columns()


def inputs(bucket):
    return (torch.randn(bucket["rows"], 6),), {}
