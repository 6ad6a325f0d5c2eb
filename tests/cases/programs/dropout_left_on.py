"""Dropout in train mode, compiled for good: other random numbers than eager's are no error."""

import torch

BUCKETS = [{"rows": 6}]


def build():
    return torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.Dropout(0.5)).train()


def inputs(bucket):
    return (torch.randn(bucket["rows"], 8),), {}
