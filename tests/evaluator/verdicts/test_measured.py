"""Times and memory of a cell: when they are compared, when a rerun confirms them, and when neither."""

from __future__ import annotations

from typing import Any

import pytest

from evaluator.verdicts.findings import Evidence, Finding
from evaluator.verdicts.measured import judge_environment, judge_measured
from evaluator.verdicts.policy import ENVIRONMENT_TIMES, Policy
from evaluator.verdicts.sides import Noise, Pair, Side
from tests.evaluator.verdicts.given import (
    STEADY,
    STEADY_8,
    candidate,
    environment,
    failing,
    pair,
    series,
    side,
    times,
)

WALL, COLD, SERIAL = "compiled.wall_ms", "compile.cold_s", "compile.cold_serial_s"


def judged(pair: Pair, policy: Policy | None = None, builds: bool = False) -> dict[str, Finding]:
    assert pair.base is not None
    assert pair.candidate is not None
    found = judge_measured(pair, pair.base, pair.candidate, policy or Policy(), builds)
    return {one.metric: one for one in found}


def both(base: dict[str, Any], other: dict[str, Any], **changes: Any) -> Pair:
    return pair(side(series=base), candidate(series=other), **changes)


def slower(factor: float, **changes: Any) -> Pair:
    return both(series(compiled__wall_ms=1), series(compiled__wall_ms=factor), **changes)


def rerun(factor: float, values: tuple[float, ...] = STEADY_8) -> tuple[Side, Side]:
    return (
        side(112, series=series(values, compiled__wall_ms=1)),
        side(157, series=series(values, compiled__wall_ms=factor)),
    )


def test_a_metric_that_neither_side_has_is_no_finding() -> None:
    assert judged(both({}, {})) == {}
    assert list(judged(slower(1))) == [WALL]


def test_warm_and_cold_times_gate_and_eager_and_memory_explain() -> None:
    names = dict.fromkeys(
        ["compiled__wall_ms", "compile__cold_s", "eager__wall_ms", "compile__host_peak_mb"], 1.0
    )
    found = judged(both(series(**names), series(**names)))
    assert {metric: (one.kind, one.gating) for metric, one in found.items()} == {
        WALL: ("time", True),
        COLD: ("time", True),
        "eager.wall_ms": ("time", False),
        "compile.host_peak_mb": ("memory", False),
    }
    assert {one.verdict for one in found.values()} == {"unchanged"}


def test_a_cold_compile_on_one_thread_gates_in_place_of_the_usual_one() -> None:
    names = {"compile__cold_s": 1.0, "compile__cold_serial_s": 1.0}
    found = judged(both(series(**names), series(**names)))
    assert (found[COLD].gating, found[SERIAL].gating) == (False, True)
    one_sided = judged(both(series(**names), series(compile__cold_s=1)))
    assert one_sided[COLD].gating
    assert one_sided[SERIAL].verdict == "not_compared"


def test_margins_are_3_percent_warm_and_10_percent_cold_unless_the_policy_says_otherwise() -> None:
    base, other = (
        series(compiled__wall_ms=1, compile__cold_s=1),
        series(compiled__wall_ms=1.06, compile__cold_s=1.06),
    )
    found = judged(both(base, other))
    assert (found[WALL].verdict, found[COLD].verdict) == ("regressed", "unchanged")
    strict = judged(both(base, other), Policy(margins={WALL: 0.2, COLD: 0.02}))
    assert (strict[WALL].verdict, strict[COLD].verdict) == ("unchanged", "regressed")


def test_the_noise_of_a_calibration_raises_the_bar() -> None:
    noise = {WALL: Noise(WALL, 0.10, None, 1, (10.0,) * 4, run=1)}
    found = judged(slower(1.06, noise=noise))[WALL]
    assert "within_noise" in found.reasons


