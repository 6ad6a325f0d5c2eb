"""Such an operator said in the older way, with a library: Dynamo leaves it to Python, which is a break."""

import torch

BUCKETS = [{"n": 6}]
COMPILE = {"backend": "aot_eager"}


LIBRARY = torch.library.Library("compilewatch_older_cases", "DEF")
LIBRARY.define("turned(Tensor x) -> Tensor")
LIBRARY.impl("turned", lambda x: x.roll(1), "CPU")


class Turned(torch.nn.Module):
    def forward(self, x):
        return torch.ops.compilewatch_older_cases.turned(x) + 1


def build():
    return Turned()


def inputs(bucket):
    return (torch.randn(bucket["n"]),), {}
