"""What a run shows while it goes on, and the time it thinks is left."""

from __future__ import annotations

import io

import pytest

from evaluator.control.progress import Progress, time_left
from evaluator.estimate import GUESS_S, duration, estimate
from evaluator.plan import Unit, UnitKind, plan
from evaluator.selection import Cell

UNITS = plan([[Cell("mlp", "h", bucket, "default", "cpu") for bucket in ("a", "b")]], 1)
KINDS: tuple[UnitKind, ...] = ("compile", "walk", "accuracy", "memory")


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def run_first(progress: Progress, clock: Clock, unit: Unit, seconds: float, note: str = "ok") -> None:
    progress.begin(unit)
    clock.now += seconds
    progress.end(unit, note)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 s"),
        (59.4, "59 s"),
        (59.6, "1 min 00 s"),
        (200, "3 min 20 s"),
        (3599, "59 min 59 s"),
        (3900, "1 h 05 min"),
        (90000, "25 h 00 min"),
    ],
)
def test_durations_read_as_people_say_them(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def test_time_left_is_counted_from_units_of_the_same_kind() -> None:
    # compile a, compile b, walk a+b, accuracy a+b, memory a, memory b
    left = time_left(UNITS[1:], {"compile": (30.0, 1), "walk": (8.0, 2)})
    guessed = 2 * GUESS_S["accuracy"] + 2 * GUESS_S["memory"]
    assert left == pytest.approx(30.0 + 2 * 4.0 + guessed)


def test_a_plain_stream_gets_one_line_a_finished_unit() -> None:
    stream, clock = io.StringIO(), Clock()
    progress = Progress(stream, terminal=False, clock=clock)
    progress.plan(UNITS)
    run_first(progress, clock, UNITS[0], 12.34)
    progress.stage(UNITS[1], "compile", "b")
    run_first(progress, clock, UNITS[1], 8.0, "timeout (1)")
    progress.close()
    first, second = stream.getvalue().splitlines()
    assert first.startswith("[1/6] mlp a: compile: ok, 12.3 s; about ")
    assert second.startswith("[2/6] mlp b: compile: timeout (1), 8.0 s; about ")
    assert "\r" not in stream.getvalue()


def test_a_terminal_has_one_line_that_is_rewritten_and_taken_away() -> None:
    stream, clock = io.StringIO(), Clock()
    progress = Progress(stream, terminal=True, clock=clock)
    progress.plan(UNITS)
    progress.begin(UNITS[2])
    progress.stage(UNITS[2], "compile", "b")
    progress.end(UNITS[2], "ok")
    assert "\n" not in stream.getvalue()
    assert "mlp 2 buckets: walk (compile b)" in stream.getvalue()
    progress.say("this stays")
    progress.close()
    assert stream.getvalue().endswith("\r\x1b[Kthis stays\n")


def test_a_long_line_does_not_wrap(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    stream = io.StringIO()
    progress = Progress(stream, terminal=True, clock=Clock())
    progress.plan(UNITS)
    progress.begin(plan([[Cell("w" * 200, "h", "a", "default", "cpu")]], 1)[0])
    shown = stream.getvalue().removeprefix("\r\x1b[K")
    assert len(shown) == 39
    assert shown.endswith("…")


def test_a_resumed_run_counts_what_was_done_before() -> None:
    stream, clock = io.StringIO(), Clock()
    progress = Progress(stream, terminal=False, clock=clock)
    progress.plan(UNITS[4:], done=4)
    run_first(progress, clock, UNITS[4], 1.0)
    run_first(progress, clock, UNITS[5], 1.0)
    assert [line.split(" ")[0] for line in stream.getvalue().splitlines()] == ["[5/6]", "[6/6]"]
    assert stream.getvalue().endswith("; done\n")


def test_what_was_not_run_says_nothing_of_its_kind() -> None:
    stream, clock = io.StringIO(), Clock()
    progress = Progress(stream, terminal=False, clock=clock)
    progress.plan(UNITS)
    progress.begin(UNITS[0])
    progress.end(UNITS[0], "skipped (2)", ran=False)
    expected = GUESS_S["compile"] + 2 * (GUESS_S["walk"] + GUESS_S["accuracy"] + GUESS_S["memory"])
    assert f"about {duration(expected)} left" in stream.getvalue()


def test_an_estimate_says_what_it_is_made_of() -> None:
    nothing = estimate(UNITS, 1, {})
    assert nothing.basis.startswith("a guess")
    assert nothing.known == 0
    history = {("mlp", "default", bucket, kind): 10.0 for bucket in "ab" for kind in KINDS}
    everything = estimate(UNITS, 1, history)
    assert everything.basis == "from earlier runs on this machine"
    # Eight bucket visits of 10 s; what differs from the guess is these alone.
    assert nothing.seconds - everything.seconds == pytest.approx(
        2 * sum(GUESS_S[kind] for kind in KINDS) - 80.0
    )


def test_a_bucket_without_a_past_takes_what_its_neighbours_took() -> None:
    nothing = estimate(UNITS, 1, {})
    one = estimate(UNITS, 1, {("mlp", "default", "a", "walk"): 10.0})
    assert one.basis == (
        "1 of 8 figures from earlier runs on this machine, 1 from other buckets of the same workloads, the rest a guess"
    )
    assert one.seconds - nothing.seconds == pytest.approx(2 * (10.0 - GUESS_S["walk"]))
    # Neither bucket was run, and three others were: the median of 2, 3 and 40.
    others = {
        ("mlp", "default", str(seconds), kind): seconds for seconds in (2.0, 40.0, 3.0) for kind in KINDS
    }
    near = estimate(UNITS, 1, others)
    assert near.basis == "from other buckets of the same workloads"
    assert near.seconds - nothing.seconds == pytest.approx(8 * 3.0 - 2 * sum(GUESS_S[kind] for kind in KINDS))
    half = estimate(UNITS, 1, {("mlp", "default", "a", kind): 10.0 for kind in KINDS})
    assert half.basis == (
        "4 of 8 figures from earlier runs on this machine, the rest from other buckets of the same workloads"
    )
    # Another variant, or another workload, is no neighbour.
    far = estimate(UNITS, 1, {("mlp", "dynamic", "a", "walk"): 10.0, ("cnn", "default", "a", "walk"): 10.0})
    assert far == nothing


def test_traces_take_time_and_room_of_their_own() -> None:
    cells = [Cell("mlp", "h", bucket, "default", "cpu") for bucket in "ab"]
    without, with_ = (estimate(plan([cells], 1, chrome_traces=asked), 1, {}) for asked in (False, True))
    assert with_.seconds - without.seconds == pytest.approx(2 * GUESS_S["profile"])
    assert with_.results_mb > without.results_mb


def test_an_estimate_of_nothing_guesses_nothing() -> None:
    assert estimate([], 1, {}).basis == "nothing of it can be measured here"


def test_more_replicas_take_more_time_but_no_more_room_for_results() -> None:
    cells = [[Cell("mlp", "h", "a", "default", "cpu")]]
    one, five = estimate(plan(cells, 1), 1, {}), estimate(plan(cells, 5), 1, {})
    assert five.seconds > 2 * one.seconds
    assert five.results_mb == one.results_mb


def test_evidence_alone_needs_no_header() -> None:
    capture = [[Cell("mlp", "h", "a", "eager", "cpu", evidence_only=True, needs_toolchain=False)]]
    assert estimate(plan(capture, 1), 1, {}).scratch_mb < 100
