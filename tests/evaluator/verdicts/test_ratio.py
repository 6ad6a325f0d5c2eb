"""The ratio and its interval: against printed tables, a textbook's example, and counting every order there is."""

from __future__ import annotations

import itertools
import math
import random
import statistics

import pytest

from evaluator.verdicts.ratio import critical_value, log_shift, rank_sum_counts, ratio

# The two-sided critical values of the Mann-Whitney U test, as the tables of textbooks print them.
AT_95 = {
    (4, 4): 0,
    (5, 5): 2,
    (5, 6): 3,
    (5, 7): 5,
    (5, 8): 6,
    (6, 6): 5,
    (7, 7): 8,
    (8, 8): 13,
    (9, 9): 17,
    (10, 10): 23,
    (12, 12): 37,
    (15, 15): 64,
    (20, 20): 127,
}
AT_99 = {
    (5, 5): 0,
    (6, 6): 2,
    (7, 7): 4,
    (8, 8): 7,
    (9, 9): 11,
    (10, 10): 16,
    (12, 12): 27,
    (15, 15): 51,
    (20, 20): 105,
}


@pytest.mark.parametrize(("sizes", "expected"), AT_95.items())
def test_critical_values_at_95_percent(sizes: tuple[int, int], expected: int) -> None:
    assert critical_value(*sizes, 0.95) == expected
    assert critical_value(*reversed(sizes), 0.95) == expected


@pytest.mark.parametrize(("sizes", "expected"), AT_99.items())
def test_critical_values_at_99_percent(sizes: tuple[int, int], expected: int) -> None:
    assert critical_value(*sizes, 0.99) == expected


@pytest.mark.parametrize(
    ("sizes", "confidence"), [((3, 3), 0.95), ((2, 5), 0.95), ((4, 4), 0.99), ((1, 1), 0.5)]
)
def test_no_interval_where_even_the_widest_covers_too_little(
    sizes: tuple[int, int], confidence: float
) -> None:
    with pytest.raises(ValueError, match="no interval"):
        ratio([float(n + 1) for n in range(sizes[0])], [float(n + 1) for n in range(sizes[1])], confidence)


def test_an_interval_of_exactly_the_confidence_is_taken() -> None:
    # 4 against 4: the widest interval leaves out 2 of 70 orders, so it covers 68 / 70.
    assert critical_value(4, 4, 68 / 70) == 0
    with pytest.raises(ValueError, match="no interval"):
        critical_value(4, 4, 68 / 70 + 1e-6)


@pytest.mark.parametrize("sizes", [(1, 1), (1, 4), (2, 3), (3, 3), (4, 3), (4, 4), (5, 5)])
def test_counts_of_orders_against_going_through_them_all(sizes: tuple[int, int]) -> None:
    m, n = sizes
    counts = [0] * (m * n + 1)
    for places in itertools.combinations(range(m + n), m):
        others = [place for place in range(m + n) if place not in places]
        counts[sum(mine > other for mine in places for other in others)] += 1
    assert rank_sum_counts(m, n) == counts


def permutation_p(base: list[float], candidate: list[float]) -> float:
    """Two-sided p of the rank-sum test by going through every way to split the numbers in two."""
    everything = base + candidate
    middle = len(base) * len(candidate) / 2

    def distance(chosen: tuple[int, ...]) -> float:
        mine = [everything[place] for place in chosen]
        rest = [everything[place] for place in range(len(everything)) if place not in chosen]
        return abs(sum(one > other for one in mine for other in rest) - middle)

    seen = distance(tuple(range(len(base))))
    splits = list(itertools.combinations(range(len(everything)), len(base)))
    return sum(distance(one) >= seen for one in splits) / len(splits)


