"""What the streams of a device did beside each other: overlap, and work that could not overlap."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from evaluator.chrome_trace.intervals import Pair, length, shared, union
from evaluator.chrome_trace.recording import Recording, Work

# The number that CUPTI gives a context's default stream, and ROCm's. A trace does not say which stream is the default one.
_DEFAULT_STREAMS: Final = (("cu", 7), ("hip", 0))


@dataclass(frozen=True)
class Overlap:
    """How long (µs) two streams of a device worked at the same time, and the share of the one that worked less."""

    first: int | None
    second: int | None
    both: float
    share: float | None


@dataclass(frozen=True)
class Serialised:
    """Work that could not overlap: ``alone`` (all of it was in one stream), or ``never_beside`` (the default stream and the
    others took turns). ``default``: whether ``stream`` is the default one by its usual number; None: unknown."""

    stream: int | None
    kind: Literal["alone", "never_beside"]
    default: bool | None
    others: tuple[int | None, ...] = ()


def by_stream(work: Sequence[Work]) -> dict[int | None, list[Pair]]:
    """The spans of each stream, those with a number first."""
    found: dict[int | None, list[Pair]] = {}
    for one in work:
        found.setdefault(one.stream, []).append((one.start, one.end))
    return dict(sorted(found.items(), key=lambda lane: (lane[0] is None, lane[0] or 0)))


def overlaps(lanes: dict[int | None, list[Pair]]) -> tuple[Overlap, ...]:
    """Each two streams that worked."""
    worked = {stream: length(union(spans)) for stream, spans in lanes.items()}
    found = []
    for (first, second), both in shared(lanes).items():
        less = min(worked[first], worked[second])
        found.append(Overlap(first, second, both, both / less if less > 0 else None))
    return tuple(found)


def default_stream(recording: Recording) -> int | None:
    """The usual number of the default stream for the runtime that this trace shows; None where it shows none."""
    for call in recording.calls:
        for prefix, stream in _DEFAULT_STREAMS:
            if call.name.startswith(prefix):
                return stream
    return None


def serialised(
    recording: Recording, lanes: dict[int | None, list[Pair]], pairs: Sequence[Overlap]
) -> Serialised | None:
    """Work of these streams that could not overlap, if at least two pieces ran; None where nothing of the kind is seen."""
    usual = default_stream(recording)
    if len(lanes) == 1:
        ((stream, spans),) = lanes.items()
        if len(spans) < 2:
            return None
        return Serialised(stream, "alone", None if usual is None or stream is None else stream == usual)
    if usual is None or usual not in lanes:
        return None
    beside = [one for one in pairs if usual in (one.first, one.second)]
    others = tuple(one.second if one.first == usual else one.first for one in beside)
    return Serialised(usual, "never_beside", True, others) if not any(one.both for one in beside) else None
