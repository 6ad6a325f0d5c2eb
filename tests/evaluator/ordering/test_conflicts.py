"""Who relies on whom, storage given away too early, and the presets: each with its verdict, reasoned by hand."""

from __future__ import annotations

import pytest

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
from evaluator.ordering.conflicts import Dependency, Verdict, dependencies, verdicts
from evaluator.ordering.order import order_of
from evaluator.ordering.presets import PRESETS, with_durations
from evaluator.ordering.program import Program
from evaluator.ordering.schedule import schedule
from evaluator.ordering.storage import Held, Reuse, held, reuses


def judged(*calls: Call) -> tuple[Verdict, ...]:
    order = order_of(Program(calls))
    return verdicts(order, schedule(order))


def reused(*calls: Call) -> tuple[Reuse, ...]:
    order = order_of(Program(calls))
    return reuses(order, schedule(order))


def test_reading_and_both_ways_of_overwriting_are_dependencies() -> None:
    program = Program(
        (
            Run("make", "s1", 1, writes=("x",)),
            Run("use", "s2", 1, reads=("x",)),
            Run("look", "s3", 1, reads=("x",)),
            Run("again", "s1", 1, writes=("x",)),
            Run("last", "s2", 1, reads=("x",), after=("look",)),
        )
    )
    assert set(dependencies(program)) == {
        Dependency("make", "use", "reads", "x"),
        Dependency("make", "look", "reads", "x"),
        Dependency("use", "again", "overwrites_read", "x"),
        Dependency("look", "again", "overwrites_read", "x"),
        Dependency("make", "again", "overwrites_written", "x"),
        Dependency("again", "last", "reads", "x"),
        Dependency("look", "last", "relies"),
    }


def test_an_operation_in_place_reads_what_it_overwrites() -> None:
    program = Program(
        (
            Run("make", "s1", 1, writes=("x",)),
            Run("add_", "s2", 1, reads=("x",), writes=("x",)),
            Run("use", "s1", 1, reads=("x",)),
        )
    )
    assert dependencies(program) == (
        Dependency("make", "add_", "reads", "x"),
        Dependency("add_", "use", "reads", "x"),
    )


def test_two_readers_do_not_depend_on_each_other() -> None:
    assert not dependencies(Program((Run("A", "s1", 1, reads=("x",)), Run("B", "s2", 1, reads=("x",)))))


def test_a_consumer_that_is_not_ordered_is_named_even_where_the_times_look_right() -> None:
    slow = judged(Run("A", "s1", 6, at=1, writes=("x",)), Run("B", "s2", 3, at=2, reads=("x",)))
    lucky = judged(Run("A", "s1", 1, at=1, writes=("x",)), Run("B", "s2", 3, at=2, reads=("x",)))
    assert [(one.ordered, one.looks_right) for one in slow] == [(False, False)]
    assert [(one.ordered, one.looks_right) for one in lucky] == [(False, True)]
    assert (lucky[0].producer_end, lucky[0].consumer_start) == (2, 2)


A = Run("A", "s1", 6, writes=("x",))
B = Run("B", "s2", 3, reads=("x",))


@pytest.mark.parametrize(
    ("calls", "missed", "miss"),
    [
        ((A, B), None, None),
        ((WaitStream("s2", "s1"), A, B), 0, "early"),
        ((Record("e", "s1"), A, Wait("s2", "e"), B), 2, "early"),
        ((SyncStream("s1"), A, B), 0, "early"),
        ((A, Wait("s2", "e"), Record("e", "s1"), B), 1, "unrecorded"),
        ((A, SyncEvent("e"), B), 1, "unrecorded"),
        ((A, B, WaitStream("s2", "s1")), 2, "late"),
        ((A, B, SyncStream("s1")), 2, "late"),
        ((A, WaitStream("s3", "s1"), B), 1, "elsewhere"),
        # Waits that have nothing to do with A are no near miss.
        ((A, WaitStream("s2", "s3"), B), None, None),
    ],
)
def test_a_wait_that_misses_is_named(calls: tuple[Call, ...], missed: int | None, miss: str | None) -> None:
    (verdict,) = judged(*calls)
    assert not verdict.ordered
    assert (verdict.missed, verdict.miss) == (missed, miss)


def test_the_host_is_a_consumer_too() -> None:
    copy = Run("copy", "s1", 4, reads=("x",), writes=("pinned",))
    read = Run("read", HOST, 1, reads=("pinned",))
    assert [one.ordered for one in judged(copy, read)] == [False]
    assert [one.ordered for one in judged(copy, SyncStream("s1"), read)] == [True]
    # Changing the source of a copy that may still read it.
    assert judged(Run("copy", "s1", 4, reads=("pinned",)), Run("fill", HOST, 1, writes=("pinned",)))[
        0
    ].dependency == Dependency("copy", "fill", "overwrites_read", "pinned")


