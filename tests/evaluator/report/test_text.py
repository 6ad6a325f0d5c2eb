"""The report for a terminal."""

from __future__ import annotations

from dataclasses import replace

from evaluator.report.text import MOST_ALARMS, MOST_ROWS, as_text
from evaluator.verdicts.sides import CellName
from tests.evaluator.report import made

REPORT = as_text(made.ONE_OF_EVERYTHING, made.CONTEXT)


def blocks(report: str) -> dict[str, str]:
    """The paragraphs of a report by their first lines."""
    return {block.split("\n")[0]: block for block in report.strip().split("\n\n")}


def test_the_answer_comes_first_and_what_moved_before_any_verdict() -> None:
    lines = REPORT.splitlines()
    assert lines[0] == made.ONE_OF_EVERYTHING.answer_text
    assert lines.index("what moved (torch, transformers)") < lines.index("REGRESSIONS, confirmed (2 cells)")
    assert "! more than one dependency moved (torch, transformers): torch alone can't be blamed" in lines


def test_an_answer_that_its_sentence_does_not_begin_with_is_put_before_it() -> None:
    verdicts = made.verdicts(made.SAME, answer_text="1 of 1 cells compared")
    assert as_text(verdicts, made.CONTEXT).startswith("Upgrade: 1 of 1 cells compared\n")


def test_a_regression_has_ratio_interval_cause_evidence_and_a_command() -> None:
    block = blocks(REPORT)["models.bert  batch=1,seq=128  default  cpu"]
    assert block.splitlines()[1:6] == [
        "  compiled.wall_ms regressed; 12.3 ms → 14.1 ms, +14.6% (+13.1% to +16.0%, 95%), 5 v 5 replicas, margin 3%; "
        "confirmed; medium",
        "    rerun: +15.0% (+12.0% to +18.0%, 99%), 8 v 8 replicas, margin 3%",
        "    a fresh rerun found it again",
        "    cause: other kernels were generated; layer that moved: Inductor",
        "    evidence: evaluation 12 (base), 57 (candidate); kernel 3344 (base), 4555 (candidate)",
    ]
    assert "  graph break added in forward: Data-dependent branching (bert.py:47)" in block
    assert block.endswith("  to see it: python -m evaluator repro --ab 12 57")


def test_what_no_rerun_confirmed_stands_apart_and_says_so() -> None:
    before, _, after = REPORT.partition("regressions, unconfirmed (1 cell)")
    assert "norm.layer_norm" not in before
    assert "unconfirmed; small" in after and "cause: unknown" in after


def test_commands_name_the_database_that_was_given() -> None:
    report = as_text(made.ONE_OF_EVERYTHING, replace(made.CONTEXT, database="my runs.db"))
    assert "python -m evaluator repro --ab 12 57 --db 'my runs.db'" in report


def test_the_other_verdicts_have_their_own_lists() -> None:
    found = blocks(REPORT)
    assert "6 more replicas a side would likely settle it" in found["inconclusive (1)"]
    assert "-19.0% (-21.0% to -17.0%, 95%)" in found["improved (2)"]
    assert "1 → 2" in found["flaky (1)"]
    assert (
        "the workload's definition differs between the sides: 1 cell (models.llama)" in found["not compared"]
    )
    assert "different builds of torch" in found["the environments themselves"]
    assert "mlp.small" not in REPORT
    assert found[
        "cells: 7 of 8 compared; 1 newly failing, 2 regressed, 1 flaky, 1 inconclusive, 1 not compared, 1 improved, "
        "1 unchanged"
    ]


def test_where_it_comes_from_ends_it() -> None:
    assert REPORT.endswith(
        "made 2026-03-01 12:30 UTC, took 1 h 02 min\n"
        "machine: Some CPU, 2 CPUs, 8 GB, Linux 6.1\n"
        "runs: 3 (upgrade, before-the-pin, 0b9f1c2d), 4 (confirm, 77aa1c2d)\n"
        "again: python -m evaluator upgrade 2.13.0 2.14.1\n"
    )


def test_many_cells_are_cut_with_a_count_of_the_rest() -> None:
    many = [
        replace(one, cell=CellName(f"{one.cell.workload}.{index}", "n=4", "default", "cpu"))
        for one in (made.REGRESSED, made.UNDECIDED)
        for index in range(40)
    ]
    report = as_text(made.verdicts(*many), made.CONTEXT)
    assert report.count("compiled.wall_ms regressed") == MOST_ALARMS
    assert f"and {40 - MOST_ALARMS} more cells: --format html shows all" in report
    assert report.count("6 more replicas") == MOST_ROWS
    assert f"and {40 - MOST_ROWS} more rows" in report


def test_recorded_text_can_not_steer_the_terminal() -> None:
    report = as_text(made.hostile(), made.hostile_context())
    assert all(sign.isprintable() or sign == "\n" for sign in report)


def test_nothing_at_all_is_still_a_report() -> None:
    report = as_text(made.verdicts(moved=()), made.CONTEXT)
    assert "nothing moved between the environments" in report and "cells: 0 of 0 compared" in report
