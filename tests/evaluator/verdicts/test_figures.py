"""How often verdicts are wrong and what they find: seeded synthetic replicas, and measured processes that did the same.

Bounds are those of the theory: a test at 95% is wrong in at most 5%, and counts of a seeded draw lie within
a few standard deviations of their expectation. The benchmark ``tests.benchmarks.verdicts`` prints the whole table.
"""

from __future__ import annotations

import random
import statistics
from collections import Counter
from itertools import chain

import pytest

from evaluator.verdicts.noise import noise_of
from evaluator.verdicts.times import judge, judge_rerun
from tests.benchmarks.verdicts import medians, of_rounds, shares, significant, two_stages
from tests.evaluator.verdicts.simulated import (
    SERIES,
    Side,
    equal_processes,
    interleaved,
    rounds,
    series,
    side,
)

MANY = 1500
measured = pytest.mark.skipif(not SERIES.is_dir(), reason="the measured series are not beside the checkout")


def equal(draw: random.Random, replicas: int, sd: float) -> list[tuple[Side, Side]]:
    return [(side(draw, replicas, sd), side(draw, replicas, sd)) for _ in range(MANY)]


@pytest.mark.parametrize("replicas", [4, 5, 8])
@pytest.mark.parametrize("sd", [0.005, 0.015, 0.03, 0.1])
def test_equal_sides_are_called_different_in_at_most_5_percent(replicas: int, sd: float) -> None:
    pairs = equal(random.Random(f"{replicas} {sd}"), replicas, sd)
    # 5% is what the interval promises; three standard deviations of 1500 draws are 1.7%.
    assert significant(pairs) <= 0.067
    found = shares(pairs)
    # The margin takes the most of them away, the more the steadier a cell is; beyond 3% it helps little.
    assert found["regressed"] + found["improved"] <= {0.005: 0.0, 0.015: 0.01, 0.03: 0.05, 0.1: 0.067}[sd]


@measured
@pytest.mark.parametrize("replicas", [5, 8])
def test_measured_equal_processes_are_called_different_in_at_most_5_percent(replicas: int) -> None:
    found: Counter[str] = Counter()
    for values in equal_processes().values():
        for base, candidate in interleaved(values, replicas):
            found[judge(series(base), series(candidate), margin=0.03).verdict] += 1
    total = sum(found.values())
    assert total > 400
    assert (found["regressed"] + found["improved"]) / total <= 0.05
    # Processes that spread by 25% show nothing to be equal within 3%, and it must not be claimed.
    assert found["unchanged"] == 0


@pytest.mark.parametrize(
    ("replicas", "between", "unchanged", "inconclusive"),
    [(5, 0.015, 0.50, 0.50), (8, 0.015, 0.84, 0.16), (5, 0.03, 0.05, 0.93)],
)
def test_how_many_equal_sides_are_shown_to_be_unchanged(
    replicas: int, between: float, unchanged: float, inconclusive: float
) -> None:
    """The shares that the method is known to have with a margin of 3%, and 2% between the 7 rounds of a replica."""
    draw = random.Random(21)
    sides = [medians(rounds(draw, replicas, 7, between, 0.02)) for _ in range(2 * MANY)]
    found = shares(zip(sides[::2], sides[1::2], strict=True))
    assert found["unchanged"] == pytest.approx(unchanged, abs=0.05)
    assert found["inconclusive"] == pytest.approx(inconclusive, abs=0.05)


@pytest.mark.parametrize(
    ("sd", "replicas", "effect", "least"),
    [
        (0.01, 5, 0.05, 0.97),
        (0.015, 5, 0.05, 0.90),
        (0.015, 8, 0.05, 0.97),
        (0.03, 5, 0.10, 0.93),
        (0.03, 5, 0.25, 0.99),
    ],
)
def test_what_is_planted_well_above_the_margin_is_found(
    sd: float, replicas: int, effect: float, least: float
) -> None:
    draw = random.Random(22)
    slower = [(side(draw, replicas, sd), side(draw, replicas, sd, effect)) for _ in range(600)]
    assert shares(slower)["regressed"] >= least
    faster = [(candidate, base) for base, candidate in slower]
    assert shares(faster)["improved"] >= least


def test_an_effect_below_the_margin_is_seldom_a_regression() -> None:
    draw = random.Random(23)
    pairs = [(side(draw, 8, 0.015), side(draw, 8, 0.015, 0.015)) for _ in range(MANY)]
    assert shares(pairs)["regressed"] <= 0.05


