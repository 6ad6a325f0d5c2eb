"""What a timing on a CUDA device asks for besides its rounds: how it was submitted, and calls that find no cache filled."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Final

from evaluator.worker.protocol import Sample
from evaluator.worker.rounds import Qualities, Rounds, State, no_collection, sample, turns
from evaluator.worker.sides import Side
from evaluator.worker.targets.cuda import nvml, presence
from evaluator.worker.targets.cuda.batches import DeviceTimer, Watched
from evaluator.worker.targets.cuda.device import Flush, StreamsUsed

FLUSHED: Final = "flushed_ms"
# Each has an event pair and a flush of its own, which take longer than a short call does.
_MOST_FLUSHED: Final = 50


def looked_at(
    timer: DeviceTimer, sides: Sequence[Side], rounds: Rounds
) -> tuple[dict[str, Qualities], dict[str, State]]:
    """An untimed batch of each side: what it says of the numbers of all rounds, and how the device was while it worked,
    both by mode.

    Which streams are worked on is seen in eager, whose operators torch dispatches one by one. The compiled side is taken
    to work on no others: what torch makes of a stream in a compiled region differs by version, and may be the caller's.
    """
    found: dict[str, Qualities] = {}
    busy: dict[str, State] = {}
    elsewhere: bool | None = None
    for side in sides:
        launching = None
        if side.mode == "eager":
            launching, elsewhere = _dispatched(timer, side, rounds)
        inputs = rounds.inputs(side)
        with no_collection():
            whole = side.batch(timer, inputs)
        calls = [partial(side.submit, [one]) for one in rounds.inputs(side)]
        with side.ready(), no_collection():
            seconds = timer.watch(calls, partial(_noted, busy, side.mode, rounds))
        assert whole.host_s is not None  # a device has it
        found[side.mode] = qualities(Watched(whole.host_s, whole.wall_s, seconds, launching, elsewhere))
    return found, busy


def _noted(busy: dict[str, State], mode: str, rounds: Rounds) -> None:
    busy[mode] = rounds.state()


def device_state() -> tuple[Callable[[], State], str | None]:
    """How the device is at a moment, by NVML, and why that can't be read, None where it can."""
    try:
        return presence.reader().snapshot, None
    except nvml.NoNvml as why:
        return dict, str(why)


def qualities(watched: Watched) -> Qualities:
    """What an untimed batch says beside the numbers: gaps in the stream's interval, a host held up by the queue, and no
    stream's interval where work went to a stream that the end does not wait for."""
    if watched.elsewhere:
        return Qualities(missing={"stream_ms": "undeclared_stream", FLUSHED: "undeclared_stream"})
    beside = ["host_bound"] if watched.host_bound else []
    if watched.elsewhere is None:
        beside.append("streams_unseen")
    flags = {"stream_ms": beside, FLUSHED: beside[-1:] if watched.elsewhere is None else []}
    if watched.queue_full:
        flags["host_ms"] = ["queue_full"]
    return Qualities(flags)


def flushed(
    timer: DeviceTimer, sides: Sequence[Side], rounds: Rounds, number: int, by_mode: Mapping[str, Qualities]
) -> list[Sample]:
    """Device time of calls that each find the device's L2 cache flushed, a series of its own."""
    flush = Flush()
    samples: list[Sample] = []
    for one, side in turns(sides, range(number)):
        if FLUSHED in by_mode[side.mode].missing:
            continue
        calls = [partial(side.submit, [each]) for each in rounds.inputs(side)[:_MOST_FLUSHED]]
        with no_collection(), rounds.observed() as flags, side.ready():
            interval = timer.each(calls, flush, side.streams)
        assert interval.stream_s is not None  # a device has it
        said = [*flags, *interval.flags, *by_mode[side.mode].flags.get(FLUSHED, ())]
        samples.append(sample(f"{side.mode}.{FLUSHED}", one, interval.stream_s * 1e3 / len(calls), said))
    return samples


def _dispatched(timer: DeviceTimer, side: Side, rounds: Rounds) -> tuple[int | None, bool | None]:
    """One untimed call of eager: operators that work on the device, and whether any worked on an undeclared stream. Both
    None where the workload can't be called so: what compiles a part of itself, or sets modes of its own, may refuse."""
    device = timer.device
    used = StreamsUsed(device, [device.stream(), *side.streams])
    inputs = rounds.inputs(side)[:1]
    try:
        with side.ready(), used:
            side.submit(inputs)
    except Exception:  # noqa: BLE001 - it has run without being looked at, so that looking is what fails
        return None, None
    finally:
        device.synchronize()
    return used.launching, used.elsewhere
