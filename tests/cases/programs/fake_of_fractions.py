"""The other way round: integers that the fake calls floats, in the second of two results."""

import torch

BUCKETS = [{"rows": 3}]


@torch.library.custom_op("compilewatch_cases::rounded", mutates_args=())
def rounded(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    return x.clone(), (x * 8).round().to(torch.int32)


@rounded.register_fake
def _(x):
    return torch.empty_like(x), torch.empty_like(x)


class Quantised(torch.nn.Module):
    def forward(self, x):
        kept, steps = rounded(x)
        return kept.sin(), steps.sum(-1)


def build():
    return Quantised()


def inputs(bucket):
    return (torch.rand(bucket["rows"], 5) + 1,), {}
