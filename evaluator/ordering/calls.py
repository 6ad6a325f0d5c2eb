"""What a host can call: each on a stream, on events, or on storage.

Streams, events and storage are names. The host is one thread and makes its calls one after another; a call takes it no
time, but for ``Run`` on ``HOST`` and the three waits. Streams are ones that don't wait for the default stream by
themselves, as all that torch makes are; a stream that is called "default" is one like any other.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

# The lane of what the host computes itself: such a ``Run`` ends before the next call is made.
HOST: Final = "host"


@dataclass(frozen=True)
class Run:
    """An operation: submitted to ``stream``, it takes ``duration`` (1 to 100) once it may start.

    ``reads`` and ``writes`` name storage, ``after`` operations it relies on for anything else. ``at`` is the earliest
    time of the call, here and in every other call; None means as soon as the host gets to it.
    """

    name: str
    stream: str
    duration: float
    at: float | None = None
    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    after: tuple[str, ...] = ()


@dataclass(frozen=True)
class Record:
    """``event.record(stream)``: the event completes once all that is in the stream by now is done."""

    event: str
    stream: str
    at: float | None = None


@dataclass(frozen=True)
class Wait:
    """``stream.wait_event(event)``: what is submitted to the stream later waits for the event's latest record so far.

    An event that was not recorded by now is no wait at all: that is CUDA's rule.
    """

    stream: str
    event: str
    at: float | None = None


@dataclass(frozen=True)
class WaitStream:
    """``stream.wait_stream(other)``: an event recorded on ``other`` now, and a wait for it. Later work of ``other`` is not
    covered."""

    stream: str
    other: str
    at: float | None = None


@dataclass(frozen=True)
class SyncEvent:
    """``event.synchronize()``: the host makes no call until the event's latest record so far is complete."""

    event: str
    at: float | None = None


@dataclass(frozen=True)
class SyncStream:
    """``stream.synchronize()``: the host makes no call until all that is in the stream by now is done."""

    stream: str
    at: float | None = None


@dataclass(frozen=True)
class SyncDevice:
    """``torch.cuda.synchronize()``: the host makes no call until all streams are done with what they have by now."""

    at: float | None = None


@dataclass(frozen=True)
class Allocate:
    """A tensor made on ``stream``, in new memory, or in the block of the freed storage that ``reuses`` names.

    The allocator keeps a freed block for the stream it was made on: only an allocation on that stream may reuse it. A
    name that no call allocates was there before the program.
    """

    storage: str
    stream: str
    reuses: str | None = None
    at: float | None = None


@dataclass(frozen=True)
class RecordStream:
    """``tensor.record_stream(stream)``: once it is freed, its block is not given away before that stream is done with
    what it has at the time of the free. Of the stream it was made on this says nothing new, and does nothing."""

    storage: str
    stream: str
    at: float | None = None


@dataclass(frozen=True)
class Free:
    """The last reference to a tensor goes: from now on its block may be given to another one."""

    storage: str
    at: float | None = None


HostWait = SyncEvent | SyncStream | SyncDevice
Call = Run | Record | Wait | WaitStream | SyncEvent | SyncStream | SyncDevice | Allocate | RecordStream | Free


def streams_of(call: Call) -> tuple[str, ...]:
    """The streams that a call names, its own first."""
    match call:
        case WaitStream():
            return (call.stream, call.other)
        case Run() | Record() | Wait() | SyncStream() | Allocate() | RecordStream():
            return (call.stream,)
        case _:
            return ()
