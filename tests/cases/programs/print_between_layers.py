"""A print that was left in, over two batch sizes: one place, and again in what is compiled for the second size."""

import torch

BUCKETS = [{"rows": 3}, {"rows": 7}]
COMPILE = {"backend": "eager"}


class Talking(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = torch.nn.Linear(5, 4)
        self.second = torch.nn.Linear(4, 2)

    def forward(self, x):
        hidden = self.first(x).tanh()
        print("rows", hidden.shape[0])
        return self.second(hidden)


def build():
    return Talking()


def inputs(bucket):
    return (torch.randn(bucket["rows"], 5),), {}