@pytest.mark.parametrize(
    ("again", "verdict", "sure", "reason"),
    [
        (None, "regressed", False, "not_rerun"),
        (rerun(1.1), "regressed", True, "rerun_confirmed"),
        (rerun(1.0), "inconclusive", False, "rerun_disagreed"),
        (rerun(0.9), "inconclusive", False, "rerun_disagreed"),
        # Four replicas a side have no interval of 99%: nothing was decided.
        (rerun(1.1, STEADY_8[:4]), "regressed", False, "not_rerun"),
        ((side(), failing()), "regressed", False, "not_rerun"),
    ],
)
def test_a_regression_is_confirmed_by_a_rerun_only(
    again: tuple[Side, Side] | None, verdict: str, sure: bool, reason: str
) -> None:
    found = judged(slower(1.1, rerun=again))[WALL]
    assert (found.verdict, found.confirmed) == (verdict, sure)
    assert reason in found.reasons
    assert found.estimate is not None
    assert found.estimate.ratio == pytest.approx(1.1)
    # What the rerun decided rests on the rerun's evaluations too.
    again_cited = {Evidence("evaluation", one, name) for one, name in ((112, "base"), (157, "candidate"))}
    assert (again_cited <= set(found.evidence)) == (reason != "not_rerun")
    assert {Evidence("evaluation", 12, "base"), Evidence("evaluation", 57, "candidate")} <= set(
        found.evidence
    )
    if sure:
        assert found.rerun is not None
        assert found.rerun.confidence == 0.99
        # 10% of a margin of 3%: more than twice, less than five times.
        assert found.magnitude == "medium"
    if verdict == "inconclusive":
        assert found.magnitude is None


def test_an_improvement_needs_no_rerun_and_heeds_one_that_disagrees() -> None:
    assert judged(slower(0.9))[WALL].confirmed is None
    assert judged(slower(0.9, rerun=rerun(0.9)))[WALL].confirmed is True
    assert judged(slower(0.9, rerun=rerun(1.0)))[WALL].verdict == "inconclusive"


def test_sides_that_were_not_measured_in_turns_stay_unconfirmed() -> None:
    found = judged(slower(1.1, interleaved=False, rerun=rerun(1.1)))[WALL]
    assert (found.verdict, found.confirmed) == ("regressed", False)
    assert "not_interleaved" in found.reasons


@pytest.mark.parametrize(
    ("base", "other", "metric", "reason"),
    [
        ({}, {"machine": "another"}, WALL, "different_machine"),
        ({}, {"status": "crashed"}, WALL, "one_side_failed"),
        ({"status": "timeout"}, {"status": "crashed"}, COLD, "both_failed"),
        ({}, {"facts": {"ran_eager": "some"}}, WALL, "ran_eager"),
        ({"facts": {"ran_eager": "all"}}, {}, WALL, "ran_eager"),
        ({"facts": {"ran_eager": "some"}}, {"facts": {"ran_eager": "all"}}, WALL, "ran_eager"),
        ({"facts": {"ran_eager": "all"}}, {"facts": {"ran_eager": "all"}}, WALL, "ran_eager"),
        ({"facts": {"ran_eager": None}}, {"facts": {"ran_eager": "some"}}, WALL, "ran_eager"),
        ({}, {"facts": {"nothing_compiled": True}}, WALL, "nothing_compiled"),
        ({}, {"series": {}}, WALL, "not_measured"),
        ({}, {"series": {}, "status": "not_comparable"}, WALL, "not_comparable"),
        ({}, {"series": {COLD: times(COLD, flags=["nothing_compiled"])}}, COLD, "nothing_compiled"),
    ],
)
def test_why_a_time_is_not_compared(
    base: dict[str, Any], other: dict[str, Any], metric: str, reason: str
) -> None:
    start = {"series": series(compiled__wall_ms=1, compile__cold_s=1)}
    found = judged(pair(side(**{**start, **base}), candidate(**{**start, **other})))[metric]
    assert (found.verdict, found.reasons) == ("not_compared", (reason,))


def test_code_that_ran_eager_in_a_walk_still_has_a_cold_compile() -> None:
    numbers = series(compile__cold_s=1)
    found = judged(pair(side(series=numbers), candidate({"ran_eager": "some"}, series=numbers)))
    assert found[COLD].verdict == "unchanged"