@pytest.mark.parametrize(("sd", "calibrated"), [(0.015, 4), (0.03, 4), (0.05, 4), (0.05, 16)])
def test_a_calibration_hides_no_regression_and_claims_none(sd: float, calibrated: int) -> None:
    """A true 6% at a margin of 3%: called unchanged in at most 5%, as the 90% interval promises, however loud a
    calibration was; and equal sides are called different no oftener than without one."""
    draw = random.Random(f"{sd} {calibrated}")
    found: Counter[str] = Counter()
    for effect in (0.0, 0.06):
        for _ in range(400):
            values = side(draw, calibrated, sd)
            noise = noise_of("compiled.wall_ms", {number: [one] for number, one in enumerate(values)}, run=1)
            sides = series(side(draw, 5, sd)), series(side(draw, 5, sd, effect))
            verdict = judge(*sides, margin=0.03, noise=noise).verdict
            found["hidden"] += effect > 0 and verdict == "unchanged"
            found["false"] += effect == 0 and verdict in ("regressed", "improved")
            # Without one the same sides are equal, or not, by the same interval.
            plain = judge(*sides, margin=0.03).verdict
            assert (verdict == "unchanged") == (plain == "unchanged")
            assert plain == verdict or verdict == "inconclusive"
    assert found["hidden"] <= 0.05 * 400
    # 5%, and three standard deviations of 400 draws.
    assert found["false"] <= 0.083 * 400


def test_two_stages_over_3000_comparisons() -> None:
    """Known of the method: 127 false with p < .05 alone, 6 with the margin, none confirmed, 42.3 of 45 real ones found."""
    seeds = [two_stages(random.Random(seed), 3000, 45) for seed in range(3)]
    for counts in seeds:
        assert 60 <= counts["significant"] <= 160
        assert counts["margin"] <= 15
        assert counts["confirmed"] == 0
    assert 40 <= statistics.fmean(counts["found"] for counts in seeds) <= 45


def test_pooled_rounds_would_call_every_fourth_equal_pair_different() -> None:
    """Why a value is a replica's median: known of the method, 28% with pooled rounds."""
    draw = random.Random(24)
    sides = [(of_rounds(draw, 5), of_rounds(draw, 5)) for _ in range(500)]
    flat = [(tuple(chain(*base)), tuple(chain(*candidate))) for base, candidate in sides]
    assert significant(flat) == pytest.approx(0.28, abs=0.06)
    assert significant((medians(base), medians(candidate)) for base, candidate in sides) <= 0.06


def test_a_machine_that_slows_down_for_both_sides_moves_nothing() -> None:
    """Interleaved, half of either side is measured at the slower pace, or the pace falls all the time."""
    draw = random.Random(25)
    found: Counter[str] = Counter()
    for _ in range(300):
        quiet = side(draw, 16, 0.01)
        step = [value * (1.3 if place >= 6 else 1.0) for place, value in enumerate(quiet)]
        creep = [value * 1.02**place for place, value in enumerate(quiet)]
        for values in (step, creep):
            ((base, candidate),) = interleaved(values, 8)
            found[judge(series(base), series(candidate), margin=0.03).verdict] += 1
    assert found["regressed"] + found["improved"] <= 0.01 * 600


def test_one_outlier_is_no_regression() -> None:
    draw = random.Random(26)
    found: Counter[str] = Counter()
    for _ in range(300):
        base, candidate = side(draw, 5, 0.01), side(draw, 5, 0.01)
        found[judge(series(base), series((*candidate[:4], 50.0)), margin=0.03).verdict] += 1
    assert found["regressed"] <= 0.02 * 300


def test_a_planted_slowdown_of_10_percent_is_found_and_confirmed_by_both_stages() -> None:
    draw = random.Random(27)
    confirmed = 0
    for _ in range(200):
        first = judge(series(side(draw, 5, 0.02)), series(side(draw, 5, 0.02, 0.10)), margin=0.03)
        if first.verdict == "regressed":
            again = (series(side(draw, 8, 0.02)), series(side(draw, 8, 0.02, 0.10)))
            confirmed += bool(judge_rerun(first, *again, margin=0.03).confirmed)
    assert confirmed >= 0.97 * 200
