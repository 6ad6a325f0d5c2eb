"""Arithmetic of spans: by hand, and against counting unit by unit."""

from __future__ import annotations

import random

import pytest

from evaluator.chrome_trace.intervals import gaps, length, shared, union


def test_union_joins_what_overlaps_or_touches() -> None:
    assert union([(5, 7), (1, 3), (2, 4), (4, 5), (9, 9)]) == [(1, 7), (9, 9)]
    assert length([(1, 7), (9, 9)]) == 6


def test_gaps_lie_between() -> None:
    assert gaps([(1, 3), (6, 8), (2, 4), (10, 12)]) == [(4, 6), (8, 10)]
    assert gaps([]) == gaps([(1, 2)]) == []


def test_what_touches_does_not_overlap() -> None:
    assert shared({"a": [(0, 5)], "b": [(5, 9)]}) == {("a", "b"): 0}


@pytest.mark.parametrize("seed", range(40))
def test_all_of_it_is_what_counting_gives(seed: int) -> None:
    rng = random.Random(seed)
    lanes = {
        name: [(start, start + rng.randint(0, 6)) for start in (rng.randint(0, 40) for _ in range(5))]
        for name in "abc"
    }
    units = {
        name: {unit for start, end in spans for unit in range(start, end)} for name, spans in lanes.items()
    }
    for name, spans in lanes.items():
        assert length(union(spans)) == len(units[name])
        first, last = min(start for start, _ in spans), max(end for _, end in spans)
        assert length(gaps(spans)) == last - first - len(units[name])
    assert shared(lanes) == {
        (one, other): len(units[one] & units[other]) for one, other in (("a", "b"), ("a", "c"), ("b", "c"))
    }
