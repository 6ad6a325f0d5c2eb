"""The JSON report, read back."""

from __future__ import annotations

import json
import math
from typing import Any

from evaluator.report.files import render
from evaluator.report.outcome import Gate, parse_gate
from evaluator.verdicts.findings import Verdicts
from tests.evaluator.report import made


def document(verdicts: Verdicts, gate: Gate | None = None) -> dict[str, Any]:
    def refuse(constant: str) -> None:
        raise AssertionError(f"{constant} is no JSON")

    found: dict[str, Any] = json.loads(render("json", verdicts, made.CONTEXT, gate), parse_constant=refuse)
    return found


def test_everything_is_there() -> None:
    found = document(made.ONE_OF_EVERYTHING)
    assert (found["format"], found["version"]) == ("compilewatch.comparison", 1)
    assert found["made_at"] == "2026-03-01T12:30:00+00:00"
    assert [run["purpose"] for run in found["runs"]] == ["upgrade", "confirm"]
    verdicts = found["verdicts"]
    assert (verdicts["answer"], verdicts["compared"], verdicts["total"]) == ("Upgrade except", 7, 8)
    bert = verdicts["cells"][1]
    assert bert["cell"] == {
        "workload": "models.bert",
        "bucket": "batch=1,seq=128",
        "variant": "default",
        "target": "cpu",
    }
    slower = bert["findings"][0]
    assert slower["estimate"]["ratio"] == 1.146 and slower["rerun"]["confidence"] == 0.99
    assert slower["cause"]["evidence"][0] == {"kind": "kernel", "id": 3344, "side": "base"}


def test_the_gate_says_what_failed() -> None:
    gate = document(made.ONE_OF_EVERYTHING)["gate"]
    assert gate["exit_code"] == 1
    assert [(one["cell"]["workload"], one["metric"], one["verdict"]) for one in gate["failing"]] == [
        ("models.vit", "status", "newly_failing"),
        ("models.bert", "compiled.wall_ms", "regressed"),
    ]
    assert document(made.ONE_OF_EVERYTHING, parse_gate("none"))["gate"]["exit_code"] == 0


def test_what_is_no_finite_number_is_null() -> None:
    cell = made.cell("odd", made.finding(base=math.nan, candidate=math.inf))
    (finding,) = document(made.verdicts(cell))["verdicts"]["cells"][0]["findings"]
    assert finding["base"] is None and finding["candidate"] is None
