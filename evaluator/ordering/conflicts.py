"""Who relies on whom, and whether anything makes it so.

An operation relies on another if it reads what that one wrote, overwrites what it read or wrote, or says so (``after``).
Only the nearest one counts: where each is ordered after its nearest, all are.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal

from evaluator.ordering.calls import Run, streams_of
from evaluator.ordering.order import Node, Order
from evaluator.ordering.program import Program
from evaluator.ordering.schedule import Schedule

Kind = Literal["reads", "overwrites_written", "overwrites_read", "relies"]
# How a wait that is there fails to help: it covers only what was submitted before; its event was not recorded yet; it comes
# after the consumer; the consumer's stream is not the one that waits.
Miss = Literal["early", "unrecorded", "late", "elsewhere"]
_WORST_FIRST: Final[tuple[Miss, ...]] = ("unrecorded", "early", "late", "elsewhere")


@dataclass(frozen=True)
class Dependency:
    """``consumer`` must start after ``producer`` has ended; ``storage`` is what they share, None if nothing."""

    producer: str
    consumer: str
    kind: Kind
    storage: str | None = None


@dataclass(frozen=True)
class Verdict:
    """What the order says of a dependency, and what these times look like.

    ``ordered``: in every run. ``looks_right``: with these durations the consumer starts after the producer's end, which
    proves nothing. ``through``: positions of the waits that order them. ``missed``: position of a wait that was meant
    to, perhaps, and ``miss`` why it doesn't.
    """

    dependency: Dependency
    ordered: bool
    looks_right: bool
    producer_end: float
    consumer_start: float
    through: tuple[int, ...] = ()
    missed: int | None = None
    miss: Miss | None = None


def dependencies(program: Program) -> tuple[Dependency, ...]:
    """All that a program relies on, by consumer in the order of submission, each once."""
    found: dict[Dependency, None] = {}
    written: dict[str, str] = {}
    read: dict[str, list[str]] = {}
    for call in program.calls:
        if not isinstance(call, Run):
            continue
        for other in call.after:
            found[Dependency(other, call.name, "relies")] = None
        for storage in dict.fromkeys(call.reads):
            if storage in written:
                found[Dependency(written[storage], call.name, "reads", storage)] = None
        for storage in dict.fromkeys(call.writes):
            for reader in read.get(storage, ()):
                found[Dependency(reader, call.name, "overwrites_read", storage)] = None
            if storage in written and storage not in call.reads:
                found[Dependency(written[storage], call.name, "overwrites_written", storage)] = None
            written[storage], read[storage] = call.name, []
        for storage in set(call.reads) - set(call.writes):
            read.setdefault(storage, []).append(call.name)
    return tuple(found)


def verdicts(order: Order, times: Schedule) -> tuple[Verdict, ...]:
    """A verdict for each dependency of the program."""
    return tuple(_verdict(order, times, one) for one in dependencies(order.program))


def _verdict(order: Order, times: Schedule, one: Dependency) -> Verdict:
    ended, begun = times.runs[one.producer].end, times.runs[one.consumer].start
    if order.ordered(one.producer, one.consumer):
        return Verdict(one, True, True, ended, begun, order.through(one.producer, one.consumer))
    misses = sorted(_misses(order, one), key=lambda found: (_WORST_FIRST.index(found[1]), -found[0]))
    missed, miss = misses[0] if misses else (None, None)
    return Verdict(one, False, begun >= ended, ended, begun, (), missed, miss)


def _misses(order: Order, one: Dependency) -> Iterator[tuple[int, Miss]]:
    """Waits that come near to ordering the two."""
    producer, consumer = order.node(one.producer), order.node(one.consumer)
    source = order.program.run(one.producer).stream
    own = order.program.run(one.consumer).stream
    for position, cover in order.covers.items():
        mine = streams_of(order.program.calls[position])[:1]
        node = Node(position, device=Node(position, device=True) in order.before)
        leads = order.follows(consumer, node)
        # A host wait (no device node) holds back whatever is submitted after it, to any stream.
        here = not node.device or mine == (own,)
        if cover is None:
            if leads and here:
                yield position, "unrecorded"
        elif source in cover.streams and cover.until < producer.call:
            if leads:
                yield position, "early"
        elif order.follows(node, producer):
            if here and position > consumer.call:
                yield position, "late"
            elif not leads and position < consumer.call:
                yield position, "elsewhere"
