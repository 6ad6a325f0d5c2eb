"""Numbers of two evaluations: no ratio where nothing was compared, no part that is negative, no rung that is made up."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pandas as pd
import pytest

from app.pair import numbers as pair_numbers
from db.queries.why import EvaluationRecord
from evaluator.verdicts.cells import compare_cell
from evaluator.verdicts.findings import CellVerdict, Moved
from evaluator.verdicts.policy import Policy
from evaluator.verdicts.sides import Pair
from tests.app.test_findings import record
from tests.evaluator.verdicts import given


def measured(**medians: float) -> EvaluationRecord:
    """A record with these medians; ``compile__cold_s`` stands for compile.cold_s."""
    rows = [
        {"metric": name.replace("__", "."), "median": value, "replicas": 5} for name, value in medians.items()
    ]
    return replace(record(), summaries=pd.DataFrame(rows, columns=["metric", "median", "replicas"]))


def judged(one: Pair) -> CellVerdict:
    return compare_cell(one, Policy(), different_builds=False, dependencies=1, one_run=True)


def series(factor: float) -> dict[str, Any]:
    return {"series": given.series(compiled__wall_ms=factor)}


def test_a_judged_metric_has_its_interval_and_its_verdict() -> None:
    cell = judged(given.pair(given.side(**series(1.0)), given.candidate(**series(1.2))))
    found = pair_numbers.metrics(
        measured(compiled__wall_ms=10.0), measured(compiled__wall_ms=12.0), cell
    ).iloc[0]
    assert (found["metric"], found["base"], found["candidate"], found["unit"]) == (
        "Compiled call",
        "10.00",
        "12.00",
        "ms",
    )
    assert found["change"].startswith("+20.0% (")
    assert found["verdict"] == "▲ regressed, unconfirmed"
    assert found["replicas"] == "5 v 5"


def test_a_ratio_without_a_verdict_says_that_it_is_none() -> None:
    cell = judged(given.pair(given.side(), given.candidate()))
    found = pair_numbers.metrics(measured(compiled__cpu_ms=2.0), measured(compiled__cpu_ms=3.0), cell).iloc[0]
    assert found["change"] == "+50.0%, of the medians alone"
    assert found["verdict"] == "not judged"


def test_what_was_not_compared_has_no_ratio() -> None:
    ours, theirs = given.side(**series(1.0)), given.candidate(**series(1.2), machine="another")
    found = pair_numbers.metrics(
        measured(compiled__wall_ms=10.0), measured(compiled__wall_ms=12.0), judged(given.pair(ours, theirs))
    ).iloc[0]
    assert found["verdict"] == "○ not compared"
    assert found["change"] is None
    assert "different machines" in found["why"]


def test_a_side_without_a_metric_is_missing_and_never_zero() -> None:
    cell = judged(given.pair(given.side(), given.candidate()))
    found = pair_numbers.metrics(measured(eager__cpu_ms=2.0), measured(), cell).iloc[0]
    assert (found["base"], found["candidate"], found["change"], found["replicas"]) == (
        "2.000",
        "–",
        None,
        "5 v –",
    )


def test_metrics_stand_in_their_declared_order() -> None:
    cell = judged(given.pair(given.side(), given.candidate()))
    one = measured(compiled__wall_ms=1.0, unheard__of=1.0, compile__cold_s=1.0, compile__warm_cache_s=1.0)
    found = list(pair_numbers.metrics(one, one, cell)["metric"])
    assert found == ["Cold compile", "Warm-cache compile", "Compiled call", "unheard.of"]


def test_phases_add_up_to_the_whole() -> None:
    one = measured(compile__cold_s=10.0, compile__dynamo_s=2.0, compile__inductor_s=3.0)
    assert pair_numbers.phase_parts(one.summaries) == [
        ("Dynamo", 2.0),
        ("Inductor", 3.0),
        ("everything else", 5.0),
    ]


def test_a_negative_rest_is_no_phase() -> None:
    one = measured(compile__cold_s=2.0, compile__dynamo_s=2.1)
    assert pair_numbers.phase_parts(one.summaries) == [("Dynamo", 2.1)]


def test_a_compile_that_was_not_measured_has_no_phases() -> None:
    assert pair_numbers.phase_parts(measured().summaries) == []
    assert pair_numbers.phase_parts(measured(compile__cold_s=2.0).summaries) == []


def test_accuracy_of_a_side_that_was_not_judged_is_missing() -> None:
    row = {"series": "default", "verdict": "not_comparable", "rmse_fp64": 2e-7, "max_abs": None}
    ours = replace(record(), accuracy=pd.DataFrame([row]))
    found = pair_numbers.accuracy(ours, record(verdict=None))
    assert found.to_dict("records") == [
        {"series": "default", "figure": "verdict", "base": "not comparable", "candidate": "–"},
        {"series": "default", "figure": "compiled RMSE to float64", "base": "2.00e-07", "candidate": "–"},
    ]


def test_the_ladder_climbs_from_eager_to_the_cell() -> None:
    ours = given.side(series=given.series(eager__wall_ms=2.0, compiled__wall_ms=1.0))
    theirs = given.candidate(series=given.series(eager__wall_ms=2.0, compiled__wall_ms=1.5))
    rungs = (
        given.rung("aot_eager", given.side(21, **series(1.0)), given.side(22, **series(1.5))),
        given.rung("eager", given.side(23, **series(1.0)), given.failing(24, series={})),
    )
    found = pair_numbers.ladder(given.pair(ours, theirs, rungs=rungs), "compiled.wall_ms")
    assert list(found["rung"]) == [
        "eager, nothing compiled",
        "Dynamo (backend eager)",
        "+ AOTAutograd (backend aot_eager)",
        "the cell itself",
    ]
    assert [None if pd.isna(one) else one for one in found["ratio"]] == ["+0.0%", None, "+50.0%", "+50.0%"]
    assert found["candidate"].iloc[1] == "–"
    assert found["candidate_status"].iloc[1] == "✗ compile error"


def test_a_ladder_that_was_not_climbed_is_empty() -> None:
    assert pair_numbers.ladder(given.pair(given.side(), given.candidate()), "compiled.wall_ms").empty


@pytest.mark.parametrize(("moved_on", "word"), [("eager", "Dynamo"), ("aot_eager", "AOTAutograd")])
def test_the_layer_is_that_of_the_first_rung_that_moved(moved_on: str, word: str) -> None:
    rungs = [
        given.rung(
            backend,
            given.side(20 + n, **series(1.0)),
            given.side(30 + n, **series(1.5 if backend == moved_on or moved_on == "eager" else 1.0)),
        )
        for n, backend in enumerate(("eager", "aot_eager"))
    ]
    one = given.pair(given.side(**series(1.0)), given.candidate(**series(1.5)), rungs=tuple(rungs))
    assert pair_numbers.layer(judged(one)) == word


def test_no_layer_is_named_where_nothing_says() -> None:
    assert pair_numbers.layer(judged(given.pair(given.side(), given.candidate()))) is None


def test_environment_lists_what_differs_and_what_counts() -> None:
    found = pair_numbers.environment(
        [Moved("torch", "2.13.0", "2.14.1", "torch"), Moved("os", "Linux 6.1", None, None)]
    )
    assert found.to_dict("records") == [
        {"field": "torch", "base": "2.13.0", "candidate": "2.14.1", "counts": "torch"},
        {"field": "os", "base": "Linux 6.1", "candidate": "–", "counts": "not a dependency"},
    ]
