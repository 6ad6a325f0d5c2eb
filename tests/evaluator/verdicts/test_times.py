"""Verdicts about times: by hand where the limits are, and what is said of those that decide nothing."""

from __future__ import annotations

import math
import random

import pytest

from evaluator.verdicts.noise import MOST_REPLICAS
from evaluator.verdicts.sides import Noise, Series
from evaluator.verdicts.times import TimeJudgement, judge, judge_rerun, magnitude
from evaluator.verdicts.words import REASONS
from tests.evaluator.verdicts.simulated import series, side

STEADY = (9.98, 9.99, 10.0, 10.01, 10.02)


def times(factor: float, values: tuple[float, ...] = STEADY) -> Series:
    return series([value * factor for value in values])


def noise(sd: float) -> Noise:
    # Four replicas are enough to be used, and too few for splits: the floor is the normal model's.
    return Noise("compiled.wall_ms", sd, None, 1, (10.0,) * 4, run=1)


def judged(factor: float, margin: float = 0.03) -> TimeJudgement:
    return judge(times(1), times(factor), margin=margin)


@pytest.mark.parametrize(
    ("factor", "verdict"),
    [
        (1.0, "unchanged"),
        (1.02, "unchanged"),
        (1.0301, "regressed"),
        (1.2, "regressed"),
        (1 / 1.02, "unchanged"),
        (1 / 1.0301, "improved"),
        (0.5, "improved"),
    ],
)
def test_verdicts_of_steady_times_at_a_margin_of_3_percent(factor: float, verdict: str) -> None:
    found = judged(factor)
    assert found.verdict == verdict
    assert found.estimate is not None
    assert found.estimate.ratio == pytest.approx(factor)
    assert found.estimate.low <= factor <= found.estimate.high
    assert (found.estimate.confidence, found.estimate.margin) == (0.95, 0.03)
    assert (found.estimate.base_replicas, found.estimate.candidate_replicas) == (5, 5)
    assert found.base == 10.0
    assert found.candidate == pytest.approx(10 * factor)


def test_the_margin_is_the_callers() -> None:
    assert judged(1.08, margin=0.10).verdict == "unchanged"
    assert judged(1.08, margin=0.05).verdict == "regressed"


def test_beyond_the_margin_is_not_enough_where_the_interval_holds_1() -> None:
    # 5 against 5 at 95% ends at the third smallest of 25 differences: three pairs the other way round decide.
    base = series([10.0, 10.1, 10.2, 10.3, 11.5])
    candidate = series([10.05, 10.8, 10.9, 11.0, 11.1])
    found = judge(base, candidate, margin=0.03)
    assert found.estimate is not None
    assert found.estimate.ratio > 1.03 > 1 > found.estimate.low
    assert found.verdict == "inconclusive"
    assert found.reasons == ("interval_wide",)


def test_a_difference_below_the_margin_is_unchanged_and_says_so() -> None:
    found = judged(1.02)
    assert found.reasons == ("below_margin",)
    assert judged(1.0).reasons == ()


def test_a_difference_below_the_margin_that_may_be_above_it_is_inconclusive() -> None:
    spread = (9.7, 9.85, 10.0, 10.15, 10.3)
    found = judge(series(spread), times(1.09, spread), margin=0.10)
    assert found.verdict == "inconclusive"
    assert found.reasons == ("below_margin",)
    assert found.more_replicas is not None
    assert found.more_replicas > 0


@pytest.mark.parametrize(("base", "candidate"), [(1, 1), (3, 3), (3, 8), (8, 3)])
def test_fewer_than_4_replicas_decide_nothing(base: int, candidate: int) -> None:
    found = judge(series([10.0] * base), series([20.0] * candidate), margin=0.03)
    assert found.verdict == "inconclusive"
    assert found.reasons == ("too_few_replicas",)
    assert found.more_replicas == 5 - min(base, candidate)
    assert found.estimate is None
    assert (found.base, found.candidate) == (10.0, 20.0)


def test_4_replicas_decide_at_95_percent_but_not_at_99() -> None:
    base, candidate = series([9.9, 10.0, 10.1, 10.2]), series([19.9, 20.0, 20.1, 20.2])
    assert judge(base, candidate, margin=0.03).verdict == "regressed"
    found = judge(base, candidate, margin=0.03, confidence=0.99)
    assert (found.verdict, found.reasons, found.more_replicas) == ("inconclusive", ("too_few_replicas",), 1)


@pytest.mark.parametrize(
    ("base", "candidate"),
    [
        (series([]), series(STEADY)),
        (series(STEADY), series([])),
        (None, series(STEADY)),
        (series(STEADY), None),
        (series([1.0, 1.0, 0.0, 1.0, 1.0]), series(STEADY)),
        (series(STEADY), series([1.0, 1.0, -1.0, 1.0, 1.0])),
        (series([1.0, 1.0, math.nan, 1.0, 1.0]), series(STEADY)),
        (series(STEADY), series([1.0, 1.0, math.inf, 1.0, 1.0])),
    ],
)
def test_what_is_no_time_is_not_compared(base: Series | None, candidate: Series | None) -> None:
    found = judge(base, candidate, margin=0.03)
    assert found == TimeJudgement("not_compared", None, ("not_measured",), None, None)


