"""What a region of a trace cost: its three intervals, the gaps on the device and whose they are, overlap, serialisation.

Work belongs to a region if the call that launched it began inside the region, on whatever thread of that process: a backward
pass is launched by another one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from evaluator.chrome_trace.intervals import Pair, gaps, length, union
from evaluator.chrome_trace.launches import Launch, Launches, match
from evaluator.chrome_trace.recording import Call, Recording, Span, Work
from evaluator.chrome_trace.streams import Overlap, Serialised, by_stream, overlaps, serialised

# A device that waits for the host a tenth of the time: a pair of events around the batch would say a tenth too much.
HOST_SHARE: Final = 0.1
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
class Account:
    """One region on one device, or a whole trace. Intervals are pairs (start, end) in µs; None is unknown.

    ``host``: from the region's start to the return of its last launch. ``stream``: from the start of the first work to the end
    of the last. ``wall``: from the region's start until the host is known to know that all is done (a wait for the device,
    or for a stream if all was in one). ``first_kernel``: µs from the region's start to its first kernel. ``busy``: µs with
    something running. ``bound``: who the other waits for, once at least two pieces of work ran. ``orphans``: work on the device
    that no call in the trace launched, which may or may not belong here. ``lost``: launches of the region whose work the
    trace does not have: then when the device was done, busy or idle is unknown.
    """

    region: Span | None
    device: int | None
    work: tuple[Work, ...]
    launches: tuple[Launch, ...]
    orphans: int
    lost: int
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
        if not self.work and (self.orphans or self.lost):
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
    lost = [call for call in launched.lost if _belongs(call, region)]
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
    lanes = by_stream(work)
    pairs = overlaps(lanes)
    made = [*(launch.call for launch in launches), *lost]
    return Account(
        region,
        device,
        tuple(work),
        tuple(launches),
        orphans,
        len(lost),
        (begun, max(call.end for call in made)) if begun is not None and made else None,
        stream if not lost else None,
        _wall(recording, begun, made, stream, len(lanes)),
        kernels[0] - begun if kernels and begun is not None else None,
        length(union(spans)) if spans and not lost else None,
        holes,
        _bound(stream, holes, len(work)) if not lost else None,
        pairs,
        serialised(recording, lanes, pairs) if not lost else None,
    )


def _inside(launched: Launches, region: Span | None, device: int | None) -> list[Launch]:
    found = []
    for launch in launched.matched:
        call = launch.call
        if not _belongs(call, region):
            continue
        mine = tuple(one for one in launch.work if one.device == device)
        if mine:
            found.append(Launch(call, mine))
    return found


def _belongs(call: Call, region: Span | None) -> bool:
    if region is None:
        return True
    return call.thread[0] == region.thread[0] and region.start <= call.start <= region.end


def _first_host(recording: Recording) -> float | None:
    lanes = (recording.operators, recording.regions, recording.calls)
    return min((lane[0].start for lane in lanes if lane), default=None)


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
    recording: Recording, begun: float | None, made: Sequence[Call], stream: Pair | None, streams: int
) -> Pair | None:
    """Until the first wait that was called after the last launch, returned after the last work was done, and waited for it."""
    if begun is None or stream is None or not made:
        return None
    waits = _WAITS_FOR_ALL + (_WAITS_FOR_ONE if streams == 1 else ())
    launched = max(call.start for call in made)
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
