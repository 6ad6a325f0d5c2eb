"""The arithmetic of summaries, against numbers worked out by hand or from their definition."""

from __future__ import annotations

import math
import random
import statistics

import pytest

from db.store import Store
from db.summaries import Reading, interval_of_median, summarise
from tests.db import made
from tests.db.asking import ask


def reading(metric: str, value: float | None, replica: int | None = 0, **changes: object) -> Reading:
    given: dict[str, object] = {"attempt": 1, "cache": None, "status": "ok", "flags": ()}
    return Reading(metric=metric, value=value, replica=replica, **(given | changes))  # type: ignore[arg-type]


def rounds(metric: str, values: dict[int, list[float | None]]) -> list[Reading]:
    return [reading(metric, value, replica) for replica, listed in values.items() for value in listed]


def test_a_replicas_value_is_the_median_of_its_rounds() -> None:
    # Medians 2 and 30; pooled, the median of 1 2 9 30 31 would be 9.
    (summary,) = summarise(rounds("eager.wall_ms", {0: [1.0, 9.0, 2.0], 1: [30.0, 31.0, 29.0, 30.0]}))
    assert summary.replica_medians == [2.0, 30.0]
    assert (summary.median, summary.min, summary.max) == (16.0, 2.0, 30.0)
    assert (summary.replicas, summary.samples, summary.replica_numbers) == (2, 7, [0, 1])


def test_eagers_medians_stand_beside_compiled_ones_replica_by_replica() -> None:
    values = rounds("compiled.wall_ms", {0: [1.0], 2: [3.0], 3: [4.0]}) + rounds(
        "eager.wall_ms", {0: [5.0], 3: [8.0]}
    )
    compiled, eager = summarise(values)
    assert compiled.metric == "compiled.wall_ms" and compiled.replica_numbers == [0, 2, 3]
    assert compiled.eager_medians == [5.0, None, 8.0]
    assert eager.eager_medians is None
    (alone,) = summarise(rounds("compiled.wall_ms", {0: [1.0]}))
    assert alone.eager_medians is None


@pytest.mark.parametrize(
    "left_out",
    [
        {"value": None},
        {"flags": ("void",)},
        {"flags": ("void:compiled",)},
        {"status": "timeout"},
        {"status": "crashed"},
        {"status": "runtime_error"},
        {"status": "skipped"},
        {"replica": None},
        {"cache": "warm"},
    ],
)
def test_what_is_no_measurement_does_not_count(left_out: dict[str, object]) -> None:
    bad = reading(**({"metric": "compile.dynamo_s", "value": 100.0} | left_out))  # type: ignore[arg-type]
    assert summarise([bad]) == []
    (summary,) = summarise([bad, reading("compile.dynamo_s", 1.0)])
    assert (summary.median, summary.samples) == (1.0, 1)


@pytest.mark.parametrize("status", ["ok", "accuracy_failed", "not_comparable"])
def test_a_wrong_result_is_still_measured(status: str) -> None:
    (summary,) = summarise([reading("accuracy.rmse_fp64", 0.5, status=status)])
    assert summary.median == 0.5


def test_the_one_number_of_a_warm_process_counts() -> None:
    (summary,) = summarise([reading("compile.warm_cache_s", 2.0, cache="warm", flags=("cache_missed",))])
    assert summary.median == 2.0 and summary.flags == ["cache_missed"]


def test_the_last_attempt_that_has_a_number_stands() -> None:
    attempts = [
        reading("compile.cold_s", 9.0, attempt=1),
        reading("compile.cold_s", 5.0, attempt=2),
        reading("compile.cold_s", None, attempt=3),
    ]
    (summary,) = summarise(attempts)
    assert (summary.median, summary.samples) == (5.0, 1)


@pytest.mark.parametrize("n", [0, 1, 2, 3, 4, 5])
def test_five_values_bound_no_median_at_95_percent(n: int) -> None:
    # The widest interval of five misses the median with 2 / 2^5 = 6.25%.
    assert interval_of_median([float(i) for i in range(n)]) is None


@pytest.mark.parametrize(
    ("n", "k"),
    # Worked out from the binomial distribution, and as printed in tables of the sign test at 5%.
    [
        (6, 1),
        (7, 1),
        (8, 1),
        (9, 2),
        (10, 2),
        (11, 2),
        (12, 3),
        (15, 4),
        (20, 6),
        (25, 8),
        (30, 10),
        (50, 18),
    ],
)
def test_the_interval_is_that_of_the_sign_test(n: int, k: int) -> None:
    shuffled = random.Random(n).sample(range(1, n + 1), n)
    assert interval_of_median([float(one) for one in shuffled]) == (k, n + 1 - k)


@pytest.mark.parametrize("n", range(6, 60))
def test_the_interval_is_the_narrowest_with_95_percent(n: int) -> None:
    bounds = interval_of_median([float(i) for i in range(1, n + 1)])
    assert bounds is not None

    def holds(k: int) -> float:
        return 1 - 2 * sum(math.comb(n, i) for i in range(k)) / 2**n

    assert holds(int(bounds[0])) >= 0.95
    assert int(bounds[0]) == n // 2 or holds(int(bounds[0]) + 1) < 0.95


def test_the_interval_holds_the_median_as_often_as_it_says() -> None:
    source = random.Random(7)
    held = 0
    for _ in range(4000):
        bounds = interval_of_median([source.expovariate(1.0) for _ in range(8)])
        assert bounds is not None
        held += bounds[0] <= math.log(2) <= bounds[1]
    # 8 values: 1 - 2/2^8 = 99.2%; four standard errors of 4,000 draws are 0.6%.
    assert abs(held / 4000 - 0.9921875) < 0.006


def test_what_the_store_keeps(database: str) -> None:
    store = Store(database)
    store.write_many(made.whole_run(buckets=("n=4",)))
    store.close()
    stored = {
        metric: (replicas, samples, median, lo, hi)
        for metric, replicas, samples, median, lo, hi in ask(
            database, "SELECT metric, replicas, samples, median, lo, hi FROM summary"
        )
    }
    # By hand: eager's replicas have medians 3 and 6, compiled's 2 and 4; cold 3 and 4; dynamo 0.5 and 1.5, without
    # the 99 that the warm processes tell. stream_ms is NULL on a CPU, so it has no summary.
    assert stored == {
        "accuracy.max_abs": (1, 1, 1e-7, None, None),
        "compile.cold_s": (2, 2, 3.5, None, None),
        "compile.dynamo_s": (2, 2, 1.0, None, None),
        "compile.host_peak_mb": (2, 2, 100.0, None, None),
        "compile.warm_cache_s": (2, 2, 1.0, None, None),
        "compiled.wall_ms": (2, 6, 3.0, None, None),
        "eager.wall_ms": (2, 6, 4.5, None, None),
        "walk.first_call_s": (2, 2, 2.0, None, None),
    }


def test_eight_replicas_have_an_interval(database: str) -> None:
    store = Store(database)
    store.write_many(made.whole_run(replicas=8, buckets=("n=4",)))
    store.close()
    # cold: 3, 4, ..., 10; with eight values the interval is the whole range.
    assert ask(database, "SELECT median, lo, hi FROM summary WHERE metric = 'compile.cold_s'") == [
        (6.5, 3.0, 10.0)
    ]
    assert statistics.median(range(3, 11)) == 6.5