def test_what_qualifies_rounds_is_said_with_any_verdict() -> None:
    noisy = series(STEADY, "noisy")
    assert judge(noisy, times(1.2), margin=0.03).reasons == ("noisy",)
    assert judge(times(1.2), noisy, margin=0.03).reasons == ("noisy",)
    assert judge(times(1.0), series(STEADY[:3], "noisy"), margin=0.03).reasons == (
        "too_few_replicas",
        "noisy",
    )
    assert judge(times(1.0), series(STEADY, "queue_full"), margin=0.03).reasons == ("queue_full",)
    assert judge(times(1.0), series(STEADY, "other_process"), margin=0.03).reasons == ()


def test_the_noise_of_the_machine_raises_the_bar_of_a_change() -> None:
    # The floor of 5 against 5 is 1.96 x 3% x sqrt(2 / 5 / 0.955) = 3.8%.
    found = judge(times(1), times(1.035), margin=0.03, noise=noise(0.03))
    assert found.estimate is not None
    assert found.estimate.margin == pytest.approx(math.expm1(1.96 * 0.03 * math.sqrt(0.4 / 0.955)), rel=1e-3)
    assert found.verdict == "inconclusive"
    assert found.reasons == ("within_noise",)
    assert judge(times(1), times(1.05), margin=0.03, noise=noise(0.03)).verdict == "regressed"
    assert judge(times(1), times(1 / 1.035), margin=0.03, noise=noise(0.03)).reasons == ("within_noise",)
    assert judge(times(1), times(1 / 1.05), margin=0.03, noise=noise(0.03)).verdict == "improved"


def test_noise_never_widens_what_is_unchanged() -> None:
    # A floor of 26%: what is within 3% of 1 is shown to be so, and 20% are not said to be nothing.
    loud = noise(0.18)
    assert judge(times(1), times(1.02), margin=0.03, noise=loud).verdict == "unchanged"
    assert judge(times(1), times(1.02), margin=0.03, noise=loud).reasons == ("below_margin",)
    for factor in (1.04, 1.1, 1.2):
        found = judge(times(1), times(factor), margin=0.03, noise=loud)
        assert (found.verdict, found.reasons) == ("inconclusive", ("within_noise",))


def test_more_replicas_for_what_is_within_noise_by_hand() -> None:
    # Equal sides of P replicas exceed 1.96 x 18% x sqrt(2 / P / 0.955) in 5%; that is log 1.1 at
    # P = 2 x (1.96 x 0.18 / 0.0953)^2 / 0.955 = 28.7.
    found = judge(times(1), times(1.1), margin=0.03, noise=noise(0.18))
    assert found.more_replicas == 29 - 5


@pytest.mark.parametrize("replicas", [0, 2, 3])
def test_noise_of_fewer_than_4_replicas_is_not_used(replicas: int) -> None:
    few = Noise("compiled.wall_ms", 0.3, None, 1, (10.0,) * replicas, run=1)
    assert judge(times(1), times(1.2), margin=0.03, noise=few) == judged(1.2)


def test_noise_below_the_margin_changes_nothing() -> None:
    assert judge(times(1), times(1.035), margin=0.03, noise=noise(0.001)) == judged(1.035)


@pytest.mark.parametrize(
    ("change", "margin", "expected"),
    [
        (1.05, 0.03, "small"),
        (1.07, 0.03, "medium"),
        (1.14, 0.03, "medium"),
        (1.16, 0.03, "large"),
        (1.19, 0.10, "small"),
        (1 / 1.05, 0.03, "small"),
        (1 / 1.07, 0.03, "medium"),
        (1 / 1.16, 0.03, "large"),
    ],
)
def test_magnitude_is_counted_in_margins_and_alike_both_ways(
    change: float, margin: float, expected: str
) -> None:
    assert magnitude(change, margin) == expected
    assert judged(change, margin).magnitude == expected


def test_only_a_change_has_a_magnitude() -> None:
    assert judged(1.01).magnitude is None


@pytest.mark.parametrize(
    ("shift", "margin", "needed"),
    [
        # 16 x 0.00625 / 0.06^2 = 27.8: beyond the margin the whole effect is to be told from 0
        (0.06, 0.03, 28),
        # 16 x 0.00625 / ln(1.03)^2 = 114.5: from no effect to the margin
        (0.0, 0.03, 115),
        # 16 x 0.00625 / (ln(1.1) - 0.03)^2 = 23.4: what is left to the margin
        (0.03, 0.10, 24),
    ],
)
def test_more_replicas_by_hand(shift: float, margin: float, needed: int) -> None:
    # The variance of these is 0.025 / 4 = 0.00625.
    logs = (-0.1, -0.05, 0.0, 0.05, 0.1)
    base, candidate = ([math.exp(one + moved) for one in logs] for moved in (0, shift))
    found = judge(series(base), series(candidate), margin=margin)
    assert found.verdict == "inconclusive"
    assert found.more_replicas == needed - 5


