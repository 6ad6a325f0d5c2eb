"""Which things of two sides are one thing, by what they are and one to one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import TypeVar

T = TypeVar("T")
Key = Callable[[T], Hashable]


def matched(
    base: Sequence[T], candidate: Sequence[T], keys: Iterable[Key[T]]
) -> tuple[list[tuple[T, T]], list[T], list[T]]:
    """Pairs that are one thing by the first key that says so, one to one in order, and what each side has left.

    A key that gives None for a thing matches it with nothing.
    """
    pairs: list[tuple[T, T]] = []
    ours, theirs = list(base), list(candidate)
    for key in keys:
        if not (ours and theirs):
            break
        waiting: dict[Hashable, list[int]] = defaultdict(list)
        for position, one in enumerate(theirs):
            waiting[key(one)].append(position)
        left, taken = [], set()
        for one in ours:
            name = key(one)
            if name is not None and waiting[name]:
                found = waiting[name].pop(0)
                taken.add(found)
                pairs.append((one, theirs[found]))
            else:
                left.append(one)
        ours = left
        theirs = [one for position, one in enumerate(theirs) if position not in taken]
    return pairs, ours, theirs
