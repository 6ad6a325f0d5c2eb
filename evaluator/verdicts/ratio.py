"""The ratio of two groups of positive numbers, with an exact interval.

Source of all of it: Hollander and Wolfe, Nonparametric Statistical Methods, chapter 4: the Hodges-Lehmann estimate and
the interval of Moses, here of logs, so that a difference is a ratio. No distribution is assumed but that one group is
the other times a factor.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple


class Ratio(NamedTuple):
    """Hodges-Lehmann ratio candidate / base and the ends of its Mann-Whitney confidence interval."""

    ratio: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.ratio:.3f} ({self.low:.3f} to {self.high:.3f})"


def ratio(base: Sequence[float], candidate: Sequence[float], confidence: float = 0.95) -> Ratio:
    """Median of all pairwise ratios candidate / base, and the narrowest interval of at least this confidence.

    The interval runs from one order statistic of the pairwise ratios to its mirror image. It covers with at least
    ``confidence``, exactly computed where no two numbers are equal; with ties it is conservative. All numbers must be
    positive. Raises ValueError where one is not, and where even the widest interval covers too little (3 against 3
    at 95%).
    """
    return ratios(base, candidate, confidence)[0]


def ratios(base: Sequence[float], candidate: Sequence[float], *confidences: float) -> tuple[Ratio, ...]:
    """``ratio`` at each of these confidences, of which only the interval differs."""
    cuts = [critical_value(len(base), len(candidate), confidence) for confidence in confidences]
    if min(base) <= 0 or min(candidate) <= 0:
        raise ValueError("a ratio needs positive numbers")
    shifts = _shifts([math.log(one) for one in base], [math.log(one) for one in candidate])
    middle = math.exp(_middle(shifts))
    return tuple(Ratio(middle, math.exp(shifts[cut]), math.exp(shifts[-1 - cut])) for cut in cuts)


def log_shift(base: Sequence[float], candidate: Sequence[float]) -> float:
    """The Hodges-Lehmann shift of two groups of logs: the median of all pairwise differences candidate - base."""
    return _middle(_shifts(base, candidate))


@lru_cache(maxsize=1024)
def critical_value(base: int, candidate: int, confidence: float) -> int:
    """The largest c for which the Mann-Whitney statistic U of groups of these sizes has 2 P(U <= c) <= 1 - confidence.

    What tables print as the critical value of a two-sided test. It is also the position, from 0, of the interval's
    low end among the sorted pairwise differences. Raises ValueError where there is none: the groups are too small.
    """
    if base < 1 or candidate < 1 or not 0 < confidence < 1:
        raise ValueError("an interval needs two groups of numbers and a confidence between 0 and 1")
    counts = rank_sum_counts(base, candidate)
    # A hair more, since (1 - confidence) / 2 of a float can fall short of the probability that is meant.
    allowed = sum(counts) * ((1 - confidence) / 2) * (1 + 1e-9)
    below, found = 0, -1
    for statistic, count in enumerate(counts):
        below += count
        if below > allowed:
            break
        found = statistic
    if found < 0:
        raise ValueError(f"{base} against {candidate} numbers have no interval of {confidence:g} confidence")
    return found


def rank_sum_counts(m: int, n: int) -> list[int]:
    """In how many orders of m and n distinct numbers the Mann-Whitney statistic U is 0, 1, ..., m * n.

    The generating function of U is the Gaussian binomial coefficient (Mann and Whitney 1947): for each i from 1 to
    m, multiply by 1 - q^(n+i) and divide by 1 - q^i.
    """
    ways = [1] + [0] * (m * n)
    for i in range(1, m + 1):
        for u in range(m * n, n + i - 1, -1):
            ways[u] -= ways[u - n - i]
        for u in range(i, m * n + 1):
            ways[u] += ways[u - i]
    return ways


def _shifts(base: Sequence[float], candidate: Sequence[float]) -> list[float]:
    return sorted([after - before for before in base for after in candidate])


def _middle(ordered: list[float]) -> float:
    """The median of sorted numbers."""
    half = len(ordered) // 2
    return ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2
