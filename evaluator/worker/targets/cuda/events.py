"""Pairs of device events, and what must hold before the time between two of them is a number.

An event stands for a place in a stream's order of work; its time is known once the device came there. A pair is made and
recorded once before anything is sampled, since making an event may wait for the device, and torch makes one when it is
first recorded.
"""

from __future__ import annotations

from typing import Any, Final, Protocol

_MS: Final = 1e-3


class Event(Protocol):
    """What is used of ``torch.cuda.Event(enable_timing=True)``."""

    def record(self, stream: Any) -> None: ...
    def query(self) -> bool: ...
    def synchronize(self) -> None: ...
    def elapsed_time(self, end_event: Any, /) -> float: ...


class EventOrderError(RuntimeError):
    """Events were used in an order in which the time between them means nothing; the message says which."""


class EventPair:
    """A start and an end on one stream, read once for each time that both were recorded.

    Every method raises EventOrderError where it is not its turn: ``prime``, then ``start``, ``end``, ``wait``,
    ``elapsed_s`` for each interval.
    """

    def __init__(self, start: Event, end: Event) -> None:
        self._start, self._end = start, end
        self._stream: Any = None
        self._state = "new"

    def prime(self, stream: Any) -> None:
        """Record both once and wait for them, so that no later use has to make an event."""
        self._expect("new", "primed twice")
        self._start.record(stream)
        self._end.record(stream)
        self._end.synchronize()
        self._state = "ready"

    def start(self, stream: Any) -> None:
        """Begin an interval after the work that ``stream`` was given so far."""
        self._expect(
            "ready", "the start was recorded before the pair was primed, or before its last interval was read"
        )
        self._stream = stream
        self._start.record(stream)
        self._state = "started"

    def end(self, stream: Any) -> None:
        """End the interval after the work that ``stream``, the one it began on, was given so far."""
        self._expect("started", "the end was recorded without a start")
        if stream != self._stream:
            raise EventOrderError("the interval began on another stream than the one it ends on")
        self._end.record(stream)
        self._state = "ended"

    def wait(self) -> None:
        """Hold the host until the device came to the end."""
        self._expect("ended", "the host would wait for an end that was not recorded")
        self._end.synchronize()

    def elapsed_s(self) -> float:
        """Seconds on the device's clock between the two."""
        self._expect("ended", "the time was asked of an interval that was not ended, or was read before")
        if not (self._start.query() and self._end.query()):
            raise EventOrderError("the time was asked before the device came to both events")
        elapsed = self._start.elapsed_time(self._end) * _MS
        if elapsed < 0:
            raise EventOrderError(f"the end came {-elapsed} s before the start")
        self._state = "ready"
        return elapsed

    def _expect(self, state: str, wrong: str) -> None:
        if self._state != state:
            raise EventOrderError(wrong)
