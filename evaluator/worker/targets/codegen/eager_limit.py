"""Buckets that are too large for the CPU: one eager call of each is tried beforehand, in a process that can be ended.

On this target every graph runs on the CPU, several times a bucket. A bucket made for a card may take hours of it.
"""

from __future__ import annotations

import os
import select
import signal
import time
from typing import TYPE_CHECKING, Final

from evaluator.worker import calling
from evaluator.worker.session import WORKLOAD_ERRORS, ProbeSession

if TYPE_CHECKING:
    from workloads.registry import Bucket

# The longest eager call, in seconds, of a bucket that is walked.
LIMIT_S: Final = 10.0
_BEGAN: Final = b"b"
_ENDED: Final = b"e"


def too_slow(session: ProbeSession, limit_s: float = LIMIT_S) -> list[str]:
    """Names of the buckets whose eager call takes longer than the limit on this CPU.

    What fails in eager is not slow: the walk tells how it fails.
    """
    slow: list[str] = []
    left = list(session.buckets)
    while left:
        came_to = _try_in_a_process(session, left, limit_s)
        if came_to is None:
            break
        slow.append(left[came_to].name)
        left = left[came_to + 1 :]
    return slow


def _try_in_a_process(session: ProbeSession, buckets: list[Bucket], limit_s: float) -> int | None:
    """The place in the list of the first bucket that took too long; None where none did."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reader)
        _call_each(session, buckets, writer)
    os.close(writer)
    try:
        return _watch(reader, limit_s)
    finally:
        os.close(reader)
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


def _call_each(session: ProbeSession, buckets: list[Bucket], writer: int) -> None:
    """The process: builds once, and tells when each bucket's call begins and ends."""
    try:
        built = session.build()
        for bucket in buckets:
            args, kwargs = session.inputs(bucket)
            os.write(writer, _BEGAN)
            try:
                calling.call(session.workload, built, args, kwargs, seed=session.seed, target=session.target)
            finally:
                os.write(writer, _ENDED)
    except WORKLOAD_ERRORS:
        # What the rest would do is for the walk to find out.
        pass
    finally:
        os._exit(0)


def _watch(reader: int, limit_s: float) -> int | None:
    """Which call (from 0) is still going on after the limit; None once the process is done."""
    begun, deadline = -1, None
    while True:
        wait = None if deadline is None else max(0.0, deadline - time.monotonic())
        ready, _, _ = select.select([reader], [], [], wait)
        if not ready:
            return begun
        said = os.read(reader, 64)
        if not said:
            return None
        begun += said.count(_BEGAN)
        deadline = time.monotonic() + limit_s if said.endswith(_BEGAN) else None
