"""The ladder names the first rung that moved, and nothing where the rungs do not say."""

from __future__ import annotations

import pytest

from evaluator.verdicts.findings import Estimate, Evidence, Finding
from evaluator.verdicts.ladder import climb
from evaluator.verdicts.sides import Rung, Side
from tests.evaluator.verdicts.given import (
    STEADY,
    accuracy,
    candidate,
    failing,
    pair,
    rung,
    series,
    side,
    times,
)

WALL, COLD = "compiled.wall_ms", "compile.cold_s"


def finding(metric: str = WALL, base: float = 10.0, ratio: float = 1.1) -> Finding:
    estimate = Estimate(ratio, ratio - 0.01, ratio + 0.01, 0.95, 0.03, 5, 5)
    return Finding(
        metric, "time", "regressed", True, True, base, base * ratio, "ms", "slower", (), estimate=estimate
    )


def timed(backend: str, level: float, factor: float, metric: str = WALL, eager: float = 1.0) -> Rung:
    """A rung whose time goes from ``level`` tens to ``factor`` times that; eager beside it by ``eager``."""
    base = {metric: times(metric, level), "eager.wall_ms": times("eager.wall_ms")}
    other = {metric: times(metric, level * factor), "eager.wall_ms": times("eager.wall_ms", eager)}
    return rung(backend, side(201, series=base), candidate(series=other))


def layer(found: Finding, *rungs: Rung) -> str | None:
    climbed = climb(found, pair(side(), candidate(), rungs=rungs))
    return None if climbed is None else climbed.layer


@pytest.mark.parametrize(
    ("eager", "aot_eager", "expected"),
    [
        (1.1, 1.1, "dynamo"),
        (1.0, 1.1, "aot_autograd"),
        (1.0, 1.0, "inductor"),
        (1.06, 1.0, "dynamo"),
        (1.02, 1.02, "inductor"),
    ],
)
def test_the_first_rung_with_half_of_the_change_names_the_layer(
    eager: float, aot_eager: float, expected: str
) -> None:
    assert layer(finding(), timed("eager", 1, eager), timed("aot_eager", 1, aot_eager)) == expected


def test_rungs_are_climbed_from_the_ground_in_whatever_order_they_come() -> None:
    assert layer(finding(), timed("aot_eager", 1, 1.1), timed("eager", 1, 1.1)) == "dynamo"


def test_eager_beside_a_rung_is_the_ground() -> None:
    assert layer(finding(), timed("eager", 1, 1.1, eager=1.1), timed("aot_eager", 1, 1.1)) == "operators"


def test_a_rung_that_takes_longer_shows_the_same_seconds() -> None:
    # 1 ms more of 10 ms is 10%; on a rung of 30 ms it is 3.3%, which is still beyond chance.
    rungs = [timed("eager", 3, 1 + 1 / 30), timed("aot_eager", 3, 1 + 1 / 30)]
    assert layer(finding(), *rungs) == "dynamo"
    # The same millisecond on 200 ms is 0.5%: what its own time does from version to version.
    assert layer(finding(), timed("eager", 20, 1.005), timed("aot_eager", 20, 1.005)) == "inductor"


def test_a_compile_is_climbed_by_its_own_times() -> None:
    # Dynamo alone takes 1 s of 10 s, and 2 s more: all that the whole compile takes more.
    found = finding(COLD, ratio=1.2)
    assert layer(found, timed("eager", 0.1, 3, COLD), timed("aot_eager", 0.3, 1.7, COLD)) == "dynamo"
    assert layer(found, timed("eager", 0.1, 1, COLD), timed("aot_eager", 0.3, 1.7, COLD)) == "aot_autograd"


def test_chance_on_a_rung_is_no_move() -> None:
    wide = (6.0, 8.0, 10.0, 12.0, 14.0)
    shifted = tuple(one * 1.1 for one in wide)
    base, other = side(series={WALL: times(WALL, 1, wide)}), candidate(series={WALL: times(WALL, 1, shifted)})
    assert layer(finding(), rung("eager", base, other), timed("aot_eager", 1, 1.0)) == "inductor"


