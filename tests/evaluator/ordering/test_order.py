"""The order that a program makes: values computed by hand, and what must hold of every program."""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence
from dataclasses import replace

import pytest

from evaluator.ordering.calls import (
    HOST,
    Call,
    Record,
    Run,
    SyncDevice,
    SyncEvent,
    SyncStream,
    Wait,
    WaitStream,
)
from evaluator.ordering.order import order_of
from evaluator.ordering.program import Program
from evaluator.ordering.schedule import Schedule, Span, schedule
from tests.evaluator.ordering.simulated import random_calls, random_wait, simulate

SEEDS = range(150)


def a(duration: float = 6, at: float = 1) -> Run:
    return Run("A", "s1", duration, at=at)


def b(stream: str = "s2", at: float | None = 2) -> Run:
    return Run("B", stream, 3, at=at, after=("A",))


def times(*calls: Call) -> Schedule:
    return schedule(order_of(Program(calls)))


def ordered(*calls: Call, first: str = "A", second: str = "B") -> bool:
    return order_of(Program(calls)).ordered(first, second)


@pytest.mark.parametrize(
    "calls",
    [
        (a(), b("s1")),
        (a(), Record("e", "s1", at=1), Wait("s2", "e", at=2), b()),
        (a(), WaitStream("s2", "s1", at=2), b()),
    ],
    ids=["same stream", "event wait", "wait_stream"],
)
def test_b_starts_when_a_is_done(calls: Sequence[Call]) -> None:
    found = times(*calls).runs
    assert found == {"A": Span(1, 7), "B": Span(7, 10)}
    assert ordered(*calls)


def test_without_a_wait_b_starts_when_it_is_submitted() -> None:
    assert times(a(), b()).runs == {"A": Span(1, 7), "B": Span(2, 5)}
    assert not ordered(a(), b())


def test_an_a_that_is_done_in_time_orders_nothing() -> None:
    assert times(a(duration=1), b()).runs == {"A": Span(1, 2), "B": Span(2, 5)}
    assert not ordered(a(duration=1), b())


def test_wait_stream_covers_what_was_submitted_before_it_only() -> None:
    calls = (Run("X", "s1", 4, at=0), WaitStream("s2", "s1", at=1), a(), b())
    # X runs from 0 to 4, A behind it to 10; B waits for X alone.
    assert times(*calls).runs == {"X": Span(0, 4), "A": Span(4, 10), "B": Span(4, 7)}
    assert not ordered(*calls)
    assert ordered(*calls, first="X")


def test_an_event_that_is_not_recorded_yet_is_no_wait() -> None:
    calls = (Wait("s2", "e", at=0), a(), Record("e", "s1"), b())
    assert times(*calls).runs["B"] == Span(2, 5)
    assert not ordered(*calls)


def test_a_wait_means_the_recording_before_it_not_a_later_one() -> None:
    early = (Record("e", "s1", at=0), Wait("s2", "e", at=0), a(), Record("e", "s1", at=1), b())
    assert not ordered(*early)
    again = (Record("e", "s1", at=0), a(), Record("e", "s1", at=1), Wait("s2", "e", at=1), b())
    assert ordered(*again)


def test_order_passes_through_a_third_stream() -> None:
    calls = (
        a(),
        WaitStream("s2", "s1", at=1),
        Run("M", "s2", 2, at=1),
        WaitStream("s3", "s2", at=2),
        b("s3"),
    )
    # M from 7 to 9, so B from 9 to 12.
    assert times(*calls).runs == {"A": Span(1, 7), "M": Span(7, 9), "B": Span(9, 12)}
    assert ordered(*calls)
    assert order_of(Program(calls)).through("A", "B") == (1, 3)


def test_a_wait_takes_the_later_of_two() -> None:
    calls = (
        a(),
        Run("C", "s3", 8, at=1),
        WaitStream("s2", "s1", at=2),
        WaitStream("s2", "s3", at=2),
        b(),
    )
    assert times(*calls).runs["B"] == Span(9, 12)


@pytest.mark.parametrize(
    "wait",
    [(SyncStream("s1", at=2),), (SyncDevice(at=2),), (Record("e", "s1", at=1), SyncEvent("e", at=2))],
    ids=["stream", "device", "event"],
)
def test_a_host_wait_holds_back_what_is_submitted_after_it(wait: tuple[Call, ...]) -> None:
    calls = (a(), *wait, b("s2", at=3))
    found = times(*calls)
    # The host is past the wait at 7, and submits B then, to whatever stream.
    assert found.runs["B"] == Span(7, 10)
    assert found.calls[-2] == Span(2, 7)
    assert ordered(*calls)


