"""How numbers, causes and changes are put into words."""

from __future__ import annotations

import pytest

from evaluator.report import differences, phrases
from evaluator.verdicts.findings import BreakChange, Cause, Evidence, Moved
from evaluator.verdicts.words import VERDICTS
from tests.evaluator.report import made


@pytest.mark.parametrize(
    ("ratio", "text"),
    [
        (1.0, "+0.0%"),
        (1.146, "+14.6%"),
        (0.81, "-19.0%"),
        (1.999, "+99.9%"),
        (2.0, "x2.00"),
        (3.456, "x3.46"),
    ],
)
def test_a_ratio_as_a_percentage(ratio: float, text: str) -> None:
    assert phrases.percent(ratio) == text


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (None, "ms", "-"),
        (12.345, "ms", "12.3 ms"),
        (0.00123, "s", "0.00123 s"),
        (0, None, "0"),
        (12345, None, "12345"),
        (True, None, "yes"),
        ("compile_error", None, "compile_error"),
        (1.5, "1", "1.50"),
    ],
)
def test_a_value_with_its_unit(value: float | int | str | None, unit: str | None, text: str) -> None:
    assert phrases.value(value, unit) == text


def test_a_cause_says_what_is_not_known() -> None:
    assert phrases.cause(None) == "unknown"
    assert phrases.cause(Cause(None, "cause unknown")) == "unknown"
    assert phrases.cause(Cause(None, "cause unknown", (), "dynamo")) == "unknown; layer that moved: Dynamo"
    assert phrases.cause(Cause("new_break", "a graph break was added")) == "a graph break was added"


def test_evidence_is_listed_by_kind_once() -> None:
    rows = (
        Evidence("kernel", 1, "base"),
        Evidence("graph_break", 4, "candidate"),
        Evidence("kernel", 2, "candidate"),
    )
    assert phrases.evidence((*rows, rows[0])) == "kernel 1 (base), 2 (candidate); graph break 4 (candidate)"
    assert phrases.evidence(()) == ""


def test_a_break_that_moved_names_both_places() -> None:
    moved = BreakChange("moved", "print", "forward", "a.py:3", "a.py:9", ())
    assert differences.break_change(moved) == "graph break moved in forward: print (a.py:3 → a.py:9)"


def test_what_moved_names_what_is_absent() -> None:
    assert phrases.moved(Moved("libraries.numpy", None, "2.4", "numpy")) == "libraries.numpy - → 2.4"


@pytest.mark.parametrize("verdict", VERDICTS)
def test_every_verdict_has_a_title_and_a_meaning(verdict: str) -> None:
    assert phrases.TITLES[verdict] and phrases.MEANINGS[verdict]  # type: ignore[index]


def test_a_finding_without_an_interval_is_its_own_text() -> None:
    assert phrases.said(made.finding(text="status: ok on both sides")) == "status: ok on both sides"
    assert phrases.said(made.slower()) == (
        "12.3 ms → 14.1 ms, +14.6% (+13.1% to +16.0%, 95%), 5 v 5 replicas, margin 3%"
    )


def test_numbers_of_noisy_rounds_are_marked_and_missing_ones_stay_missing() -> None:
    assert phrases.change(made.slower(reasons=("noisy",))) == "~12.3 ms → ~14.1 ms"
    assert phrases.change(made.slower(reasons=("noisy",), base=None)) == "- → ~14.1 ms"
    assert phrases.change(made.slower(reasons=("below_margin", "throttled"))) == "*12.3 ms → *14.1 ms"
    assert phrases.change(made.slower(reasons=("below_margin",))) == "12.3 ms → 14.1 ms"


def test_what_a_rerun_found_is_known_of_a_finding() -> None:
    assert "in a fresh rerun +15.0% (+12.0% to +18.0%, 99%)" in phrases.known(made.slower())


def test_too_few_replicas_promise_nothing() -> None:
    few = made.finding(verdict="inconclusive", more_replicas=4, reasons=("too_few_replicas",))
    assert phrases.more_replicas(few) == "at least 4 more replicas a side before anything can be said"
    one = made.finding(verdict="inconclusive", more_replicas=1, reasons=("too_few_replicas", "noisy"))
    assert phrases.more_replicas(one) == "at least 1 more replica a side before anything can be said"
    wide = made.finding(verdict="inconclusive", more_replicas=4, reasons=("interval_wide",))
    assert phrases.more_replicas(wide) == "4 more replicas a side would likely settle it"
    assert phrases.more_replicas(made.finding()) == ""