def test_builds_for_other_devices_have_no_host_memory_and_no_imports_to_compare() -> None:
    numbers = series(compile__host_peak_mb=1, compile__cold_s=1)
    found = judged(both(numbers, numbers), builds=True)
    assert found["compile.host_peak_mb"].reasons == ("different_builds",)
    assert found[COLD].verdict == "unchanged"
    imports = environment(series=series(import__torch_s=1))
    (one,) = judge_environment(imports, imports, ENVIRONMENT_TIMES, Policy(), builds=True)
    assert (one.metric, one.verdict, one.gating) == ("import.torch_s", "not_compared", False)


def test_slower_imports_are_told_and_never_gate() -> None:
    base, other = (
        environment(series=series(import__torch_s=1)),
        environment(series=series(import__torch_s=1.5)),
    )
    (one,) = judge_environment(base, other, ENVIRONMENT_TIMES, Policy(), builds=False)
    assert (one.verdict, one.gating) == ("regressed", False)
    elsewhere = environment(series=series(import__torch_s=1.5), machine="another")
    (one,) = judge_environment(base, elsewhere, ENVIRONMENT_TIMES, Policy(), builds=False)
    assert one.reasons == ("different_machine",)


def test_too_few_replicas_say_how_many_more() -> None:
    few = series(STEADY_8[:1], compiled__wall_ms=1)
    found = judged(both(few, few))[WALL]
    assert (found.verdict, found.more_replicas) == ("inconclusive", 4)
    assert "too_few_replicas" in found.reasons
    assert found.text == "9.97 ms -> 9.97 ms, at least 4 more replicas a side before anything can be said"


@pytest.mark.parametrize(("factor", "verdict"), [(1.0, "unchanged"), (10.0, "regressed"), (0.1, "improved")])
def test_partly_eager_code_on_both_sides_is_compared_as_such(factor: float, verdict: str) -> None:
    partly = {"ran_eager": "some"}
    base = side(facts=partly, series=series(compiled__wall_ms=1))
    found = judged(pair(base, candidate(partly, series=series(compiled__wall_ms=factor))))[WALL]
    assert (found.verdict, found.gating) == (verdict, True)
    assert "ran_eager" in found.reasons


def test_times_that_were_not_measured_in_turns_are_neither_equal_nor_better() -> None:
    for factor in (1.0, 0.8):
        found = judged(slower(factor, interleaved=False))[WALL]
        assert (found.verdict, found.magnitude) == ("inconclusive", None)
        assert "not_interleaved" in found.reasons
        # The figures stay.
        assert found.estimate is not None
        assert found.estimate.ratio == pytest.approx(factor, rel=1e-3)


def test_the_steadier_cold_compile_gates_only_where_it_says_something() -> None:
    both_sides = {**series(compile__cold_s=1), **series(STEADY[:1], compile__cold_serial_s=1)}
    found = judged(both(both_sides, both_sides))
    assert (found[COLD].gating, found[SERIAL].gating) == (True, False)
    few = series(STEADY[:1], compile__cold_s=1, compile__cold_serial_s=1)
    found = judged(both(few, few))
    assert (found[COLD].gating, found[SERIAL].gating) == (False, True)


@pytest.mark.parametrize("broken", [1e-300, 1e300, float("inf"), float("nan"), -1.0])
def test_numbers_that_no_clock_gives_are_not_measured(broken: float) -> None:
    bad = {WALL: times(WALL, 1.0, (broken,) * 5)}
    found = judged(both(series(compiled__wall_ms=1), bad))[WALL]
    assert (found.verdict, found.reasons) == ("not_compared", ("not_measured",))


def test_a_time_that_only_one_side_has_shows_which() -> None:
    numbers = series(compiled__wall_ms=1)
    found = judged(both(numbers, {}))[WALL]
    assert (found.base, found.candidate) == (10.0, None)
    broken = {WALL: times(WALL, 1.0, (10.0, 0.0, 10.0, 10.0, 10.0))}
    found = judged(both(broken, numbers))[WALL]
    assert (found.reasons, found.base, found.candidate) == (("not_measured",), None, 10.0)
