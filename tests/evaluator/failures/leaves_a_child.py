"""Forks a child in a session of its own, which outlives the call. Its argument names it for whoever looks."""

import os
import subprocess

import torch

BUCKETS = [{"n": 4}]


def build():
    marker = os.environ.get("WATCHFAIL_SLEEP", "86399")
    subprocess.Popen(["sleep", marker], start_new_session=True)
    return torch.sin


def inputs(bucket):
    return (torch.randn(bucket["n"]),), {}
