"""From the samples of an evaluation to one summary a metric. Pure arithmetic: no database.

The replica is the unit: a replica's value is the median of its rounds, or its one sample, and what is said of the
metric is said of these values. Pooling rounds would take five forks of one server for five measurements.
"""

from __future__ import annotations

import math
import statistics
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

# A probe with any other status measured something else than its name says, or nothing.
COUNTED_STATUSES: Final = frozenset({"ok", "accuracy_failed", "not_comparable"})
# A warm-cache process has one number of its own; its phases and memory are not those of a cold compile.
WARM_METRICS: Final = frozenset({"compile.warm_cache_s"})
# A flag that takes a number out, alone or with a cause after a colon.
VOID: Final = "void"

_CONFIDENCE: Final = 0.95


@dataclass(frozen=True)
class Reading:
    """One sample with what decides whether it counts. ``replica``: number of the replica in its run, from 0."""

    replica: int | None
    attempt: int
    cache: str | None
    status: str
    metric: str
    value: float | None
    flags: tuple[str, ...] = ()

    @property
    def counts(self) -> bool:
        return (
            self.replica is not None
            and self.value is not None
            and self.status in COUNTED_STATUSES
            and not any(flag == VOID or flag.startswith(f"{VOID}:") for flag in self.flags)
            and (self.cache != "warm" or self.metric in WARM_METRICS)
        )


@dataclass(frozen=True)
class MetricSummary:
    """A metric over its replicas; every number is in the metric's unit."""

    metric: str
    replicas: int
    samples: int
    median: float
    lo: float | None
    hi: float | None
    min: float
    max: float
    replica_numbers: list[int]
    replica_medians: list[float]
    eager_medians: list[float | None] | None
    flags: list[str] | None


def summarise(readings: Iterable[Reading]) -> list[MetricSummary]:
    """One summary for each metric with a number that counts, in order of name."""
    last = counted(readings)
    values = {
        metric: {replica: _median(rounds) for replica, rounds in replicas.items()}
        for metric, replicas in last.items()
    }
    return [_summary(metric, last[metric], values) for metric in sorted(last)]


def rounds_by_replica(readings: Iterable[Reading]) -> dict[str, dict[int, list[float]]]:
    """The numbers that count: metric to replica to its rounds, or its one number, in the metric's unit."""
    return {
        metric: {
            replica: [one.value for one in rounds if one.value is not None]
            for replica, rounds in replicas.items()
        }
        for metric, replicas in counted(readings).items()
    }


def counted(readings: Iterable[Reading]) -> dict[str, dict[int, list[Reading]]]:
    """The readings that count: metric to replica, ascending, to its readings.

    Where a replica measured a metric more than once, its last attempt with a number stands.
    """
    groups: dict[str, dict[int, dict[int, list[Reading]]]] = defaultdict(
        lambda: defaultdict(lambda: defaultdict(list))
    )
    for reading in readings:
        if reading.counts and reading.replica is not None:
            groups[reading.metric][reading.replica][reading.attempt].append(reading)
    return {
        metric: {replica: attempts[max(attempts)] for replica, attempts in sorted(replicas.items())}
        for metric, replicas in groups.items()
    }


def interval_of_median(values: Sequence[float]) -> tuple[float, float] | None:
    """The narrowest interval of order statistics that holds the median with at least 95%; None below 6 values.

    The k-th least and k-th greatest of n independent values enclose the median unless fewer than k fall on one
    side of it, which has probability 2 x P(Binomial(n, 1/2) < k).
    """
    n = len(values)
    outside, k = 0.0, 0
    while k < n // 2 and outside + 2 * math.comb(n, k) / 2**n <= 1 - _CONFIDENCE:
        outside += 2 * math.comb(n, k) / 2**n
        k += 1
    if k == 0:
        return None
    ordered = sorted(values)
    return ordered[k - 1], ordered[n - k]


def _median(readings: Sequence[Reading]) -> float:
    return statistics.median(reading.value for reading in readings if reading.value is not None)


def _summary(
    metric: str, replicas: dict[int, list[Reading]], values: dict[str, dict[int, float]]
) -> MetricSummary:
    medians = list(values[metric].values())
    interval = interval_of_median(medians)
    flags = sorted({flag for rounds in replicas.values() for reading in rounds for flag in reading.flags})
    return MetricSummary(
        metric=metric,
        replicas=len(medians),
        samples=sum(len(rounds) for rounds in replicas.values()),
        median=statistics.median(medians),
        lo=interval[0] if interval else None,
        hi=interval[1] if interval else None,
        min=min(medians),
        max=max(medians),
        replica_numbers=list(values[metric]),
        replica_medians=medians,
        eager_medians=_beside(metric, values),
        flags=flags or None,
    )


def _beside(metric: str, values: dict[str, dict[int, float]]) -> list[float | None] | None:
    """Eager's values in the same replicas, for a metric of compiled code that eager has too."""
    side, _, name = metric.partition(".")
    eager = values.get(f"eager.{name}")
    if side != "compiled" or eager is None:
        return None
    return [eager.get(replica) for replica in values[metric]]
