"""A word that chooses what is done: each is a constant, and a program of its own."""

import torch

BUCKETS = [{"unit": unit} for unit in ("mm", "cm", "dm", "m", "km", "in", "ft", "yd", "mi", "nm")]
COMPILE = {"backend": "eager"}


class Scale(torch.nn.Module):
    def forward(self, x, unit):
        return torch.tanh(x) * len(unit) + ord(unit[0])


def build():
    return Scale()


def inputs(bucket):
    return (torch.randn(5), bucket["unit"]), {}
