"""What a night leaves: its page, its line in the log and its exit code, from invented verdicts."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from evaluator.errors import UserError
from evaluator.nights.comparisons import Comparison
from evaluator.nights.report import (
    NightDone,
    append_to_log,
    failure_line,
    night_exit_code,
    night_page,
    summary_line,
)
from evaluator.report import Gate, parse_gate
from tests.evaluator.report.made import HOSTILE, cell, finding, verdicts

FINE = verdicts(cell("one", finding()))
BAD = verdicts(
    cell(
        "one",
        finding("graph_breaks", "regressed", kind="count", confirmed=True, base=0, candidate=1, unit=None),
    )
)
UNCONFIRMED = verdicts(cell("one", finding(verdict="regressed", confirmed=False)))
NOTHING = verdicts(cell("one", finding(verdict="not_compared", reasons=("one_side_missing",))))
FIRST = Comparison("pinned: the night before and tonight", "first", note="no night before on this machine")
GONE = Comparison("pinned: release and tonight", "gone", note="no run has the id", broken=True)


def compared(of: Any) -> Comparison:
    return Comparison("next: the night before and tonight", "next", of, (1, 2))


def night(*comparisons: Comparison, problems: tuple[str, ...] = ()) -> NightDone:
    began = datetime(2026, 3, 2, 1, 30, tzinfo=UTC)
    return NightDone(began, 3723.0, ("0123456789abcdef",), 12, comparisons, problems)


@pytest.mark.parametrize(
    ("comparisons", "problems", "fail_on", "code"),
    [
        ((), (), "regressed,newly_failing", 0),
        ((FIRST,), (), "regressed,newly_failing", 0),
        ((FIRST, compared(FINE)), (), "regressed,newly_failing", 0),
        ((compared(BAD),), (), "regressed,newly_failing", 1),
        ((compared(BAD),), (), "none", 0),
        ((compared(UNCONFIRMED),), (), "regressed,newly_failing", 0),
        ((compared(UNCONFIRMED),), (), "unconfirmed", 1),
        # What can't be told is no success; what got worse is said first.
        ((compared(FINE), GONE), (), "regressed,newly_failing", 2),
        ((compared(NOTHING),), (), "regressed,newly_failing", 2),
        ((compared(FINE),), ("next: no server starts",), "regressed,newly_failing", 2),
        ((compared(BAD), GONE), ("next: no server starts",), "regressed,newly_failing", 1),
    ],
)
def test_the_exit_code_is_a_gates(
    comparisons: tuple[Comparison, ...], problems: tuple[str, ...], fail_on: str, code: int
) -> None:
    assert night_exit_code(night(*comparisons, problems=problems), parse_gate(fail_on)) == code


def test_a_night_is_one_line_in_the_log(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "folder"
    done = night(FIRST, compared(FINE), problems=("bad\nnews",))
    append_to_log(folder, summary_line(done, 2, Path("reports/night.md")))
    append_to_log(folder, failure_line(done.began_at, 2, "another night\nis going on"))
    first, second = (folder / "nightly.log").read_text().splitlines()
    assert " exit 2, run 01234567, 12 cells, 1 h 02 min | bad news | " in first
    assert "next: the night before and tonight: Upgrade: nothing regressed; 1 of 1 cells compared" in first
    assert "pinned: the night before and tonight: no night before on this machine" in first
    assert first.endswith("| reports/night.md")
    assert second.endswith(" exit 2, another night is going on")
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="choose another folder for `reports`"):
        append_to_log(tmp_path / "file", "line")


def test_the_page_tells_what_fails_and_where_the_reports_are() -> None:
    reports = {"next": (Path("x/2-next.md"), Path("x/2-next.html"))}
    page = night_page(night(FIRST, compared(BAD)), Gate(), reports)
    assert "# Night of 2026-03-0" in page
    assert "**1 of 1 comparisons fail the gate**" in page
    assert "[md](2-next.md), [html](2-next.html)" in page
    assert r"- `one n=4 default cpu`: graph\_breaks regressed (0 → 1)" in page
    assert "no night before on this machine" in page
    quiet = night_page(night(compared(FINE)), Gate(), reports)
    assert "**nothing fails the gate in 1 comparison**" in quiet
    assert "regressed (" not in quiet


def test_the_page_shows_recorded_text_as_characters() -> None:
    bad = verdicts(cell(HOSTILE, finding("graph_breaks", "regressed", confirmed=True, text=HOSTILE)))
    page = night_page(night(Comparison(HOSTILE, "x", bad), problems=(HOSTILE,)), Gate(), {})
    assert "<script>" not in page.replace("`<script>", "")
    assert "\x1b" not in page
    (row,) = [line for line in page.splitlines() if line.startswith("| ") and "alert" in line]
    # By hand: three columns have four bars; the name's own is escaped.
    assert row.replace("\\|", "").count("|") == 4
