"""What a calibration says: spreads, what equal sides exceed, what can be seen, and how many replicas that takes."""

from __future__ import annotations

import math
import random
import statistics

import pytest

from evaluator.verdicts.noise import (
    MOST_REPLICAS,
    detectable,
    floor,
    noise_of,
    replicas_above_noise,
    replicas_needed,
    usable,
)
from evaluator.verdicts.ratio import log_shift, ratio
from evaluator.verdicts.sides import Noise
from tests.evaluator.verdicts.simulated import rounds, side


def noise(sd: float, values: tuple[float, ...] = ()) -> Noise:
    return Noise("compiled.wall_ms", sd, None, 1, values, run=1)


def test_spreads_by_hand() -> None:
    e = math.e
    found = noise_of("compiled.wall_ms", {0: [1, e, e**2], 1: [e, e**2, e**3], 2: [e**3, e**3, e**3]}, run=7)
    assert found.values == (e, e**2, e**3)
    # Of 1, 2, 3.
    assert found.between_sd == pytest.approx(1)
    # Sums of squares 2, 2 and 0 over 2 + 2 + 2 degrees of freedom.
    assert found.within_sd == pytest.approx(math.sqrt(4 / 6))
    assert (found.metric, found.rounds, found.run) == ("compiled.wall_ms", 3, 7)


def test_one_sample_a_replica_has_no_spread_within() -> None:
    found = noise_of("compile.cold_s", {0: [4.0], 1: [4.4], 2: [4.2]}, run=1)
    assert found.within_sd is None
    assert found.rounds == 1
    assert found.between_sd == pytest.approx(statistics.stdev(map(math.log, (4.0, 4.4, 4.2))))


def test_values_are_in_the_order_of_their_replicas() -> None:
    assert noise_of("m", {3: [3.0], 1: [1.0], 2: [2.0]}, run=1).values == (1.0, 2.0, 3.0)


def test_what_failed_is_left_out() -> None:
    found = noise_of("m", {0: [2.0, float("nan"), 2.0], 1: [0.0, -1.0], 2: [], 3: [4.0, float("inf")]}, run=1)
    assert found.values == (2.0, 4.0)


@pytest.mark.parametrize("replicas", [{}, {0: [1.0, 2.0]}, {0: [1.0], 1: [0.0]}])
def test_fewer_than_two_replicas_have_no_noise(replicas: dict[int, list[float]]) -> None:
    with pytest.raises(ValueError, match="2 replicas"):
        noise_of("m", replicas, run=1)


def test_spreads_are_found_again_in_made_up_rounds() -> None:
    made = rounds(random.Random(3), 400, 7, 0.015, 0.02)
    found = noise_of("m", dict(enumerate(made)), run=1)
    assert found.within_sd == pytest.approx(0.02, rel=0.05)
    # A median of 7 rounds has 1.57 / 7 of a round's variance, nearly.
    assert found.between_sd == pytest.approx(math.sqrt(0.015**2 + 1.57 * 0.02**2 / 7), rel=0.1)


def share_beyond(limit: float, replicas: int, sd: float, draw: random.Random) -> float:
    """How many of many equal sides have an estimate further from 1 than this."""
    count = 4000
    beyond = 0
    for _ in range(count):
        groups = [[draw.gauss(0, sd) for _ in range(replicas)] for _ in range(2)]
        beyond += abs(log_shift(*groups)) > math.log1p(limit)
    return beyond / count


@pytest.mark.parametrize("replicas", [5, 8])
def test_equal_sides_exceed_the_floor_of_the_model_in_5_percent(replicas: int) -> None:
    found = floor(noise(0.02), replicas)
    assert share_beyond(found, replicas, 0.02, random.Random(5)) == pytest.approx(0.05, abs=0.015)


@pytest.mark.parametrize(("replicas", "calibrated"), [(5, 16), (8, 16), (8, 24)])
def test_equal_sides_exceed_the_floor_of_splits_about_as_often(replicas: int, calibrated: int) -> None:
    draw = random.Random(6)
    floors = [
        math.log1p(floor(noise_of("m", {n: [one] for n, one in enumerate(values)}, 1), replicas))
        for values in (side(draw, calibrated, 0.02) for _ in range(100))
    ]
    beyond = share_beyond(math.expm1(statistics.fmean(floors)), replicas, 0.02, draw)
    assert 0.03 <= beyond <= 0.12


