"""One batch of calls on a clock: what a timing round measures, whatever the target."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol


@dataclass(frozen=True)
class Interval:
    """Seconds of one batch, each by one clock alone; they are never added to or taken from each other.

    ``wall_s``: host, from before the batch until all of it is known done. ``cpu_s``: processor time meanwhile, all
    threads. ``host_s``: host, until the last call was submitted; None where a call returns when it is done.
    ``stream_s``: device, from before the batch's first work to after its last; None where there is no such clock, or
    ``flags`` say why not.
    """

    wall_s: float
    cpu_s: float
    host_s: float | None = None
    stream_s: float | None = None
    flags: tuple[str, ...] = ()


class Timer(Protocol):
    """Measures batches on one kind of target."""

    def batch(self, submit: Callable[[], None], streams: Sequence[Any] = ()) -> Interval:
        """Run ``submit``, which makes the batch's calls. ``streams``: the side streams that they say they work on."""
        ...


class HostTimer:
    """The timer of a target whose calls return when they are done."""

    def batch(self, submit: Callable[[], None], streams: Sequence[Any] = ()) -> Interval:
        """The batch until its last call returned."""
        cpu, wall = time.process_time(), time.perf_counter()
        submit()
        return Interval(time.perf_counter() - wall, time.process_time() - cpu)
