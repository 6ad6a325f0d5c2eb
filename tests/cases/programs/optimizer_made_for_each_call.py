"""An optimizer that is made anew with the inputs, and is another one to every guard."""

import torch

BUCKETS = [{"n": 6}]
GRAD = True
COMPILE = {"backend": "aot_eager"}


class Step(torch.nn.Module):
    def forward(self, weight, gradient, optimizer):
        weight.grad = gradient
        optimizer.step()
        return weight.detach() * 1


def build():
    return Step()


def inputs(bucket):
    weight = torch.nn.Parameter(torch.linspace(0, 1, bucket["n"]))
    return (weight, torch.ones(bucket["n"]), torch.optim.SGD([weight], lr=0.5)), {}
