"""Where an interval is drawn."""

from __future__ import annotations

import math

import pytest

from evaluator.report.plots import Scale, draw, scale_of
from tests.evaluator.report.made import estimate


def test_no_change_is_in_the_middle_and_factors_are_symmetric() -> None:
    scale = Scale(math.log(2))
    assert scale.place(1.0) == 0.5
    assert scale.place(2.0) == pytest.approx(1.0) and scale.place(0.5) == pytest.approx(0.0)
    assert scale.place(math.sqrt(2)) == pytest.approx(0.75)
    assert scale.place(1.25) - 0.5 == pytest.approx(0.5 - scale.place(0.8))
    assert scale.ends == ("-50.0%", "x2.00")


def test_what_is_beyond_the_scale_stands_at_its_end_and_says_so() -> None:
    scale = Scale(math.log(1.2))
    drawn = draw(estimate(1.1, 0.5, 9.0), scale)
    assert (drawn.low, drawn.high, drawn.low_beyond, drawn.high_beyond) == (0.0, 100.0, True, True)
    inside = draw(estimate(1.1, 1.05, 1.15), scale)
    assert not inside.low_beyond and not inside.high_beyond
    for odd in (0.0, -1.0, math.inf, math.nan):
        assert scale.beyond(odd)
        assert 0 <= scale.place(odd) <= 1


def test_the_margin_is_a_band_around_no_change() -> None:
    drawn = draw(estimate(1.0, 0.99, 1.01, margin=0.1), Scale(math.log(1.21)))
    assert drawn.margin_low == pytest.approx(25, abs=0.01) and drawn.margin_high == pytest.approx(
        75, abs=0.01
    )


def test_a_scale_shows_three_margins_and_no_more_than_a_factor_of_two() -> None:
    assert scale_of([estimate(1.0, 0.999, 1.001)]).reach == pytest.approx(3 * math.log(1.03))
    assert scale_of([estimate(5.0, 4.0, 6.0)]).reach == pytest.approx(math.log(2))
    assert scale_of([]).reach > 0
    assert scale_of([estimate(1.0, math.nan, math.inf)]).reach > 0


def test_one_wide_interval_among_many_does_not_flatten_the_rest() -> None:
    usual = [estimate(1.0, 0.98, 1.02)] * 19
    assert scale_of([*usual, estimate(1.5, 0.6, 3.0)]).reach == scale_of(usual).reach
