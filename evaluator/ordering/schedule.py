"""The earliest times of a program for the durations it has: each node as soon as all that it follows are done.

The same graph as in ``order``, with times on it; so an operation that is ordered after another never starts before its end.
Times are in the program's own unit.
"""

from __future__ import annotations

from dataclasses import dataclass

from evaluator.ordering.calls import HOST, Run
from evaluator.ordering.order import Node, Order


@dataclass(frozen=True)
class Span:
    """From when to when; ``start`` <= ``end``."""

    start: float
    end: float


@dataclass(frozen=True)
class Schedule:
    """Earliest times. ``runs``: by operation. ``calls``: when the host makes each call and when it is past it, by
    position; the two differ where it waits or computes. ``held``: waits in streams (by position) from when the stream
    has nothing else left to do before them, to when they are over; of no length where nothing had to be waited for.
    ``met``: for each wait for something (by position, in streams and on the host) when that is complete.
    """

    runs: dict[str, Span]
    calls: tuple[Span, ...]
    held: dict[int, Span]
    met: dict[int, float]

    @property
    def end(self) -> float:
        """When everything is over; 0 for an empty program."""
        spans = (*self.runs.values(), *self.calls, *self.held.values())
        return max((span.end for span in spans), default=0.0)


def schedule(order: Order) -> Schedule:
    """The earliest start and end of each operation, and when the host makes its calls."""
    done: dict[Node, float] = {}
    runs: dict[str, Span] = {}
    calls: list[Span] = []
    held: dict[int, Span] = {}
    met: dict[int, float] = {}
    for node, earlier in order.before.items():
        call = order.program.calls[node.call]
        ready = max((done[one] for one in earlier), default=0.0)
        awaited = [done[one] for one in earlier if order.awaits(node, one)]
        if awaited:
            met[node.call] = max(awaited)
        if not node.device:
            made = max(calls[-1].end if calls else 0.0, call.at or 0.0)
            begun = ready = max(ready, made)
            if isinstance(call, Run) and call.stream == HOST:
                ready += call.duration
                runs[call.name] = Span(begun, ready)
            calls.append(Span(made, ready))
        elif isinstance(call, Run):
            runs[call.name] = Span(ready, ready + call.duration)
            ready += call.duration
        elif node.call in order.covers:
            # From when its call was made, and what was in the stream before it was done.
            own = [done[one] for one in earlier if not order.awaits(node, one)]
            held[node.call] = Span(max(own), ready)
        done[node] = ready
    return Schedule(runs, tuple(calls), held, met)
