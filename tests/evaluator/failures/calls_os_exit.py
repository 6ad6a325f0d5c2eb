"""Ends the process at once with success, so that the exit status alone says nothing."""

import os

import torch

BUCKETS = [{"n": 4}]


def build():
    os._exit(0)


def inputs(bucket):
    return (torch.randn(bucket["n"]),), {}
