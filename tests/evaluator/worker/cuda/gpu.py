"""A device without silicon: streams that do one thing after the other, on a clock that only work moves.

The host spends what a launch takes, a stream begins when the host has submitted and the work before it is done, and an
event has the time at which its stream comes to it. What a timer says of it can be worked out by hand.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

US = 1e-6


class Event:
    def __init__(self, gpu: Gpu) -> None:
        self._gpu = gpu
        self.at: float | None = None

    def record(self, stream: Any) -> None:
        self.at = max(self._gpu.now, self._gpu.ready(stream))

    def query(self) -> bool:
        return self.at is not None and self._gpu.now >= self.at

    def synchronize(self) -> None:
        assert self.at is not None
        self._gpu.now = max(self._gpu.now, self.at)

    def elapsed_time(self, end_event: Any) -> float:
        assert self.at is not None and end_event.at is not None
        return (end_event.at - self.at) / US * 1e-3


@dataclass
class Gpu:
    """``now``: the host's clock in seconds. ``room``: launches that may be under way before the next one has to wait."""

    now: float = 0.0
    current: str = "main"
    room: int | None = None
    taken: int = 0
    ends: dict[str, float] = field(default_factory=dict)
    under_way: list[float] = field(default_factory=list)

    def launch(self, host_us: float, device_us: float, stream: str | None = None) -> None:
        """Submit work that takes ``device_us``, which takes the host ``host_us``."""
        self.now += host_us * US
        self.under_way = [end for end in self.under_way if end > self.now]
        if self.room is not None and len(self.under_way) >= self.room:
            self.now = self.under_way[len(self.under_way) - self.room]
        name = stream or self.current
        self.ends[name] = max(self.now, self.ready(name)) + device_us * US
        self.under_way.append(self.ends[name])

    def ready(self, stream: Any) -> float:
        return self.ends.get(stream, 0.0)

    def clock(self) -> float:
        return self.now

    def stream(self) -> str:
        return self.current

    def event(self) -> Event:
        return Event(self)

    def synchronize(self) -> None:
        self.now = max([self.now, *self.ends.values()])

    def joiner(self, others: Sequence[Any]) -> Callable[[Any], None]:
        def join(stream: Any) -> None:
            self.ends[stream] = max([self.ready(stream), *(self.ready(other) for other in others)])

        return join

    def busy(self) -> bool:
        return self.now < max(self.ends.values(), default=0.0)

    def segments(self) -> int:
        return self.taken
