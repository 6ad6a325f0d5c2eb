"""Keeping torch's own lines out of a workload's log."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from typing import Final

_OUTPUTS: Final = (1, 2)


@contextlib.contextmanager
def muted() -> Iterator[None]:
    """What this process writes to its outputs meanwhile is dropped, that of native code too: the profiler's start and stop
    say so there."""
    kept = [os.dup(fd) for fd in _OUTPUTS]
    null = os.open(os.devnull, os.O_WRONLY)
    try:
        for fd in _OUTPUTS:
            os.dup2(null, fd)
        yield
    finally:
        for fd, old in zip(_OUTPUTS, kept, strict=True):
            os.dup2(old, fd)
            os.close(old)
        os.close(null)
