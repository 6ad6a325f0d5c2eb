"""The JUnit report, read back as XML."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree

from evaluator.report.files import render
from evaluator.report.outcome import parse_gate
from evaluator.verdicts.findings import Verdicts
from tests.evaluator.report import made


def suite(verdicts: Verdicts, fail_on: str = "regressed,newly_failing") -> ElementTree.Element:
    text = render("junit", verdicts, made.CONTEXT, parse_gate(fail_on))
    root = ElementTree.fromstring(text.encode())
    (found,) = root
    assert root.tag == "testsuites" and found.tag == "testsuite"
    assert {name: root.get(name) for name in ("tests", "failures", "skipped")} == {
        name: found.get(name) for name in ("tests", "failures", "skipped")
    }
    return found


def outcomes(found: ElementTree.Element) -> dict[str | None, str]:
    return {
        case.get("classname"): next(
            (tag for tag in ("failure", "skipped") if case.find(tag) is not None), "passed"
        )
        for case in found.iter("testcase")
    }


def test_one_case_a_cell() -> None:
    found = suite(made.ONE_OF_EVERYTHING)
    assert outcomes(found) == {
        "models.vit": "failure",
        "models.bert": "failure",
        "norm.layer_norm": "passed",
        "graphs.breaks": "passed",
        "pointwise.silu": "passed",
        "models.llama": "skipped",
        "mlp.wide": "passed",
        "mlp.small": "passed",
        "environment": "skipped",
    }
    assert (found.get("tests"), found.get("failures"), found.get("skipped")) == ("9", "2", "2")
    assert found.get("timestamp") == "2026-03-01T12:30:00"


def test_failures_are_those_of_the_gate() -> None:
    assert outcomes(suite(made.ONE_OF_EVERYTHING, "unconfirmed"))["norm.layer_norm"] == "failure"
    assert outcomes(suite(made.ONE_OF_EVERYTHING, "flaky"))["graphs.breaks"] == "failure"
    assert suite(made.ONE_OF_EVERYTHING, "none").get("failures") == "0"


def test_a_failure_says_what_why_and_how_to_see_it() -> None:
    found = suite(made.ONE_OF_EVERYTHING)
    (case,) = (one for one in found.iter("testcase") if one.get("classname") == "models.bert")
    assert case.get("name") == "batch=1,seq=128 default cpu"
    (failure,) = case.findall("failure")
    assert failure.get("type") == "regressed"
    assert (failure.get("message") or "").startswith("compiled.wall_ms regressed: 12.3 ms → 14.1 ms, +14.6%")
    text = failure.text or ""
    for part in ("cause: other kernels were generated", "kernel 3344 (base)", "repro --ab 12 57"):
        assert part in text


def test_a_cell_with_two_failures_has_one_that_counts_both() -> None:
    cell = made.cell(
        "two", made.slower(), made.finding("graph_breaks", "regressed", kind="count", confirmed=True)
    )
    (case,) = suite(made.verdicts(cell)).iter("testcase")
    (failure,) = case.findall("failure")
    assert (failure.get("message") or "").endswith("; and 1 more")
    assert "graph_breaks regressed" in (failure.text or "")


def test_what_xml_can_not_hold_is_replaced() -> None:
    cell = made.cell("nul\0 and \x1b and \ud800 and \ufffe", made.slower(text="]]> & <b>"))
    (case,) = suite(made.verdicts(cell)).iter("testcase")
    assert case.get("classname") == "nul\ufffd and \ufffd and \ufffd and \ufffd"
    suite(made.hostile())
