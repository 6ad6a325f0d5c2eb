"""What Why lists of two evaluations: what differs, what is the same beside it, and no claim where a side has a gap."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest

from app.pair import rows as pair_rows
from evaluator.verdicts.cells import compare_cell
from evaluator.verdicts.diffs import differences_of
from evaluator.verdicts.findings import CellVerdict
from evaluator.verdicts.policy import Policy
from evaluator.verdicts.sides import Pair
from tests.app.test_findings import record
from tests.evaluator.verdicts import given


def listed(frame: pd.DataFrame, *columns: str) -> list[tuple[Any, ...]]:
    return list(frame[list(columns)].itertuples(index=False, name=None))


def pair(**sides: Any) -> Pair:
    """A pair whose base and candidate have ``base_...`` and ``candidate_...`` for breaks, guards or kernels."""
    ours = {name.removeprefix("base_"): value for name, value in sides.items() if name.startswith("base_")}
    theirs = {
        name.removeprefix("candidate_"): value
        for name, value in sides.items()
        if name.startswith("candidate_")
    }
    return given.pair(given.side(**ours), given.candidate(**theirs))


def judged(one: Pair) -> CellVerdict:
    return compare_cell(one, Policy(), different_builds=False, dependencies=1, one_run=True)


def changes(one: Pair) -> Any:
    assert one.base is not None and one.candidate is not None
    return differences_of(one.base, one.candidate)


def test_breaks_added_removed_moved_and_the_same() -> None:
    one = pair(
        base_breaks=(
            given.site(id=1, line=10),
            given.site(id=2, break_id="gb0001", function="gone", line=20),
            given.site(id=3, break_id="gb0002", function="stays", line=30),
        ),
        candidate_breaks=(
            given.site(id=4, line=12),
            given.site(id=5, break_id="gb0002", function="stays", line=30),
            given.site(id=6, break_id="gb0003", function="new", line=40),
        ),
    )
    found = pair_rows.breaks(one, changes(one))
    assert listed(found, "change", "function", "base", "candidate", "base_id", "candidate_id") == [
        ("+ added", "new", None, "pack.py:40", None, 6),
        ("− removed", "gone", "pack.py:20", None, 2, None),
        ("→ moved", "forward", "pack.py:10", "pack.py:12", 1, 4),
        ("= the same", "stays", "pack.py:30", "pack.py:30", None, 5),
    ]
    said = "Graph break sites: 1 added, 1 removed, 1 moved, 1 the same."
    assert pair_rows.counted(found, "graph break sites") == said


def test_guards_of_one_side_and_of_both() -> None:
    one = pair(
        base_guards=(given.guard(id=1), given.guard(id=2, reason="L['flag'] == True", guard=None, line=7)),
        candidate_guards=(
            given.guard(id=3),
            given.guard(id=4, reason="len(L['x']) == 2", guard=None, line=9),
        ),
    )
    found = pair_rows.guards(one, changes(one))
    assert listed(found, "change", "guard", "where", "id") == [
        ("+ added", "len(L['x']) == 2", "pack.py:9", 4),
        ("− removed", "L['flag'] == True", "pack.py:7", 2),
        ("= the same", "tensor 'x' size mismatch at index 0. expected 128, actual 512", "pack.py:14", 3),
    ]


def test_kernels_with_the_sources_to_compare() -> None:
    one = pair(
        base_kernels=(
            given.kernel("cpp_a_0", "a", id=1),
            given.kernel("cpp_b_1", "b", id=2),
            given.kernel("mm", None, id=3),
            given.kernel("cpp_d_2", "d", id=4),
        ),
        candidate_kernels=(
            given.kernel("cpp_a_0", "other", id=5),
            given.kernel("cpp_new_name_1", "b", id=6),
            given.kernel("mm", None, id=7),
            given.kernel("cpp_d_2", "d", id=8, source_sha256="d with another signature"),
        ),
    )
    found = pair_rows.kernels(one, changes(one))
    assert listed(found, "change", "name", "body", "base_source", "candidate_source") == [
        ("≠ changed", "cpp_a_0", "differs", "text of a", "text of other"),
        ("~ renamed", "cpp_new_name_1", "equal", "text of b", "text of b"),
        ("= the same", "mm", None, None, None),
        ("= the same", "cpp_d_2", "equal", "text of d", "d with another signature"),
    ]


def test_equal_kernels_twice_are_paired_one_to_one() -> None:
    twice = tuple(given.kernel(id=n) for n in (1, 2))
    one = given.pair(
        given.side(kernels=twice), given.candidate(kernels=(given.kernel(id=3), given.kernel(id=4)))
    )
    found = pair_rows.kernels(one, changes(one))
    assert list(found["change"]) == ["= the same", "= the same"]
    assert list(found["base_source"]) == ["text of body", "text of body"]


def test_nothing_on_either_side_is_said_as_that() -> None:
    one = given.pair(given.side(), given.candidate())
    found = pair_rows.breaks(one, changes(one))
    assert found.empty
    assert pair_rows.counted(found, "graph break sites") == "No graph break sites on either side."


def test_none_in_a_bucket_that_compiled_nothing_is_no_clean_bill() -> None:
    assert pair_rows.none("kernels", record(), record()) == "No kernels on either side."
    reused = record(compiles=0, graphs=0)
    assert pair_rows.none("kernels", reused, reused).endswith(
        "compiled nothing, and ran code of earlier buckets."
    )


@pytest.mark.parametrize(
    ("status", "facts", "said"),
    [
        ("ok", {}, None),
        ("accuracy_failed", {}, None),
        (None, {}, "not finished"),
        ("compile_error", {}, "compile error: what it shows is what came before that"),
        ("skipped", {}, "skipped"),
        ("ok", {"graphs": None}, "no trace of its walk is kept"),
        ("ok", {"graphs": 0, "nothing_compiled": True}, "nothing was compiled"),
    ],
)
def test_a_side_with_a_gap_says_so(status: str | None, facts: dict[str, Any], said: str | None) -> None:
    found = pair_rows.gap(record(status, **facts))
    assert found is None if said is None else found is not None and found.startswith(said)


def test_headline_names_the_cause_and_what_else_regressed() -> None:
    added = (given.site(id=9, reason="Unsupported thing", line=46, function="brightness"),)
    ours = given.side(series=given.series(compiled__wall_ms=1.0))
    theirs = given.candidate({"graph_breaks": 1}, breaks=added, series=given.series(compiled__wall_ms=1.5))
    cell = judged(given.pair(ours, theirs, rerun=None))
    said = pair_rows.headline(cell)
    assert cell.verdict == "regressed"
    assert "Graph breaks: 0 -> 1" in said
    assert "Likely cause: a graph break was added: Unsupported thing in brightness (pack.py:46)" in said
    assert "Also regressed: " in said


def test_headline_of_too_few_replicas_says_what_would_settle_it() -> None:
    few = given.series((9.0, 10.0), compiled__wall_ms=1.0)
    said = pair_rows.headline(judged(given.pair(given.side(series=few), given.candidate(series=few))))
    assert said.startswith("Compiled call: ")
    assert "fewer than 4 replicas a side decide nothing" in said


def test_headline_of_an_unchanged_cell_counts_what_was_compared() -> None:
    cell = judged(given.pair(given.side(), given.candidate()))
    n = sum(one.gating and one.verdict == "unchanged" for one in cell.findings)
    assert (
        pair_rows.headline(cell) == f"{n} things that count were compared and are equal within their margins."
    )


def test_headline_of_what_was_not_compared_is_no_clean_bill() -> None:
    one = given.pair(given.side(), given.candidate(), candidate_definition="another")
    cell = judged(one)
    assert cell.verdict == "not_compared"
    said = pair_rows.headline(cell)
    assert "definition differs" in said
    assert "equal" not in said


def test_findings_have_a_word_for_each_verdict_and_say_what_counts() -> None:
    theirs = given.candidate({"graph_breaks": 1, "graphs": 2}, breaks=(given.site(),))
    found = pair_rows.findings(judged(given.pair(given.side(), theirs)))
    by_metric = found.set_index("metric")
    assert by_metric.loc["Graph breaks", "verdict"] == "▲ regressed, unconfirmed"
    assert by_metric.loc["Graph breaks", "counts"] == "counts"
    assert by_metric.loc["Graphs", "verdict"] == "≠ changed"
    assert by_metric.loc["Graphs", "counts"] == "explains"
    assert (by_metric.loc["Graphs", "base"], by_metric.loc["Graphs", "candidate"]) == ("1", "2")


def test_detail_cites_the_evidence() -> None:
    theirs = given.candidate({"graph_breaks": 1}, breaks=(given.site(id=9),))
    cell = judged(given.pair(given.side(), theirs))
    said = pair_rows.detail(cell.findings[0])
    assert "graph break 9 (candidate)" in said
    assert f"evaluation {given.BASE_ID} (base), {given.CANDIDATE_ID} (candidate)" in said


def test_a_cell_that_lost_evidence_says_what_is_missing() -> None:
    lost = given.pair(given.side(), given.candidate({"ran_eager": None}))
    assert "unknown on one side" in pair_rows.headline(judged(lost))
    assert pair_rows.headline(judged(lost)).startswith("Open: ")
