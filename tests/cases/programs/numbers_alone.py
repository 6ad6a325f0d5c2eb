"""A call with numbers and a word, and no tensor."""

import torch

BUCKETS = [{}]
COMPILE = {"backend": "aot_eager"}


class Grid(torch.nn.Module):
    def forward(self, rows, spacing, kind):
        grid = torch.arange(rows) * spacing
        return grid.flip(0) if kind == "down" else grid


def build():
    return Grid()


def inputs(bucket):
    return (4, 0.25), {"kind": "down"}
