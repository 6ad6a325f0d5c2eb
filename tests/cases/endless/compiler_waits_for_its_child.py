"""A compiler that starts a program in a session of its own and waits for it for ever, at the second of three sizes.

The wait is in C, where no signal handler of Python's gets a turn. The child's argument names it for whoever looks.
"""

import ctypes
import os
import subprocess

import torch


def waiting(graph, example):
    if example[-1].shape[0] == 5:
        marker = os.environ.get("COMPILEWATCH_TEST_SLEEP", "86397")
        child = subprocess.Popen(["sleep", marker], start_new_session=True)
        ctypes.CDLL(None).waitpid(child.pid, None, 0)
    return graph.forward


BUCKETS = [{"n": 3}, {"n": 5}, {"n": 8}]
COMPILE = {"backend": waiting, "dynamic": False}


def build():
    def lower(x):
        return x - 1

    return lower


def inputs(bucket):
    return (torch.randn(bucket["n"]),), {}
