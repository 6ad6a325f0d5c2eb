"""Compiled code that aborts when it runs."""

import os

import torch


def deadly(graph, example):
    return lambda *args: os.abort()


BUCKETS = [{"n": 6}]
COMPILE = {"backend": deadly}


class Lift(torch.nn.Module):
    def forward(self, x):
        return x - 1


def build():
    return Lift()


def inputs(bucket):
    return (torch.randn(bucket["n"]),), {}