def test_a_drift_of_the_machine_is_no_noise_to_interleaved_sides() -> None:
    steady = tuple(10 * (1 + 0.001 * (-1) ** n) for n in range(16))
    drifting = tuple(value * 1.02**n for n, value in enumerate(steady))
    of_drift = statistics.stdev(math.log(value) for value in drifting)
    # The normal model takes the drift for noise; splits of neighbours see no more than what 2% a step leaves.
    assert floor(noise(of_drift), 8) > 0.09
    assert floor(noise(of_drift, drifting), 8) < 0.025


def test_splits_of_16_equal_values_show_no_noise() -> None:
    assert floor(noise(0.5, (3.0,) * 16), 8) == 0


def test_too_few_values_for_splits_use_the_model() -> None:
    assert floor(noise(0.02, (3.0,) * 10), 5) == floor(noise(0.02), 5) > 0


def test_detectable_by_hand() -> None:
    # 2.8 x 1.5% x sqrt(2 / 32) = 1.05%, as a log; with few, 8 count as 6: 2.8 x 1.5% x sqrt(2 / 6) = 2.42%.
    assert detectable(0.015, 32) == pytest.approx(math.expm1(0.0105))
    assert detectable(0.015, 8) == pytest.approx(math.expm1(0.02425), abs=1e-5)


@pytest.mark.parametrize("replicas", [5, 8, 12, 20])
def test_what_is_detectable_is_found_in_four_of_five_cases(replicas: int) -> None:
    draw = random.Random(8)
    effect = detectable(0.02, replicas)
    pairs = ((side(draw, replicas, 0.02), side(draw, replicas, 0.02, effect)) for _ in range(1500))
    assert statistics.fmean(ratio(*pair).low > 1 for pair in pairs) == pytest.approx(0.8, abs=0.07)


@pytest.mark.parametrize(
    ("sd", "effect", "expected"),
    [
        # 16 x (0.03 / 0.03)^2 = 16, and 2 because it is few
        (0.03, math.expm1(0.03), 18),
        # 16 x 4 = 64
        (0.06, math.expm1(0.03), 64),
        # 16 / 4 + 2 = 6
        (0.015, math.expm1(0.03), 6),
        (0.001, 0.10, 5),
        (0.0, 0.10, 5),
        (0.3, 0.001, MOST_REPLICAS),
        (0.3, 1e-200, MOST_REPLICAS),
    ],
)
def test_replicas_needed_by_hand(sd: float, effect: float, expected: int) -> None:
    assert replicas_needed(sd, effect) == expected


def test_a_smaller_effect_never_needs_fewer() -> None:
    needed = [replicas_needed(0.02, effect / 1000) for effect in range(200, 0, -1)]
    assert needed == sorted(needed)


@pytest.mark.parametrize("effect", [0.02, 0.03, 0.05])
def test_so_many_replicas_find_the_effect_in_four_of_five_cases(effect: float) -> None:
    draw = random.Random(9)
    each = replicas_needed(0.02, effect)
    found = [ratio(side(draw, each, 0.02), side(draw, each, 0.02, effect)).low > 1 for _ in range(600)]
    assert 0.75 <= statistics.fmean(found) <= (0.9 if each > 5 else 1)


@pytest.mark.parametrize(("sd", "effect"), [(0.1, 0.0), (0.1, -0.1), (-0.1, 0.1)])
def test_no_effect_or_a_negative_spread_is_refused(sd: float, effect: float) -> None:
    with pytest.raises(ValueError, match="effect"):
        replicas_needed(sd, effect)


def test_a_side_without_replicas_is_refused() -> None:
    for function in (floor, detectable):
        with pytest.raises(ValueError, match="replica"):
            function(noise(0.01), 0)


@pytest.mark.parametrize(("replicas", "used"), [(2, False), (3, False), (4, True), (8, True)])
def test_noise_of_fewer_than_4_replicas_is_no_noise(replicas: int, used: bool) -> None:
    found = noise_of("m", {number: [10.0 + number] for number in range(replicas)}, run=1)
    assert usable(found) == (found if used else None)
    assert usable(None) is None


@pytest.mark.parametrize(("sd", "effect"), [(0.03, 0.02), (0.03, 0.05), (0.18, 0.10)])
def test_so_many_replicas_bring_the_floor_below_the_effect_and_one_fewer_does_not(
    sd: float, effect: float
) -> None:
    each = replicas_above_noise(sd, effect)
    assert floor(noise(sd), each) <= effect < floor(noise(sd), each - 1)


def test_replicas_above_noise_stay_within_what_can_be_had() -> None:
    assert replicas_above_noise(0.0, 0.01) == 1
    assert replicas_above_noise(0.5, 0.0001) == MOST_REPLICAS
    with pytest.raises(ValueError, match="effect"):
        replicas_above_noise(0.1, 0.0)
