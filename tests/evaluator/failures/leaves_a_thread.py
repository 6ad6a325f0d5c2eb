"""Leaves a non-daemon thread that never ends: a plain interpreter would wait for it at exit."""

import threading

import torch

BUCKETS = [{"n": 4}]


def build():
    threading.Thread(target=threading.Event().wait, daemon=False).start()
    return torch.sin


def inputs(bucket):
    return (torch.randn(bucket["n"]),), {}
