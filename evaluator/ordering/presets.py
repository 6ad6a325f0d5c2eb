"""Small programs that show what orders work on streams and what only seems to. Made to be changed in their durations.

In each A makes what B uses: A is submitted at 1 for 6 and B at 2 for 3, unless its point is another one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from evaluator.ordering.calls import (
    HOST,
    Allocate,
    Call,
    Free,
    Record,
    RecordStream,
    Run,
    SyncEvent,
    SyncStream,
    Wait,
    WaitStream,
)
from evaluator.ordering.program import Program


@dataclass(frozen=True)
class Preset:
    """A program with a key for URLs, a title, and what it shows in a sentence."""

    key: str
    title: str
    shows: str
    program: Program


def _a(duration: float = 6, stream: str = "s1") -> Run:
    return Run("A", stream, duration, at=1, writes=("x",))


def _b(duration: float = 3, stream: str = "s2") -> Run:
    return Run("B", stream, duration, at=2, reads=("x",), writes=("y",))


def _preset(key: str, title: str, shows: str, *calls: Call) -> Preset:
    return Preset(key, title, shows, Program(calls, name=title))


PRESETS: Final = (
    _preset(
        "event-wait",
        "Event wait",
        "B's stream waits for an event that was recorded after A.",
        _a(),
        Record("e", "s1", at=1),
        Wait("s2", "e", at=2),
        _b(),
    ),
    _preset(
        "missing-wait",
        "Missing wait",
        "Two streams and nothing between them: B starts when it is submitted.",
        _a(),
        _b(),
    ),
    _preset(
        "short",
        "Missing wait, short A",
        "A happens to be done before B is submitted. The next run need not be so lucky.",
        _a(duration=1),
        _b(),
    ),
    _preset("same-stream", "Same stream", "A stream runs its work in order.", _a(), _b(stream="s1")),
    _preset(
        "wait-stream",
        "wait_stream",
        "It records an event on the other stream at the call, and waits for that.",
        _a(),
        WaitStream("s2", "s1", at=2),
        _b(),
    ),
    _preset(
        "wait-stream-early",
        "wait_stream too early",
        "The call covers what the other stream has by then; A is submitted afterwards.",
        WaitStream("s2", "s1", at=0),
        _a(),
        _b(),
    ),
    _preset(
        "unrecorded",
        "Event not recorded yet",
        "Waiting for an event that nobody recorded is no wait.",
        Wait("s2", "e", at=0),
        _a(),
        Record("e", "s1", at=1),
        _b(),
    ),
    _preset(
        "host-wait",
        "Host wait",
        "The host waits for A, so it submits B later: ordered, and the device has nothing to do meanwhile.",
        _a(),
        Record("e", "s1", at=1),
        SyncEvent("e", at=2),
        _b(),
    ),
    _preset(
        "three-streams",
        "Chain of three streams",
        "B waits for A and C for B: C is ordered after A with no wait between the two. D is ordered after neither.",
        _a(),
        WaitStream("s2", "s1", at=2),
        _b(),
        WaitStream("s3", "s2", at=3),
        Run("C", "s3", 2, at=3, reads=("x", "y"), writes=("z",)),
        Run("D", "s4", 2, at=3, reads=("z",)),
    ),
    _preset(
        "copy-in",
        "Pinned copy, source changed",
        "The host writes into pinned memory while the copy may still read it.",
        Run("fill", HOST, 1, at=0, writes=("pinned",)),
        Run("copy", "s1", 6, at=1, reads=("pinned",), writes=("x",)),
        Run("refill", HOST, 1, at=2, writes=("pinned",)),
        WaitStream("s2", "s1", at=3),
        Run("B", "s2", 3, at=3, reads=("x",), writes=("y",)),
    ),
    _preset(
        "copy-out",
        "Result read by the host",
        "The host reads the copied result after a wait for the stream that copies it.",
        Run("A", "s1", 4, at=1, writes=("x",)),
        Run("copy", "s1", 2, at=1, reads=("x",), writes=("pinned",)),
        SyncStream("s1", at=2),
        Run("read", HOST, 1, at=2, reads=("pinned",)),
    ),
    _preset(
        "reuse",
        "Storage reused without record_stream",
        "x is freed while s2 may still read it, and its block goes to the next tensor of s1.",
        Allocate("x", "s1", at=1),
        _a(duration=2),
        WaitStream("s2", "s1", at=2),
        _b(duration=6),
        Free("x", at=2),
        Allocate("w", "s1", reuses="x", at=3),
        Run("C", "s1", 2, at=3, writes=("w",)),
    ),
    _preset(
        "reuse-recorded",
        "Storage reused with record_stream",
        "The allocator keeps x's block until s2 is done with it, and takes other memory meanwhile.",
        Allocate("x", "s1", at=1),
        _a(duration=2),
        WaitStream("s2", "s1", at=2),
        _b(duration=6),
        RecordStream("x", "s2", at=2),
        Free("x", at=2),
        Allocate("w", "s1", reuses="x", at=3),
        Run("C", "s1", 2, at=3, writes=("w",)),
    ),
)


def with_durations(program: Program, durations: Mapping[str, float]) -> Program:
    """The program with these durations of the operations named; others keep theirs, and names that are none of its
    operations change nothing. Raises ProgramError for a duration out of bounds."""
    return Program(
        tuple(
            replace(call, duration=durations.get(call.name, call.duration)) if isinstance(call, Run) else call
            for call in program.calls
        ),
        name=program.name,
    )
