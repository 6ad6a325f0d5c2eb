"""Which call of which walk an entry of the log belongs to."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar


@dataclass(frozen=True)
class Segment:
    """One call of a walk: the log's size in bytes just before it. ``walk`` is 1 or 2, or 3 for a call
    after both, ``call`` counts from 0."""

    bucket: str
    walk: int
    call: int
    start: int


class HasOffset(Protocol):
    """Anything with a place in the log, in bytes from its start."""

    @property
    def offset(self) -> int: ...


_Item = TypeVar("_Item", bound=HasOffset)


class Calls:
    """Which call of which walk a byte offset of the log falls into."""

    def __init__(self, segments: Sequence[Segment]) -> None:
        self.segments = sorted(segments, key=lambda segment: segment.start)
        self.starts = [segment.start for segment in self.segments]

    def split(self, items: Iterable[_Item]) -> defaultdict[tuple[str, int], list[_Item]]:
        """The items by bucket and walk, in their order."""
        parts: defaultdict[tuple[str, int], list[_Item]] = defaultdict(list)
        for item in items:
            # Calls that wrote nothing share their start with the next one: the last of them is the one that wrote.
            index = bisect_right(self.starts, item.offset) - 1
            if index >= 0:
                parts[self.segments[index].bucket, self.segments[index].walk].append(item)
        return parts

    def reached(self, bucket: str, walk: int) -> bool:
        """Whether this walk came to the bucket."""
        return any(segment.bucket == bucket and segment.walk == walk for segment in self.segments)
