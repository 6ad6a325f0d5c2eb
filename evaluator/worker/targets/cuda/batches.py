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
# Of the calls after which the device was already idle: beyond this part the stream's interval has gaps in it.
_IDLE_SHARE: Final = 0.1
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

    def join(self, stream: Any, others: Sequence[Any]) -> None:
        """Make ``stream`` wait for all that ``others`` were given so far."""

    def idle(self, stream: Any) -> bool:
        """Whether ``stream`` has done all it was given; asks, and does not wait."""

    def segments(self) -> int | None:
        """How often memory was taken from the driver so far; None where this torch does not count it."""


@dataclass(frozen=True)
class Watched:
    """What an untimed batch showed of submission and device.

    ``idle``: calls after whose submission the device had nothing left to do; ``submissions``: host seconds of each call;
    ``launching``: operators a call that work on the device, None where they were not counted; ``elsewhere``: whether any
    worked on a stream that is neither the caller's nor declared, None where nobody could look.
    """

    idle: int
    submissions: tuple[float, ...]
    launching: int | None = None
    elsewhere: bool | None = False

    @property
    def host_bound(self) -> bool:
        """Whether the device waits for the host, so that a stream's interval holds gaps."""
        return self.idle >= _IDLE_SHARE * len(self.submissions) and self.idle > 0

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


class DeviceTimer:
    """Times batches on the stream that is current when it is made."""

    has_device = True

    def __init__(
        self,
        device: Device,
        clock: Callable[[], float] = time.perf_counter,
        cpu_clock: Callable[[], float] = time.process_time,
    ) -> None:
        self.device, self._clock, self._cpu_clock = device, clock, cpu_clock
        self._stream = device.stream()
        self._pair = self._primed()

    def batch(self, submit: Callable[[], None], streams: Sequence[Any] = ()) -> Interval:
        """The three intervals of what ``submit`` does; the stream's end waits for ``streams``."""
        device, pair = self.device, self._pair
        device.synchronize()
        segments = device.segments()
        cpu, begun = self._cpu_clock(), self._clock()
        pair.start(self._stream)
        submit()
        device.join(self._stream, streams)
        pair.end(self._stream)
        submitted = self._clock()
        pair.wait()
        done, cpu_done = self._clock(), self._cpu_clock()
        # What works on a stream that nobody declared may go on: the next batch must not meet it.
        device.synchronize()
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
    ) -> float:
        """Mean device seconds of one call, ``before`` (a flush of the device's caches) run ahead of each and not timed.

        One pair a call, all made ahead, and one wait after the last: waiting between calls would empty the queue.
        """
        pairs = [self._primed() for _ in submits]
        self.device.synchronize()
        for submit, pair in zip(submits, pairs, strict=True):
            before()
            pair.start(self._stream)
            submit()
            self.device.join(self._stream, streams)
            pair.end(self._stream)
        self.device.synchronize()
        return statistics.fmean(pair.elapsed_s() for pair in pairs)

    def watch(
        self, submits: Sequence[Callable[[], None]], during: Callable[[], Any] = lambda: None
    ) -> tuple[int, tuple[float, ...]]:
        """An untimed batch, call by call: (calls after which the device was idle, host seconds of each).

        ``during`` is called once all is submitted, while the device works on what it has not done yet.
        """
        idle, seconds = 0, []
        self.device.synchronize()
        for submit in submits:
            begun = self._clock()
            submit()
            seconds.append(self._clock() - begun)
            idle += self.device.idle(self._stream)
        during()
        self.device.synchronize()
        return idle, tuple(seconds)

    def _primed(self) -> EventPair:
        pair = EventPair(self.device.event(), self.device.event())
        pair.prime(self._stream)
        return pair