def test_an_estimate_at_the_margin_is_settled_by_no_number() -> None:
    logs = (-0.1, -0.05, 0.0, 0.05, 0.1)
    base = series([math.exp(one) for one in logs])
    found = judge(base, series([math.exp(one) * 1.02999 for one in logs]), margin=0.03)
    assert found.more_replicas == MOST_REPLICAS - 5
    # No difference where every difference counts is such a case too.
    assert judge(base, base, margin=0.0).more_replicas == MOST_REPLICAS - 5


def test_so_many_more_replicas_settle_it_more_often_than_not() -> None:
    draw = random.Random(12)
    settled = asked = 0
    while asked < 200:
        effect = draw.choice((0.0, 0.0, 0.06, 0.10))
        found = judge(series(side(draw, 5, 0.03)), series(side(draw, 5, 0.03, effect)), margin=0.03)
        if found.more_replicas is None or found.more_replicas > 30:
            continue
        asked += 1
        each = 5 + found.more_replicas
        again = judge(series(side(draw, each, 0.03)), series(side(draw, each, 0.03, effect)), margin=0.03)
        settled += again.verdict != "inconclusive"
    assert settled / asked > 0.6


def test_a_rerun_confirms_what_it_finds_again() -> None:
    eight = (9.97, 9.98, 9.99, 10.0, 10.01, 10.02, 10.03, 10.04)
    found = judge_rerun(judged(1.1), series(eight), times(1.1, eight), margin=0.03)
    assert found.confirmed is True
    assert found.judgement.verdict == "regressed"
    assert found.judgement.estimate is not None
    assert found.judgement.estimate.confidence == 0.99
    assert judge_rerun(judged(0.9), series(eight), times(0.9, eight), margin=0.03).confirmed is True


@pytest.mark.parametrize("factor", [1.0, 1.02, 0.8])
def test_a_rerun_that_finds_less_or_the_opposite_disagrees(factor: float) -> None:
    eight = (9.97, 9.98, 9.99, 10.0, 10.01, 10.02, 10.03, 10.04)
    assert judge_rerun(judged(1.1), series(eight), times(factor, eight), margin=0.03).confirmed is False


def test_a_rerun_needs_99_percent() -> None:
    # Of 64 differences 13 are negative: at 95% the interval leaves out 13 at each end, at 99% only 7.
    base = series([10.0, 10.1, 10.2, 10.3, 10.4, 10.5, 10.6, 13.0])
    candidate = series([10.55, 11.0, 11.1, 11.2, 11.3, 11.4, 11.5, 11.6])
    negative = sum(after < before for before in base.values for after in candidate.values)
    assert 7 < negative <= 13
    assert judge(base, candidate, margin=0.03).verdict == "regressed"
    # The rerun is beyond the margin once more and not sure of it at 99%: neither confirmed nor cleared.
    assert judge_rerun(judged(1.1), base, candidate, margin=0.03).confirmed is None
    # Below a margin of a tenth the same rerun (1.086) does not point there again.
    assert judge_rerun(judged(1.2), base, candidate, margin=0.10).confirmed is False


def test_a_rerun_that_is_too_wide_clears_nothing() -> None:
    wide = (6.0, 7.0, 8.0, 10.0, 10.5, 12.0, 14.0, 16.0)
    slower = tuple(1.37 * one for one in wide)
    again = judge_rerun(judged(1.35), series(wide), series(slower), margin=0.03)
    assert again.judgement.verdict == "inconclusive"
    assert again.confirmed is None
    faster = tuple(one / 1.37 for one in wide)
    assert judge_rerun(judged(1.35), series(wide), series(faster), margin=0.03).confirmed is False


def test_a_rerun_that_measured_too_little_leaves_it_open() -> None:
    assert judge_rerun(judged(1.1), series([10.0]), series([11.0]), margin=0.03).confirmed is None
    assert judge_rerun(judged(1.1), None, series(STEADY), margin=0.03).confirmed is None
    four = series([10.0, 10.1, 10.2, 10.3])
    assert judge_rerun(judged(1.1), four, four, margin=0.03).confirmed is None


def test_there_is_nothing_to_confirm_in_an_unchanged_time() -> None:
    with pytest.raises(ValueError, match="unchanged"):
        judge_rerun(judged(1.0), times(1), times(1), margin=0.03)


def test_every_reason_is_a_declared_one() -> None:
    draw = random.Random(13)
    seen: set[str] = set()
    for _ in range(300):
        sides = [series(side(draw, draw.choice((2, 4, 5, 8)), 0.03), "noisy") for _ in range(2)]
        seen.update(judge(*sides, margin=0.03, noise=noise(draw.choice((0.01, 0.1)))).reasons)
    assert seen <= set(REASONS)
    assert seen == {"too_few_replicas", "noisy", "interval_wide", "below_margin", "within_noise"}
