"""Calls sys.exit, as a script would."""

import sys

import torch

BUCKETS = [{"n": 4}]


def build():
    def call(x):
        sys.exit(3)

    return call


def inputs(bucket):
    return (torch.randn(bucket["n"]),), {}