MAKE = (Allocate("x", "s1"), Run("A", "s1", 2, writes=("x",)), WaitStream("s2", "s1"))
USE = Run("B", "s2", 6, reads=("x",))
AGAIN = (Allocate("w", "s1", reuses="x"), Run("C", "s1", 2, writes=("w",)))


def test_reuse_while_another_stream_reads_is_named() -> None:
    # A to 2, B from 2 to 8; C starts at 2 on s1, in B's input.
    assert reused(*MAKE, USE, Free("x"), *AGAIN) == (Reuse("w", "x", "B", "C", False, 8, 2),)


def test_reuse_on_the_streams_own_order_is_fine() -> None:
    assert not reused(*MAKE[:2], Run("B", "s1", 6, reads=("x",)), Free("x"), *AGAIN)


def test_a_wait_before_the_reuse_is_as_good_as_record_stream() -> None:
    assert not reused(*MAKE, USE, Free("x"), WaitStream("s1", "s2"), *AGAIN)
    assert not reused(*MAKE, USE, SyncStream("s2"), Free("x"), *AGAIN)


def test_record_stream_holds_the_block() -> None:
    calls = (*MAKE, USE, RecordStream("x", "s2"), Free("x"), *AGAIN)
    assert not reused(*calls)
    order = order_of(Program(calls))
    assert held(order, schedule(order)) == (Held("w", "x", ("s2",), 8, 0),)
    assert not held(order, schedule(order))[0].waited
    later = order_of(Program((*calls[:-2], Allocate("w", "s1", reuses="x", at=9), calls[-1])))
    assert held(later, schedule(later))[0].waited


def test_record_stream_of_the_wrong_stream_holds_nothing() -> None:
    for stream in ("s3", "s1"):
        calls = (*MAKE, USE, RecordStream("x", stream), Free("x"), *AGAIN)
        assert [one.last for one in reused(*calls)] == ["B"]


def test_times_that_look_right_do_not_make_a_reuse_safe() -> None:
    calls = (*MAKE, USE, Free("x"), AGAIN[0], Run("C", "s1", 2, at=50, writes=("w",)))
    assert reused(*calls) == (Reuse("w", "x", "B", "C", True, 8, 50),)


def test_the_new_tensor_on_another_stream_needs_a_wait_too() -> None:
    calls = (*MAKE[:2], Free("x"), AGAIN[0], Run("C", "s3", 2, writes=("w",)))
    assert [(one.last, one.user) for one in reused(*calls)] == [("A", "C")]
    # Telling the allocator of the stream that it knows changes nothing.
    told = (*calls[:2], RecordStream("x", "s1"), *calls[2:])
    assert [(one.last, one.user) for one in reused(*told)] == [("A", "C")]


def test_a_block_is_followed_through_its_tensors() -> None:
    calls = (
        *MAKE,
        USE,
        Free("x"),
        Allocate("w", "s1", reuses="x"),
        Free("w"),
        Allocate("v", "s1", reuses="w"),
        Run("C", "s1", 2, writes=("v",)),
    )
    assert [(one.storage, one.old, one.last) for one in reused(*calls)] == [("v", "x", "B")]


# For each preset: its unordered (producer, consumer) pairs and reuses.
EXPECTED: dict[str, tuple[set[tuple[str, str]], set[tuple[str, str]]]] = {
    "event-wait": (set(), set()),
    "missing-wait": ({("A", "B")}, set()),
    "short": ({("A", "B")}, set()),
    "same-stream": (set(), set()),
    "wait-stream": (set(), set()),
    "wait-stream-early": ({("A", "B")}, set()),
    "unrecorded": ({("A", "B")}, set()),
    "host-wait": (set(), set()),
    "three-streams": ({("C", "D")}, set()),
    "copy-in": ({("copy", "refill")}, set()),
    "copy-out": (set(), set()),
    "reuse": (set(), {("B", "C")}),
    "reuse-recorded": (set(), set()),
}


@pytest.mark.parametrize("preset", PRESETS, ids=lambda one: one.key)
def test_presets_show_what_they_say(preset: object) -> None:
    assert hasattr(preset, "program") and hasattr(preset, "key")
    order = order_of(preset.program)
    found = schedule(order)
    pairs = {
        (one.dependency.producer, one.dependency.consumer)
        for one in verdicts(order, found)
        if not one.ordered
    }
    again = {(one.last, one.user) for one in reuses(order, found)}
    assert (pairs, again) == EXPECTED[preset.key]


def test_no_durations_change_a_verdict() -> None:
    for preset in PRESETS:
        said = []
        for duration in (1, 6, 100):
            program = with_durations(preset.program, dict.fromkeys(preset.program.runs, duration))
            order = order_of(program)
            said.append([one.ordered for one in verdicts(order, schedule(order))])
        assert said[0] == said[1] == said[2]
