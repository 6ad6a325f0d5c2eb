"""Streams run tick by tick, knowing nothing of graphs: queues, a host that goes through its calls, events that fire.

An independent computation of what ``evaluator.ordering`` derives, and random programs to compare the two on.
"""

from __future__ import annotations

import random
from collections import deque
from dataclasses import dataclass, field

from evaluator.ordering.calls import (
    HOST,
    Call,
    Record,
    Run,
    SyncDevice,
    SyncEvent,
    SyncStream,
    Wait,
    WaitStream,
)
from evaluator.ordering.program import Program


@dataclass
class Event:
    """One recording of an event: fires when its turn in the stream comes."""

    fired: bool = False


@dataclass
class Stream:
    queue: deque[Run | Event | tuple[Event]] = field(default_factory=deque)
    running: tuple[str, int] | None = None

    def marked(self) -> Event:
        event = Event()
        self.queue.append(event)
        return event


def simulate(program: Program) -> dict[str, tuple[int, int]]:
    """Start and end of each operation, for durations and times that are whole numbers."""
    streams: dict[str, Stream] = {name: Stream() for name in program.streams}
    events: dict[str, Event] = {}
    starts: dict[str, int] = {}
    ends: dict[str, int] = {}
    calls = deque(program.calls)
    awaited: list[Event] = []
    busy_until = 0
    for now in range(100_000):
        progress = True
        while progress:
            progress = False
            for stream in streams.values():
                progress |= _step(stream, now, starts, ends)
            if awaited and all(event.fired for event in awaited):
                awaited, progress = [], True
            while calls and not awaited and busy_until <= now and (calls[0].at or 0) <= now:
                awaited, busy_until = _call(calls.popleft(), now, streams, events, starts, ends, busy_until)
                progress = True
        if not calls and all(not one.queue and one.running is None for one in streams.values()):
            return {name: (starts[name], ends[name]) for name in starts}
    raise AssertionError("the simulation did not end")


def _step(stream: Stream, now: int, starts: dict[str, int], ends: dict[str, int]) -> bool:
    if stream.running is not None:
        name, until = stream.running
        if until > now:
            return False
        ends[name], stream.running = until, None
        return True
    if not stream.queue:
        return False
    head = stream.queue[0]
    if isinstance(head, tuple):
        if not head[0].fired:
            return False
    elif isinstance(head, Event):
        head.fired = True
    else:
        starts[head.name] = now
        stream.running = (head.name, now + int(head.duration))
    stream.queue.popleft()
    return True


def _call(
    call: Call,
    now: int,
    streams: dict[str, Stream],
    events: dict[str, Event],
    starts: dict[str, int],
    ends: dict[str, int],
    busy_until: int,
) -> tuple[list[Event], int]:
    """Make a call; what the host now waits for, and until when it computes."""
    if isinstance(call, Run) and call.stream == HOST:
        starts[call.name], ends[call.name] = now, now + int(call.duration)
        return [], now + int(call.duration)
    if isinstance(call, Run):
        streams[call.stream].queue.append(call)
    elif isinstance(call, Record):
        events[call.event] = streams[call.stream].marked()
    elif isinstance(call, Wait) and call.event in events:
        streams[call.stream].queue.append((events[call.event],))
    elif isinstance(call, WaitStream):
        event = streams[call.other].marked()
        streams[call.stream].queue.append((event,))
    elif isinstance(call, SyncEvent):
        return [events[call.event]] if call.event in events else [], busy_until
    elif isinstance(call, SyncStream):
        return [streams[call.stream].marked()], busy_until
    elif isinstance(call, SyncDevice):
        return [one.marked() for one in streams.values()], busy_until
    return [], busy_until


def random_calls(rng: random.Random, most_runs: int = 6, most_streams: int = 4) -> list[Call]:
    """A program of a few operations with as many waits, events and host waits between them, in times that rise."""
    streams = [f"s{n}" for n in range(rng.randint(1, most_streams))]
    calls: list[Call] = []
    at, runs = 0, 0
    target = rng.randint(2, most_runs)
    while runs < target:
        at += rng.choice((0, 0, 1, 3))
        if rng.random() < 0.45:
            stream = HOST if rng.random() < 0.1 else rng.choice(streams)
            calls.append(Run(f"r{runs}", stream, rng.randint(1, 9), at=at if rng.random() < 0.7 else None))
            runs += 1
        else:
            calls.append(random_wait(rng, streams))
    return calls


def random_wait(rng: random.Random, streams: list[str]) -> Call:
    """An event recorded or waited for, or another kind of wait."""
    stream, event = rng.choice(streams), rng.choice(("e", "f"))
    return rng.choice(
        (
            Record(event, stream),
            Record(event, stream),
            Wait(stream, event),
            Wait(stream, event),
            WaitStream(stream, rng.choice(streams)),
            SyncEvent(event),
            SyncStream(stream),
            SyncDevice(),
        )
    )
