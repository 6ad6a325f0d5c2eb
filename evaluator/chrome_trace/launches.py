"""What the host launched, matched with what ran: by the correlation id that both sides carry."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from evaluator.chrome_trace.recording import Call, Recording, Work

# Calls of the runtime and the driver that put work on the device.
_LAUNCHES: Final = re.compile(r"^(cuda|cu|hip)\w*(Launch|Mem(cpy|set)\w*Async)")


@dataclass(frozen=True)
class Launch:
    """A call and the work it launched, by start: one kernel, or all of a graph that was replayed."""

    call: Call
    work: tuple[Work, ...]

    @property
    def delay(self) -> float:
        """From the call's start to the start of its first work, µs; the clocks of host and device are the trace's."""
        return self.work[0].start - self.call.start


@dataclass(frozen=True)
class Launches:
    """``matched`` by the call's start. ``orphans``: work that no call in the trace launched, or that names none.
    ``lost``: calls that launch something by their name, and whose work is not in the trace: the profiler had no room, the file
    was cut off, or the call was captured into a graph. ``repeated``: correlation ids that several calls carry; the first call has them."""

    matched: tuple[Launch, ...]
    orphans: tuple[Work, ...]
    lost: tuple[Call, ...] = ()
    repeated: int = 0

    def call_of(self) -> dict[Work, Call]:
        """The call of each piece of work that has one."""
        return {work: launch.call for launch in self.matched for work in launch.work}


def match(recording: Recording) -> Launches:
    """Match every call with its work."""
    calls: dict[int, Call] = {}
    repeated = set()
    for call in recording.calls:
        if call.correlation is None:
            continue
        if call.correlation in calls:
            repeated.add(call.correlation)
        calls.setdefault(call.correlation, call)
    work: dict[int, list[Work]] = {}
    orphans = []
    for one in recording.work:
        if one.correlation is not None and one.correlation in calls:
            work.setdefault(one.correlation, []).append(one)
        else:
            orphans.append(one)
    matched = sorted(
        (Launch(calls[correlation], tuple(done)) for correlation, done in work.items()),
        key=lambda launch: launch.call.start,
    )
    lost = [call for call in recording.calls if call.correlation not in work and _LAUNCHES.search(call.name)]
    return Launches(tuple(matched), tuple(orphans), tuple(lost), len(repeated))
