"""Blocks of memory that are given away before the last stream is done with them.

The caching allocator knows the stream a tensor was made on, and no other one that used it. It gives a freed block to the
next tensor of that stream at once: work of that stream is ordered after its former use there, and use on another
stream only if something waits. ``record_stream`` tells the allocator of the other stream: the block is then held
until that stream is done with what it had when the tensor was freed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from evaluator.ordering.calls import Allocate, RecordStream, Run
from evaluator.ordering.order import Order
from evaluator.ordering.program import Program
from evaluator.ordering.schedule import Schedule


@dataclass(frozen=True)
class Reuse:
    """``storage`` may be written by ``user`` while ``last`` still works on ``old``, whose block it got.

    ``last`` is the last operation of its stream on the block, ``user`` the first of its stream on the new tensor.
    ``looks_right``: with these durations ``user`` starts after the end of ``last``, which proves nothing.
    """

    storage: str
    old: str
    last: str
    user: str
    looks_right: bool
    last_end: float
    user_start: float


@dataclass(frozen=True)
class Held:
    """A block that ``record_stream`` keeps: given to ``storage`` only if it asks after ``until``, else that gets new memory
    (``waited`` false)."""

    storage: str
    old: str
    streams: tuple[str, ...]
    until: float
    asked: float

    @property
    def waited(self) -> bool:
        """Whether the block was free again by the time it was asked for, in these times."""
        return self.asked >= self.until


def reuses(order: Order, times: Schedule) -> tuple[Reuse, ...]:
    """Every reuse that nothing keeps behind the last use, by allocation and stream."""
    return tuple(found for call in order.program.calls for found in _of(order, times, call))


def held(order: Order, times: Schedule) -> tuple[Held, ...]:
    """Every reuse of a block that ``record_stream`` holds back."""
    found = []
    for position, call in enumerate(order.program.calls):
        if isinstance(call, Allocate) and call.reuses is not None:
            streams = recorded(order.program, call.reuses)
            if streams:
                ends = [
                    times.runs[one].end
                    for one in _users(order.program, call.reuses)
                    if order.program.run(one).stream in streams
                ]
                until = max(ends, default=0.0)
                found.append(Held(call.storage, call.reuses, streams, until, times.calls[position].start))
    return tuple(found)


def recorded(program: Program, storage: str) -> tuple[str, ...]:
    """Streams that ``record_stream`` told the allocator of, but for the one it was made on, of which it knows."""
    home = next(
        (call.stream for call in program.calls if isinstance(call, Allocate) and call.storage == storage),
        None,
    )
    told = [
        call.stream for call in program.calls if isinstance(call, RecordStream) and call.storage == storage
    ]
    return tuple(dict.fromkeys(one for one in told if one != home))


def _of(order: Order, times: Schedule, call: object) -> Iterator[Reuse]:
    if not isinstance(call, Allocate):
        return
    old = call.reuses
    firsts = _by_stream(order.program, reversed(_users(order.program, call.storage)))
    while old is not None:
        safe = recorded(order.program, old)
        for stream, last in _by_stream(order.program, _users(order.program, old)).items():
            for user in firsts.values():
                if stream not in safe and not order.ordered(last, user):
                    ended, begun = times.runs[last].end, times.runs[user].start
                    yield Reuse(call.storage, old, last, user, begun >= ended, ended, begun)
        old = _reused_by(order.program, old)


def _reused_by(program: Program, storage: str) -> str | None:
    """Whose block this storage had got: the one before it of the same memory."""
    return next(
        (call.reuses for call in program.calls if isinstance(call, Allocate) and call.storage == storage),
        None,
    )


def _users(program: Program, storage: str) -> list[str]:
    """Operations on a storage, in the order of submission."""
    return [
        call.name
        for call in program.calls
        if isinstance(call, Run) and storage in (*call.reads, *call.writes)
    ]


def _by_stream(program: Program, names: Iterator[str] | list[str]) -> dict[str, str]:
    """The last of these in each stream."""
    return {program.run(name).stream: name for name in names}
