"""A loss that goes through complex numbers to a real one, trained."""

import torch

BUCKETS = [{"n": 6}]
TRAINING = True
COMPILE = {"backend": "aot_eager"}


class Turning(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.angle = torch.nn.Parameter(torch.tensor([0.3, -0.7, 1.1]))

    def forward(self, x):
        turned = torch.complex(x, x.square()) * torch.polar(torch.ones(3), self.angle)
        return (turned.real * 2 - turned.imag).square().sum()


def build():
    return Turning()


def inputs(bucket):
    return (torch.rand(bucket["n"], 3),), {}
