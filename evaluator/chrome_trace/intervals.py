"""Arithmetic of spans of time, each a pair (start, end). Pure."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from itertools import pairwise
from typing import TypeVar

Pair = tuple[float, float]
K = TypeVar("K", bound=Hashable)


def union(spans: Iterable[Pair]) -> list[Pair]:
    """The time that at least one of them covers, as pairs in order that neither overlap nor touch."""
    found: list[Pair] = []
    for start, end in sorted(spans):
        if found and start <= found[-1][1]:
            found[-1] = (found[-1][0], max(found[-1][1], end))
        else:
            found.append((start, end))
    return found


def length(spans: Iterable[Pair]) -> float:
    """How long all of them are together."""
    return sum(end - start for start, end in spans)


def gaps(spans: Iterable[Pair]) -> list[Pair]:
    """What lies between the first start and the last end, and none of them covers."""
    merged = union(spans)
    return [(before[1], after[0]) for before, after in pairwise(merged)]


def shared(lanes: Mapping[K, Iterable[Pair]]) -> dict[tuple[K, K], float]:
    """For each two lanes, in the order of ``lanes``, how long both are covered at the same time."""
    names = list(lanes)
    found = {(one, other): 0.0 for at, one in enumerate(names) for other in names[at + 1 :]}
    # Ends before starts at one time, so that what touches does not overlap.
    edges = sorted(
        (time, opens, at)
        for at, name in enumerate(names)
        for start, end in union(lanes[name])
        if end > start
        for time, opens in ((start, True), (end, False))
    )
    covered: set[int] = set()
    since = 0.0
    for time, opens, at in edges:
        if len(covered) > 1 and time > since:
            for one in covered:
                for other in covered:
                    if one < other:
                        found[names[one], names[other]] += time - since
        since = time
        (covered.add if opens else covered.discard)(at)
    return found
