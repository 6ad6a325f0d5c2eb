"""A compiler that takes the process with it at the second of three sizes."""

import os
import signal

import torch


def deadly(graph, example):
    if example[-1].shape[0] == 5:
        os.kill(os.getpid(), signal.SIGSEGV)
    return graph.forward


BUCKETS = [{"n": 3}, {"n": 5}, {"n": 8}]
COMPILE = {"backend": deadly, "dynamic": False}


def build():
    def lift(x):
        return x + 1

    return lift


def inputs(bucket):
    return (torch.randn(bucket["n"]),), {}