def test_a_missing_rung_leaves_the_layers_above_unsaid() -> None:
    assert layer(finding()) is None
    assert layer(finding(), timed("eager", 1, 1.0)) is None
    assert layer(finding(), timed("aot_eager", 1, 1.0)) is None
    unmeasured = rung("eager", side(), candidate())
    assert layer(finding(), unmeasured, timed("aot_eager", 1, 1.0)) is None


def test_with_a_rung_of_inductor_alone_what_is_left_are_cuda_graphs() -> None:
    rungs = [timed(backend, 1, 1.0) for backend in ("eager", "aot_eager", "inductor")]
    assert layer(finding(), *rungs) == "cuda_graphs"
    assert layer(finding(), *rungs[:2], timed("inductor", 1, 1.1)) == "inductor"


@pytest.mark.parametrize(("replicas", "expected"), [(1, None), (2, None), (3, None), (4, "dynamo")])
def test_fewer_than_4_replicas_of_a_rung_say_nothing_about_times(replicas: int, expected: str | None) -> None:
    base = side(series=series(STEADY[:replicas], compiled__wall_ms=1))
    other = candidate(series=series(STEADY[:replicas], compiled__wall_ms=1.3))
    assert layer(finding(), rung("eager", base, other)) == expected
    # Nor does eager beside the rung, measured as seldom.
    numbers = [series(STEADY[:replicas], eager__wall_ms=factor) for factor in (1, 1.3)]
    beside = rung("eager", side(series=numbers[0]), candidate(series=numbers[1]))
    assert layer(finding(), beside) == ("operators" if expected else None)


def test_a_rung_that_moved_above_a_silent_one_leaves_both_layers() -> None:
    def named(*rungs: Rung) -> tuple[str | None, str] | None:
        climbed = climb(finding(), pair(side(), candidate(), rungs=rungs))
        return None if climbed is None else (climbed.layer, climbed.named)

    failed = rung("eager", failing(12), failing())
    either = (None, "Dynamo or AOTAutograd")
    assert named(timed("aot_eager", 1, 1.1)) == either
    assert named(failed, timed("aot_eager", 1, 1.1)) == either
    assert named(timed("eager", 1, 1.0), timed("inductor", 1, 1.1)) == (None, "AOTAutograd or Inductor")
    # A lower rung that moved needs no other.
    assert named(timed("eager", 1, 1.1), rung("aot_eager", failing(12), failing())) == ("dynamo", "Dynamo")
    assert named(timed("eager", 1, 1.0), timed("aot_eager", 1, 1.0), rung("inductor", side(), side())) is None


def test_a_failure_that_shows_above_a_rung_that_fails_on_both_sides_leaves_both_layers() -> None:
    rungs = (rung("eager", failing(12), failing()), rung("aot_eager", side(), failing()))
    climbed = climb(STATUS, pair(side(), failing(), rungs=rungs))
    assert climbed is not None
    assert (climbed.layer, climbed.named) == (None, "Dynamo or AOTAutograd")


STATUS = Finding("status", "status", "newly_failing", True, True, "ok", "crashed", None, "crashed")
WRONG = Finding("accuracy", "accuracy", "regressed", True, True, "pass", "fail", None, "wrong")


@pytest.mark.parametrize(
    ("found", "bad"),
    [(STATUS, failing()), (WRONG, candidate(accuracy=accuracy("fail")))],
    ids=["status", "accuracy"],
)
def test_failures_and_wrong_results_are_on_a_rung_or_not(found: Finding, bad: Side) -> None:
    good = rung("eager", side(201), candidate())
    assert layer(found, good, rung("aot_eager", side(), bad)) == "aot_autograd"
    assert layer(found, rung("eager", side(), bad), rung("aot_eager", side(), bad)) == "dynamo"
    assert layer(found, good, rung("aot_eager", side(), candidate())) == "inductor"


def test_a_rung_that_was_bad_before_says_nothing() -> None:
    broken = rung("eager", failing(), failing())
    assert layer(STATUS, broken, rung("aot_eager", side(), candidate())) is None


def test_the_evaluations_of_the_rungs_are_the_evidence() -> None:
    climbed = climb(finding(), pair(side(), candidate(), rungs=(timed("eager", 1, 1.1),)))
    assert climbed is not None
    assert climbed.evidence == (Evidence("evaluation", 201, "base"), Evidence("evaluation", 57, "candidate"))
