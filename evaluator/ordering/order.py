"""Which operations are ordered in every run of a program, whatever anything takes: happens-before over its waits.

A program is a graph without times. Each call has a node on the host, and where it puts something into a stream one on the
device. The host's nodes follow one another; a device node follows its call's, and what was in its stream before; a wait
also follows what it waits for. An operation is ordered after another if a path leads from the end of the one to the
start of the other, and then it is so for all durations. Where there is no path there are durations for which the two
overlap, since nothing in the graph makes the second one late when the first is slow.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property

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


@dataclass(frozen=True, order=True)
class Node:
    """What a call does on the host (its return), or on the device (completion). ``call`` is its position."""

    call: int
    device: bool


@dataclass(frozen=True)
class Cover:
    """What a wait is for: work that was in these streams before the call at ``until``."""

    streams: frozenset[str]
    until: int


@dataclass
class _Building:
    tails: dict[str, Node] = field(default_factory=dict)
    records: dict[str, tuple[int, str]] = field(default_factory=dict)
    before: dict[Node, tuple[Node, ...]] = field(default_factory=dict)
    covers: dict[int, Cover | None] = field(default_factory=dict)


@dataclass(frozen=True)
class Order:
    """Who is before whom in a program.

    ``before``: for each node those it directly follows; a node's own duration comes after all of them. Nodes stand in an
    order in which none comes before one that it follows. ``covers``: for each call that waits what it waits for, None
    where that is nothing (an event that was not recorded).
    """

    program: Program
    before: dict[Node, tuple[Node, ...]]
    covers: dict[int, Cover | None]

    def node(self, name: str) -> Node:
        """Where an operation runs: on the host or on the device. Raises KeyError."""
        return Node(self.program.runs[name], self.program.run(name).stream != HOST)

    def ordered(self, first: str, second: str) -> bool:
        """Whether ``second`` starts after ``first`` has ended in every run. Raises KeyError for what is no operation."""
        return self.follows(self.node(second), self.node(first))

    def follows(self, node: Node, earlier: Node) -> bool:
        """Whether a path leads from ``earlier`` to ``node``, which are not the same."""
        return node != earlier and bool(self._reached[node] >> self._bits[earlier] & 1)

    def through(self, first: str, second: str) -> tuple[int, ...]:
        """Positions of the waits that order ``second`` after ``first``, in order; empty: they share a stream, the host
        itself, or nothing orders them."""
        node, goal = self.node(second), self.node(first)
        if not self.follows(node, goal) or self.program.run(first).stream == self.program.run(second).stream:
            return ()
        found = []
        while node != goal:
            # The latest of those it follows that lead back to the goal: by the waits nearest to the consumer.
            earlier = max(one for one in self.before[node] if one == goal or self.follows(one, goal))
            if self.awaits(node, earlier):
                found.append(node.call)
            node = earlier
        return tuple(reversed(found))

    def awaits(self, node: Node, earlier: Node) -> bool:
        """Whether ``earlier``, which ``node`` directly follows, is what it waits for: not its own call, nor what was in
        its stream, or made by the host, before."""
        if node.call not in self.covers or not earlier.device:
            return False
        mine, other = (getattr(self.program.calls[one.call], "stream", None) for one in (node, earlier))
        return not node.device or mine != other

    @cached_property
    def _bits(self) -> dict[Node, int]:
        return {node: bit for bit, node in enumerate(self.before)}

    @cached_property
    def _reached(self) -> dict[Node, int]:
        """For each node a set of bits: itself and all that it follows."""
        found: dict[Node, int] = {}
        for node, earlier in self.before.items():
            found[node] = 1 << self._bits[node]
            for one in earlier:
                found[node] |= found[one]
        return found


def order_of(program: Program) -> Order:
    """The order that a program makes."""
    made = _Building()
    for position, call in enumerate(program.calls):
        host = Node(position, device=False)
        previous = (Node(position - 1, device=False),) if position else ()
        made.before[host] = (*previous, *_host_waits(made, program, position, call))
        _submit(made, position, call, host)
    return Order(program, made.before, made.covers)


def _host_waits(made: _Building, program: Program, position: int, call: Call) -> Iterable[Node]:
    """What the host waits for in this call; noted in ``covers``."""
    match call:
        case SyncEvent():
            return _recorded(made, position, call.event)
        case SyncStream():
            streams: tuple[str, ...] = (call.stream,)
        case SyncDevice():
            streams = program.streams
        case _:
            return ()
    made.covers[position] = Cover(frozenset(streams), position)
    return [made.tails[stream] for stream in streams if stream in made.tails]


def _recorded(made: _Building, position: int, event: str) -> tuple[Node, ...]:
    if event not in made.records:
        made.covers[position] = None
        return ()
    at, stream = made.records[event]
    made.covers[position] = Cover(frozenset({stream}), at)
    return (Node(at, device=True),)


def _submit(made: _Building, position: int, call: Call, host: Node) -> None:
    """Put what the call has for a stream into it."""
    match call:
        case Run(stream=stream) if stream != HOST:
            waits: tuple[Node, ...] = ()
        case Record(stream=stream):
            made.records[call.event] = (position, stream)
            waits = ()
        case Wait(stream=stream):
            waits = _recorded(made, position, call.event)
        case WaitStream(stream=stream):
            made.covers[position] = Cover(frozenset({call.other}), position)
            waits = (made.tails[call.other],) if call.other in made.tails else ()
        case _:
            return
    node = Node(position, device=True)
    earlier = (made.tails[stream],) if stream in made.tails else ()
    made.before[node] = tuple(dict.fromkeys((host, *earlier, *waits)))
    made.tails[stream] = node
