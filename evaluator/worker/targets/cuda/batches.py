"""Batches of calls on a CUDA device: three intervals of each, and what qualifies them.

Host, device and the wait for it are told apart as of torch's notes on asynchronous execution; nothing here reads a
scalar, allocates or makes an event within a timed region.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

from evaluator.worker.intervals import Interval
from evaluator.worker.targets.cuda.events import Event, EventPair

# More launches than this in flight, and the host may be held up by the queue's length rather than by its own work.
MOST_QUEUED: Final = 500
# A device that is done this soon after the last submission, as a part of the batch, had nothing queued: it waited for
# the host, and the stream's interval has gaps in it.
_DRAINED: Final = 0.1
# Submission that got this much slower than it can be waits for room in the queue.
_SLOWED: Final = 1.5
_LEAST_CALLS_TO_JUDGE: Final = 8


class Device(Protocol):
    """What is used of a device; `device.CudaDevice` is torch's."""

    def stream(self) -> Any:
        """The stream that work is submitted to now."""

    def event(self) -> Event:
        """A new event that keeps time."""

    def synchronize(self) -> None:
        """Hold the host until all streams are done."""

    def joiner(self, others: Sequence[Any]) -> Callable[[Any], None]:
        """What makes a stream wait for all that ``others`` were given when it is called; its events are made here."""

    def segments(self) -> int | None:
        """How often memory was taken from the driver so far; None where this torch does not count it."""


@dataclass(frozen=True)
class Watched:
    """What untimed batches showed of submission and device.

    ``host_s``: submission of a batch, ``wall_s``: until it was done; ``submissions``: host seconds of each call;
    ``launching``: operators a call that work on the device, None where they were not counted; ``elsewhere``: whether any
    worked on a stream that is neither the caller's nor declared, None where nobody could look.
    """

    host_s: float
    wall_s: float
    submissions: tuple[float, ...]
    launching: int | None = None
    elsewhere: bool | None = False

    @property
    def host_bound(self) -> bool:
        """Whether the device waits for the host, so that a stream's interval holds gaps."""
        return drained(self.host_s, self.wall_s)

    @property
    def queue_full(self) -> bool:
        """Whether the host waits for room in the queue, so that its interval is not its own work alone."""
        if self.host_bound:
            return False
        if self.launching is not None and self.launching * len(self.submissions) > MOST_QUEUED:
            return True
        if len(self.submissions) < _LEAST_CALLS_TO_JUDGE:
            return False
        late = self.submissions[-(len(self.submissions) // 4) :]
        quick = statistics.quantiles(self.submissions, n=10, method="inclusive")[0]
        return statistics.median(late) > _SLOWED * quick


def drained(host_s: float, wall_s: float) -> bool:
    """Whether the device was done as good as when the host was, both by the host's clock: it had no work ahead."""
    return wall_s - host_s < _DRAINED * wall_s


class DeviceTimer:
    """Times batches on the stream that is current when it is made."""

    def __init__(
        self,
        device: Device,
        clock: Callable[[], float] = time.perf_counter,
        cpu_clock: Callable[[], float] = time.process_time,
    ) -> None:
        self.device, self._clock, self._cpu_clock = device, clock, cpu_clock
        self._stream = device.stream()
        self._pair = self._primed()
        self._joiners: dict[tuple[Any, ...], Callable[[Any], None]] = {}

    def batch(self, submit: Callable[[], None], streams: Sequence[Any] = ()) -> Interval:
        """The three intervals of what ``submit`` does; the stream's end waits for ``streams``."""
        device, pair, join = self.device, self._pair, self._joiner(streams)
        device.synchronize()
        segments = device.segments()
        cpu, begun = self._cpu_clock(), self._clock()
        pair.start(self._stream)
        submit()
        join(self._stream)
        pair.end(self._stream)
        submitted = self._clock()
        pair.wait()
        # And what works on a stream that nobody declared: the batch is not done before, nor may the next one meet it.
        device.synchronize()
        done, cpu_done = self._clock(), self._cpu_clock()
        new = segments is not None and device.segments() != segments
        return Interval(
            done - begun,
            cpu_done - cpu,
            submitted - begun,
            pair.elapsed_s(),
            ("new_segments",) if new else (),
        )

    def each(
        self, submits: Sequence[Callable[[], None]], before: Callable[[], None], streams: Sequence[Any] = ()
    ) -> Interval:
        """All of these calls, ``before`` (a flush of the device's caches) run ahead of each: ``stream_s`` is the sum of
        the calls' own device seconds, and the other times hold the flushes too.

        One pair a call, all made ahead, and one wait after the last: waiting between calls would empty the queue.
        """
        pairs, join = [self._primed() for _ in submits], self._joiner(streams)
        self.device.synchronize()
        segments = self.device.segments()
        cpu, begun = self._cpu_clock(), self._clock()
        for submit, pair in zip(submits, pairs, strict=True):
            before()
            pair.start(self._stream)
            submit()
            join(self._stream)
            pair.end(self._stream)
        submitted = self._clock()
        self.device.synchronize()
        done, cpu_done = self._clock(), self._cpu_clock()
        flags = ["new_segments"] if self.device.segments() != segments else []
        if drained(submitted - begun, done - begun):
            # The flush was over before the call was submitted, so that the call's own interval has gaps.
            flags.append("host_bound")
        device_s = sum(pair.elapsed_s() for pair in pairs)
        return Interval(done - begun, cpu_done - cpu, submitted - begun, device_s, tuple(flags))

    def watch(
        self, submits: Sequence[Callable[[], None]], during: Callable[[], Any] = lambda: None
    ) -> tuple[float, ...]:
        """Host seconds of each call of an untimed batch. ``during`` is called between two of them, half-way."""
        seconds = []
        self.device.synchronize()
        for place, submit in enumerate(submits):
            begun = self._clock()
            submit()
            seconds.append(self._clock() - begun)
            if place == len(submits) // 2:
                during()
        self.device.synchronize()
        return tuple(seconds)

    def _joiner(self, streams: Sequence[Any]) -> Callable[[Any], None]:
        key = tuple(streams)
        if key not in self._joiners:
            self._joiners[key] = self.device.joiner(key)
        return self._joiners[key]

    def _primed(self) -> EventPair:
        pair = EventPair(self.device.event(), self.device.event())
        pair.prime(self._stream)
        return pair
