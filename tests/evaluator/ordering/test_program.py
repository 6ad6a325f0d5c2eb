"""Programs that can't be are refused with a sentence that names the call; plain data means the same programs."""

from __future__ import annotations

import math
from typing import Any

import pytest

from evaluator.ordering.calls import (
    HOST,
    Allocate,
    Call,
    Free,
    Record,
    RecordStream,
    Run,
    SyncDevice,
    Wait,
    WaitStream,
)
from evaluator.ordering.presets import PRESETS, with_durations
from evaluator.ordering.program import Program, ProgramError
from evaluator.ordering.reading import CALLS, program_of


@pytest.mark.parametrize("duration", [1, 100, 1.0, 3.5])
def test_durations_from_1_to_100(duration: float) -> None:
    assert Program((Run("A", "s1", duration),)).run("A").duration == duration


@pytest.mark.parametrize("duration", [0, 0.999, 100.001, -3, math.nan, math.inf, True, "6", None])
def test_other_durations_are_refused(duration: Any) -> None:
    with pytest.raises(ProgramError, match=r"call 1 \(Run\): a duration is a number from 1 to 100, not"):
        Program((Run("A", "s1", duration),))


@pytest.mark.parametrize("at", [-1, math.nan, math.inf, False, "1"])
def test_other_times_are_refused(at: Any) -> None:
    with pytest.raises(ProgramError, match="a time is a number from 0 on"):
        Program((Run("A", "s1", 1, at=at),))


REFUSED: list[tuple[tuple[Call, ...], str]] = [
    ((Run("A", "s1", 1, at=2), Run("B", "s1", 1, at=1)), "the host makes calls in order"),
    ((Run("A", "s1", 1), Run("A", "s2", 1)), "a second operation 'A'"),
    ((Run("B", "s1", 1, after=("A",)), Run("A", "s1", 1)), "relies on 'A', which was not submitted before"),
    ((Run("", "s1", 1),), "text that is not empty"),
    ((Run("A", " ", 1),), "text that is not empty"),
    ((Record("e", HOST),), "'host' is no stream"),
    ((WaitStream("s1", HOST),), "'host' is no stream"),
    ((Allocate("x", "s1"), Allocate("x", "s1")), "'x' is there already"),
    ((Run("A", "s1", 1, writes=("x",)), Allocate("x", "s1")), "'x' is there already"),
    ((Free("x"),), "nothing made or used 'x'"),
    ((Allocate("x", "s1"), Free("x"), Free("x")), "'x' was freed before"),
    ((Allocate("x", "s1"), Free("x"), RecordStream("x", "s2")), "'x' was freed before"),
    ((Allocate("x", "s1"), Free("x"), Run("A", "s1", 1, reads=("x",))), "'A' uses 'x' after it was freed"),
    ((Allocate("x", "s1"), Allocate("w", "s1", reuses="x")), "'x' was not freed"),
    (
        (Allocate("x", "s1"), Free("x"), Allocate("w", "s2", reuses="x")),
        "belongs to 's1', and 's2' can't be given it",
    ),
    (
        (Allocate("x", "s1"), Free("x"), Allocate("v", "s1", reuses="x"), Allocate("w", "s1", reuses="x")),
        "given away before",
    ),
    (
        (Run("A", "s1", 1, writes=("x",)), Free("x"), Allocate("w", "s1", reuses="x")),
        "no call says on which stream 'x' was made",
    ),
]


@pytest.mark.parametrize(("calls", "sentence"), REFUSED, ids=[sentence for _, sentence in REFUSED])
def test_calls_that_make_no_sense_are_refused(calls: tuple[Call, ...], sentence: str) -> None:
    with pytest.raises(ProgramError, match=sentence) as caught:
        Program(calls)
    # It names the call that is wrong.
    assert str(caught.value).startswith("call ")


def test_the_host_is_no_stream_of_a_program() -> None:
    assert Program((Run("A", HOST, 1), Run("B", "s2", 1), WaitStream("s1", "s2"))).streams == ("s2", "s1")


def test_plain_data_means_the_same_program() -> None:
    data = [
        {"call": "allocate", "storage": "x", "stream": "s1"},
        {"call": "run", "name": "A", "stream": "s1", "duration": 6, "at": 1, "writes": ["x"]},
        {"call": "record", "event": "e", "stream": "s1"},
        {"call": "wait", "stream": "s2", "event": "e"},
        {"call": "record_stream", "storage": "x", "stream": "s2"},
        {"call": "free", "storage": "x"},
        {"call": "wait_stream", "stream": "s1", "other": "s2"},
        {"call": "sync_device"},
    ]
    assert program_of(data).calls == (
        Allocate("x", "s1"),
        Run("A", "s1", 6, at=1, writes=("x",)),
        Record("e", "s1"),
        Wait("s2", "e"),
        RecordStream("x", "s2"),
        Free("x"),
        WaitStream("s1", "s2"),
        SyncDevice(),
    )
    assert len(CALLS) == 10


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        ({"call": "launch"}, "no call 'launch'; there are run, record"),
        ({}, "no call None"),
        ({"call": ["run"]}, "no call"),
        ({"call": "record", "event": "e"}, "record needs stream"),
        ({"call": "run", "name": "A", "stream": "s", "duration": 1, "color": 1}, "run has no color"),
        ({"call": "run", "name": "A", "stream": "s", "duration": 1, "writes": "x"}, "are lists of names"),
        ({"call": "run", "name": "A", "stream": 3, "duration": 1}, "text that is not empty"),
    ],
)
def test_plain_data_that_means_nothing_is_refused(data: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ProgramError, match=sentence):
        program_of([data])


def test_durations_of_a_preset_can_be_changed() -> None:
    program = next(one.program for one in PRESETS if one.key == "missing-wait")
    changed = with_durations(program, {"A": 40, "nobody": 7})
    assert [changed.run(name).duration for name in ("A", "B")] == [40, 3]
    with pytest.raises(ProgramError, match="from 1 to 100, not 101"):
        with_durations(program, {"B": 101})