@pytest.mark.parametrize("sizes", [(4, 4), (4, 5), (5, 5), (3, 7), (6, 5)])
@pytest.mark.parametrize("confidence", [0.9, 0.95])
def test_the_interval_is_what_a_permutation_test_does_not_reject(
    sizes: tuple[int, int], confidence: float
) -> None:
    draw = random.Random(sizes[0] * 10 + sizes[1])
    for _ in range(3):
        base = [math.exp(draw.gauss(2, 0.1)) for _ in range(sizes[0])]
        candidate = [math.exp(draw.gauss(2.05, 0.1)) for _ in range(sizes[1])]
        found = ratio(base, candidate, confidence)
        assert found.low < found.ratio < found.high
        for end, outwards in ((found.low, 1 - 1e-9), (found.high, 1 + 1e-9)):
            inside = [one / (end / outwards) for one in candidate]
            outside = [one / (end * outwards) for one in candidate]
            assert permutation_p(base, inside) > 1 - confidence + 1e-12
            assert permutation_p(base, outside) <= 1 - confidence + 1e-12


def test_a_textbook_example() -> None:
    # Hollander and Wolfe, example 4.1 and on: permeability of a membrane at term, and between 12 and 26 weeks. They
    # give the shift -0.305, and -0.76 to 0.15 as its interval of 96%.
    at_term = [0.80, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46]
    early = [1.15, 0.88, 0.90, 0.74, 1.21]
    found = ratio([math.exp(one) for one in at_term], [math.exp(one) for one in early], 0.95)
    assert math.log(found.ratio) == pytest.approx(-0.305)
    assert math.log(found.low) == pytest.approx(-0.76)
    assert math.log(found.high) == pytest.approx(0.15)


def test_swapped_sides_give_the_mirror_image() -> None:
    draw = random.Random(4)
    base = [draw.uniform(1, 2) for _ in range(6)]
    candidate = [draw.uniform(1, 2) for _ in range(7)]
    there, back = ratio(base, candidate), ratio(candidate, base)
    assert back.ratio == pytest.approx(1 / there.ratio)
    assert back.low == pytest.approx(1 / there.high)
    assert back.high == pytest.approx(1 / there.low)


def test_a_factor_on_every_number_is_the_ratio() -> None:
    base = [9.0, 10.0, 11.0, 10.5, 9.5]
    found = ratio(base, [one * 1.1 for one in base])
    assert found.ratio == pytest.approx(1.1)


def test_equal_numbers_keep_the_coverage() -> None:
    """With ties the interval is conservative: of coarse readings of equal sides at most 5% leave 1 out."""
    draw = random.Random(11)
    outside = 0
    for _ in range(2000):
        base, candidate = ([float(round(draw.gauss(10, 1))) for _ in range(6)] for _ in range(2))
        found = ratio(base, candidate)
        outside += found.low > 1 or found.high < 1
    assert outside / 2000 <= 0.05


def test_all_numbers_equal() -> None:
    found = ratio([5.0] * 5, [5.0] * 5)
    assert (found.ratio, found.low, found.high) == (1, 1, 1)


@pytest.mark.parametrize("bad", [0.0, -1.0])
def test_numbers_that_are_not_positive_have_no_ratio(bad: float) -> None:
    with pytest.raises(ValueError, match="positive"):
        ratio([1.0, 2.0, 3.0, bad], [1.0, 2.0, 3.0, 4.0])


def test_a_shift_is_the_median_of_all_differences() -> None:
    base, candidate = [0.0, 1.0, 5.0], [2.0, 3.0]
    # 2, 3, 1, 2, -3, -2 in order: -3 -2 1 2 2 3
    assert log_shift(base, candidate) == 1.5
    draw = random.Random(2)
    for sizes in ((5, 5), (4, 7), (8, 8)):
        groups = [[draw.gauss(0, 1) for _ in range(size)] for size in sizes]
        expected = statistics.median(after - before for before, after in itertools.product(*groups))
        assert log_shift(*groups) == pytest.approx(expected)


def test_how_it_reads() -> None:
    assert str(ratio([10.0] * 5, [11.0] * 5)) == "1.100 (1.100 to 1.100)"
