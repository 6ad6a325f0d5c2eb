"""The ratio of two groups of positive numbers, with an exact interval."""

from __future__ import annotations

import itertools
import math
import statistics
from dataclasses import dataclass


@dataclass(frozen=True)
class Ratio:
    """Hodges-Lehmann ratio of b to a and its exact Mann-Whitney confidence interval."""

    estimate: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.estimate:.3f} ({self.low:.3f} to {self.high:.3f})"


def ratio(a: list[float], b: list[float], confidence: float = 0.95) -> Ratio:
    """Median of all pairwise log ratios b/a, with the interval whose coverage the rank-sum distribution gives.

    Source: Hollander and Wolfe, Nonparametric Statistical Methods, the Moses interval.
    """
    logs = sorted(math.log(y) - math.log(x) for x, y in itertools.product(a, b))
    cut = _cut(len(a), len(b), (1 - confidence) / 2)
    low, high = logs[cut], logs[len(logs) - 1 - cut]
    return Ratio(math.exp(statistics.median(logs)), math.exp(low), math.exp(high))


def _cut(m: int, n: int, tail: float) -> int:
    """Position, from 0, of the interval's lower end among the sorted differences: the highest that keeps the coverage.

    The interval from the k-th smallest to the k-th largest covers with 1 - 2 P(U <= k - 1). Raises ValueError
    where even the widest one covers too little (3 against 3 at 95%).
    """
    counts = _rank_sum_counts(m, n)
    total = sum(counts)
    below = 0
    for statistic, count in enumerate(counts):
        below += count
        if below / total > tail:
            if statistic == 0:
                raise ValueError(f"{m} against {n} numbers have no interval of this confidence")
            return statistic - 1
    raise ValueError("a tail of 1 or more has no interval")


def _rank_sum_counts(m: int, n: int) -> list[int]:
    """Ways to reach each value of the Mann-Whitney statistic U, from 0 to m * n, without ties."""
    ways = [1] + [0] * (m * n)
    # The generating function of U is the Gaussian binomial: multiply by (1 - q^(n+i)) and divide by (1 - q^i).
    for i in range(1, m + 1):
        for u in range(m * n, n + i - 1, -1):
            ways[u] -= ways[u - n - i]
        for u in range(i, m * n + 1):
            ways[u] += ways[u - i]
    return ways