def test_a_host_wait_for_another_stream_orders_nothing() -> None:
    calls = (a(), SyncStream("s2", at=2), b())
    assert times(*calls).runs["B"] == Span(2, 5)
    assert not ordered(*calls)


def test_what_the_host_computes_comes_before_what_it_submits_then() -> None:
    calls = (Run("A", HOST, 6, at=1), b())
    assert times(*calls).runs == {"A": Span(1, 7), "B": Span(7, 10)}
    assert ordered(*calls)


def test_the_host_does_not_see_what_a_stream_did_without_waiting() -> None:
    calls = (a(duration=1), Run("B", HOST, 3, at=9, after=("A",)))
    assert times(*calls).runs["B"] == Span(9, 12)
    assert not ordered(*calls)


def test_a_wait_in_a_stream_is_a_span_from_when_nothing_else_is_left() -> None:
    calls = (a(), Run("C", "s2", 2, at=1), WaitStream("s2", "s1", at=1), b())
    assert times(*calls).held == {2: Span(3, 7)}
    # Nothing to wait for: no length.
    assert times(a(duration=1), WaitStream("s2", "s1", at=5), b(at=5)).held == {1: Span(5, 5)}


def test_when_what_is_waited_for_is_complete() -> None:
    # A ends at 7, and at 2 where it is short; the host's wait too. Waiting for nothing is never met.
    assert times(a(), WaitStream("s2", "s1", at=1), b()).met == {1: 7}
    assert times(a(duration=1), WaitStream("s2", "s1", at=5), b(at=5)).met == {1: 2}
    assert times(a(), SyncDevice(at=2)).met == {1: 7}
    assert times(Wait("s2", "e"), WaitStream("s2", "s1"), SyncStream("s1"), a()).met == {}


def test_nothing_is_ordered_after_itself() -> None:
    assert not ordered(a(), b("s1"), second="A")
    assert not ordered(a(), b("s1"), first="B", second="A")


def test_through_names_only_waits_that_order_the_two() -> None:
    calls = (
        a(),
        Run("C", "s3", 1, at=1),
        WaitStream("s2", "s1", at=2),
        WaitStream("s2", "s3", at=2),
        b(),
    )
    assert order_of(Program(calls)).through("A", "B") == (2,)
    same = (a(), WaitStream("s1", "s3", at=2), b("s1"))
    assert order_of(Program(same)).through("A", "B") == ()


@pytest.mark.parametrize("seed", SEEDS)
def test_times_are_those_of_streams_run_tick_by_tick(seed: int) -> None:
    program = Program(tuple(random_calls(random.Random(seed), most_runs=8)))
    found = schedule(order_of(program)).runs
    assert {name: (span.start, span.end) for name, span in found.items()} == simulate(program)


@pytest.mark.parametrize("seed", SEEDS)
def test_one_more_wait_makes_nothing_earlier(seed: int) -> None:
    rng = random.Random(seed)
    calls = random_calls(rng)
    before = schedule(order_of(Program(tuple(calls)))).runs
    wait = random_wait(rng, list(Program(tuple(calls)).streams) or ["s0"])
    while isinstance(wait, Record):
        # Recording again moves what later waits mean: not one wait more.
        wait = random_wait(rng, list(Program(tuple(calls)).streams) or ["s0"])
    calls.insert(rng.randint(0, len(calls)), wait)
    after = schedule(order_of(Program(tuple(calls)))).runs
    assert all(after[name].start >= before[name].start for name in before)


def with_durations(calls: Sequence[Call], durations: Sequence[int]) -> Program:
    left = iter(durations)
    return Program(tuple(replace(one, duration=next(left)) if isinstance(one, Run) else one for one in calls))


@pytest.mark.parametrize("seed", range(60))
def test_ordered_is_what_no_durations_break(seed: int) -> None:
    """Both ways, by trying durations in the simulation, which knows no order: every ordered pair keeps its order in all of
    them, and every other pair loses it in one."""
    rng = random.Random(1000 + seed)
    calls = random_calls(rng, most_runs=4, most_streams=3)
    order = order_of(Program(tuple(calls)))
    names = list(order.program.runs)
    broken: set[tuple[str, str]] = set()
    for durations in itertools.product((1, 5, 100), repeat=len(names)):
        found = simulate(with_durations(calls, durations))
        broken |= {(p, c) for p in names for c in names if p != c and found[c][0] < found[p][1]}
    pairs = {(p, c) for p in names for c in names if p != c}
    assert {pair for pair in pairs if order.ordered(*pair)} == pairs - broken
