"""What a region of a trace cost: its three intervals, the gaps on the device and whose they are, overlap, serialisation.

Work belongs to a region if the call that launched it began inside the region, on whatever thread of that process: a backward
pass is launched by another one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from evaluator.chrome_trace.intervals import Pair, gaps, length, shared, union
from evaluator.chrome_trace.launches import Launch, Launches, match
from evaluator.chrome_trace.recording import Call, Recording, Span, Work

# A device that waits for the host a tenth of the time: a pair of events around the batch would say a tenth too much.
HOST_SHARE: Final = 0.1
# The number that CUPTI gives a context's default stream, and ROCm's. A trace does not say which stream is the default one.
_DEFAULT_STREAMS: Final = (("cu", 7), ("hip", 0))
_WAITS_FOR_ALL: Final = ("cudaDeviceSynchronize", "cuCtxSynchronize", "hipDeviceSynchronize")
_WAITS_FOR_ONE: Final = (
    *("cudaStreamSynchronize", "cudaEventSynchronize", "cuStreamSynchronize", "cuEventSynchronize"),
    *("hipStreamSynchronize", "hipEventSynchronize"),
)

Cause = Literal["host", "device"]
Bound = Literal["host", "device"]


@dataclass(frozen=True)
class Gap:
    """The device does nothing at all from ``start`` to ``end`` (µs), before ``follower``, which may be of another region.

    ``cause``: ``host`` if the call that launched the follower had not returned when the gap began, ``device`` if it had
    (a wait between streams, or the time a launch takes); None: that call is not in the trace.
    """

    start: float
    end: float
    follower: Work
    cause: Cause | None


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


@dataclass(frozen=True)
class Account:
    """One region on one device, or a whole trace. Intervals are pairs (start, end) in µs; None is unknown.

    ``host``: from the region's start to the return of its last launch. ``stream``: from the start of the first work to the end
    of the last. ``wall``: from the region's start until the host is known to know that all is done (a wait for the device,
    or for a stream if all was in one). ``first_kernel``: µs from the region's start to its first kernel. ``busy``: µs with
    something running. ``bound``: who the other waits for, once at least two pieces of work ran. ``orphans``: work on the device
    that no call in the trace launched, which may or may not belong here.
    """

    region: Span | None
    device: int | None
    work: tuple[Work, ...]
    launches: tuple[Launch, ...]
    orphans: int
    host: Pair | None
    stream: Pair | None
    wall: Pair | None
    first_kernel: float | None
    busy: float | None
    gaps: tuple[Gap, ...]
    bound: Bound | None
    overlaps: tuple[Overlap, ...]
    serialised: Serialised | None

    @property
    def counts(self) -> dict[str, int] | None:
        """Kernels, copies and sets; None where nothing is known to belong to the region and something might."""
        if not self.work and self.orphans:
            return None
        found = Counter(one.kind for one in self.work)
        return {kind: found[kind] for kind in ("kernel", "copy", "set")}

    def idle(self, cause: Cause | None) -> float:
        """µs of the gaps with this cause."""
        return length((gap.start, gap.end) for gap in self.gaps if gap.cause == cause)


def account(
    recording: Recording, region: Span | None = None, device: int | None = None, found: Launches | None = None
) -> Account | None:
    """What ``region`` (one of the recording's, None: the whole trace) did on ``device``; ``found``: the launches, if they are
    matched already. None where the trace has no work on the device."""
    on_device = [one for one in recording.work if one.device == device]
    if not on_device:
        return None
    launched = found or match(recording)
    launches = _inside(launched, region, device)
    orphans = sum(one.device == device for one in launched.orphans)
    if region is None:
        work: Sequence[Work] = on_device
    else:
        work = sorted((one for launch in launches for one in launch.work), key=lambda one: one.start)
    begun = region.start if region is not None else _first_host(recording)
    spans = [(one.start, one.end) for one in work]
    stream = (spans[0][0], max(end for _, end in spans)) if spans else None
    calls = launched.call_of()
    holes = _gaps(on_device, stream, calls)
    kernels = [one.start for one in work if one.kind == "kernel"]
    by_stream = _by_stream(work)
    overlaps = _overlaps(by_stream)
    returns = [launch.call.end for launch in launches]
    return Account(
        region,
        device,
        tuple(work),
        tuple(launches),
        orphans,
        (begun, max(returns)) if begun is not None and returns else None,
        stream,
        _wall(recording, begun, launches, stream, len(by_stream)),
        kernels[0] - begun if kernels and begun is not None else None,
        length(union(spans)) if spans else None,
        holes,
        _bound(stream, holes, len(work)),
        overlaps,
        _serialised(recording, by_stream, overlaps),
    )


def _inside(launched: Launches, region: Span | None, device: int | None) -> list[Launch]:
    found = []
    for launch in launched.matched:
        call = launch.call
        if region is not None and not (
            call.thread[0] == region.thread[0] and region.start <= call.start <= region.end
        ):
            continue
        mine = tuple(one for one in launch.work if one.device == device)
        if mine:
            found.append(Launch(call, mine))
    return found


def _first_host(recording: Recording) -> float | None:
    lanes = (recording.operators, recording.regions, recording.calls)
    return min((lane[0].start for lane in lanes if lane), default=None)


def _by_stream(work: Sequence[Work]) -> dict[int | None, list[Pair]]:
    found: dict[int | None, list[Pair]] = {}
    for one in work:
        found.setdefault(one.stream, []).append((one.start, one.end))
    return dict(sorted(found.items(), key=lambda lane: (lane[0] is None, lane[0] or 0)))


def _gaps(on_device: Sequence[Work], within: Pair | None, calls: dict[Work, Call]) -> tuple[Gap, ...]:
    if within is None:
        return ()
    begun, ended = within
    near = [one for one in on_device if one.start < ended and one.end > begun]
    starts: dict[float, Work] = {}
    for one in near:
        starts.setdefault(one.start, one)
    found = []
    for start, end in gaps((one.start, one.end) for one in near):
        call = calls.get(starts[end])
        cause: Cause | None = None if call is None else "host" if call.end > start else "device"
        found.append(Gap(start, end, starts[end], cause))
    return tuple(found)


def _wall(
    recording: Recording, begun: float | None, launches: Sequence[Launch], stream: Pair | None, streams: int
) -> Pair | None:
    """Until the first wait that was called after the last launch, returned after the last work was done, and waited for it."""
    if begun is None or stream is None or not launches:
        return None
    waits = _WAITS_FOR_ALL + (_WAITS_FOR_ONE if streams == 1 else ())
    launched = max(launch.call.start for launch in launches)
    ends = [
        call.end
        for call in recording.calls
        if call.name in waits and call.start >= launched and call.end >= stream[1]
    ]
    return (begun, min(ends)) if ends else None


def _bound(stream: Pair | None, holes: Sequence[Gap], pieces: int) -> Bound | None:
    if stream is None or pieces < 2 or stream[1] <= stream[0]:
        return None
    whole = stream[1] - stream[0]
    by_host = length((gap.start, gap.end) for gap in holes if gap.cause == "host") / whole
    unknown = length((gap.start, gap.end) for gap in holes if gap.cause is None) / whole
    if by_host > HOST_SHARE:
        return "host"
    return "device" if by_host + unknown <= HOST_SHARE else None


def _overlaps(by_stream: dict[int | None, list[Pair]]) -> tuple[Overlap, ...]:
    worked = {stream: length(union(spans)) for stream, spans in by_stream.items()}
    found = []
    for (first, second), both in shared(by_stream).items():
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


def _serialised(
    recording: Recording, by_stream: dict[int | None, list[Pair]], overlaps: Sequence[Overlap]
) -> Serialised | None:
    usual = default_stream(recording)
    if len(by_stream) == 1:
        ((stream, spans),) = by_stream.items()
        if len(spans) < 2:
            return None
        return Serialised(stream, "alone", None if usual is None or stream is None else stream == usual)
    if usual is None or usual not in by_stream:
        return None
    beside = [one for one in overlaps if usual in (one.first, one.second)]
    others = tuple(one.second if one.first == usual else one.first for one in beside)
    return Serialised(usual, "never_beside", True, others) if not any(one.both for one in beside) else None
