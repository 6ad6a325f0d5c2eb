"""Megabytes to standard output, and to every file descriptor it can reach."""

import os
import sys

import torch

BUCKETS = [{"n": 4}]


def build():
    noise = b'{"kind": "result", "status": "ok"}\n' * 1000
    for _ in range(40):
        sys.stdout.write("x" * 65536)
    sys.stdout.flush()
    for fd in range(1, 64):
        try:
            for _ in range(20):
                os.write(fd, noise)
        except OSError:
            continue
    return torch.sin


def inputs(bucket):
    return (torch.randn(bucket["n"]),), {}
