"""What Workload follows over versions beside times: by hand arithmetic, and what has no number has none."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest

from app import charts as drawn
from app.workload import charts, measures
from tests.app.drawn import valid

EAGER, COMPILED = "eager.wall_ms", "compiled.wall_ms"


def evaluation(number: int, **changes: Any) -> dict[str, Any]:
    return {
        "evaluation": number,
        "torch": f"2.{number}.0",
        "bucket": "n=4",
        "status": "ok",
        "reason": None,
        "note": None,
        "nothing_compiled": False,
        "ran_eager": "none",
        "reused_code": False,
        "graph_breaks": 1.0,
    } | changes


def frame(*rows: dict[str, Any]) -> pd.DataFrame:
    return pd.DataFrame(rows)


def times(number: int, cold_s: float, eager: list[float], compiled: list[float]) -> list[dict[str, Any]]:
    made = (("compile.cold_s", [cold_s] * len(eager)), (EAGER, eager), (COMPILED, compiled))
    return [
        {
            "evaluation": number,
            "metric": metric,
            "median": sorted(values)[len(values) // 2],
            "replica_numbers": list(range(len(values))),
            "replica_medians": values,
        }
        for metric, values in made
    ]


def test_speed_up_is_the_median_of_the_replicas_ratios() -> None:
    found = measures.speed_ups(
        frame(evaluation(1)), frame(*times(1, 2.0, [3.0, 4.0, 9.0], [1.0, 2.0, 3.0])), EAGER, COMPILED
    )
    assert found.points["value"].tolist() == [3.0, 2.0, 3.0]
    assert found.medians[["median", "n"]].to_numpy().tolist() == [[3.0, 3]]


def test_a_compile_pays_off_after_its_time_over_what_a_call_saves() -> None:
    summary = frame(*times(1, 2.0, [3.0], [1.0]), *times(2, 2.0, [1.0], [1.5]))
    found = measures.calls_to_pay_off(frame(evaluation(1), evaluation(2)), summary, EAGER, COMPILED)
    # 2 s over 2 ms a call.
    assert found.medians["median"].tolist() == [1000.0]
    assert found.missing[["evaluation", "status", "failed"]].to_numpy().tolist() == [[2, "∞ never", False]]


def test_never_is_said_apart_from_what_is_not_known() -> None:
    summary = frame(*times(1, 2.0, [3.0], [1.0]), *times(2, 2.0, [1.0], [1.5]))
    rows = frame(*(evaluation(number) for number in (1, 2, 3)))
    found = measures.calls_to_pay_off(rows, summary, EAGER, COMPILED)
    assert measures.calls_said([3, 2, 1], found) == [None, "never", "1,000"]
    versions = ["2.1.0", "2.2.0", "2.3.0"]
    spec = valid(drawn.history(*found, title="t", unit="calls", versions=versions, buckets=["n=4"]))
    signs = {row["version"]: row["sign"] for row in spec["datasets"]["missing"]}
    assert signs == {"2.2.0": "∞", "2.3.0": "○"}
    assert "'no value · ∞ never'" in str(spec)


@pytest.mark.parametrize("idle", [{"nothing_compiled": True}, {"ran_eager": "all"}, {"ran_eager": "some"}])
def test_what_ran_eager_has_no_speed_up(idle: dict[str, Any]) -> None:
    summary = frame(*times(1, 2.0, [3.0], [1.0]))
    for found in (
        measures.speed_ups(frame(evaluation(1, **idle)), summary, EAGER, COMPILED),
        measures.calls_to_pay_off(frame(evaluation(1, **idle)), summary, EAGER, COMPILED),
    ):
        assert found.medians.empty
        assert found.missing["reason"].tolist() == ["no compiled code ran"]


@pytest.mark.parametrize(
    ("changes", "shown"),
    [
        ({}, [1.0]),
        ({"status": "accuracy_failed"}, [1.0]),
        # Counts up to a failure are no counts of the whole.
        ({"status": "timeout", "graph_breaks": 0.0}, []),
        ({"nothing_compiled": True, "graph_breaks": 0.0}, []),
        ({"ran_eager": "all", "graph_breaks": 0.0}, []),
        ({"graph_breaks": None}, []),
    ],
)
def test_a_count_without_evidence_is_none(changes: dict[str, Any], shown: list[float]) -> None:
    found = measures.counts(frame(evaluation(1, **changes)), "graph_breaks")
    assert found.medians["median"].tolist() == shown
    assert len(found.missing) == 1 - len(shown)


def test_kernels_of_a_bucket_that_runs_earlier_code_are_not_none() -> None:
    rows = frame(evaluation(1, reused_code=True, generated=0.0))
    assert measures.counts(rows, "generated", own=True).missing["status"].tolist() == ["○ earlier code"]


def test_an_error_of_exactly_zero_is_said_and_not_drawn_on_a_log_axis() -> None:
    accuracy = frame(
        {"evaluation": 1, "verdict": "pass", "rmse_fp64": 0.0, "eager_rmse_fp64": 2e-7, "reason": None},
        {"evaluation": 2, "verdict": "fail", "rmse_fp64": 0.5, "eager_rmse_fp64": 2e-7, "reason": "off"},
    )
    rows = frame(evaluation(1), evaluation(2), evaluation(3))
    compiled = measures.errors(rows, accuracy, "rmse_fp64")
    assert compiled.medians[["median", "note"]].to_numpy().tolist() == [[0.5, "wrong results"]]
    assert compiled.missing["status"].tolist() == ["= float64", "○ not measured"]
    eager = measures.errors(rows, accuracy, "eager_rmse_fp64")
    assert eager.medians["median"].tolist() == [2e-7, 2e-7]


def test_phases_have_what_is_left_over_as_their_last() -> None:
    summary = pd.DataFrame(
        [
            {"evaluation": 1, "metric": metric, "median": value}
            for metric, value in (
                ("compile.cold_s", 5.0),
                ("compile.dynamo_s", 1.0),
                ("compile.inductor_s", 3.0),
            )
        ]
    )
    found = measures.phases(frame(evaluation(1), evaluation(2)), summary, "n=4")
    assert found[["version", "phase", "seconds"]].to_numpy().tolist() == [
        ["2.1.0", "Dynamo", 1.0],
        ["2.1.0", "Inductor", 3.0],
        ["2.1.0", "everything else", 1.0],
    ]
    spec = valid(charts.phases(found, versions=["2.1.0", "2.2.0"]))
    assert spec["layer"][0]["encoding"]["x"]["scale"]["domain"] == ["2.1.0", "2.2.0"]


def test_the_axis_of_a_count_starts_at_zero_and_the_rail_is_below_it() -> None:
    counted = measures.counts(frame(evaluation(1), evaluation(2, status="timeout")), "graph_breaks")
    spec = valid(
        charts.counts(
            counted.medians, counted.missing, title="breaks", versions=["2.1.0", "2.2.0"], buckets=["n=4"]
        )
    )
    axis = spec["layer"][0]["encoding"]["y"]
    assert axis["scale"]["domain"][0] < 0 < axis["scale"]["domain"][1]
    assert axis["axis"]["values"][0] == 0
    whole = valid(
        charts.counts(
            counted.medians, counted.missing.iloc[:0], title="breaks", versions=["2.1.0"], buckets=["n=4"]
        )
    )
    assert whole["layer"][0]["encoding"]["y"]["scale"]["domain"][0] == 0
