"""The verdict of a cell: the worst of what gates and compared something."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from evaluator.verdicts.cells import compare_cell, lost_evidence, worst
from evaluator.verdicts.findings import CellVerdict, Differences, Finding
from evaluator.verdicts.policy import Policy
from evaluator.verdicts.sides import Pair, Side
from evaluator.verdicts.words import VERDICTS, Verdict
from tests.evaluator.verdicts.given import STEADY_8, accuracy, candidate, failing, pair, series, side


def compared(pair: Pair, **options: Any) -> CellVerdict:
    return compare_cell(pair, Policy(), **({"different_builds": False, "dependencies": 1} | options))


def finding(verdict: Verdict, gating: bool = True) -> Finding:
    return Finding("m", "count", verdict, gating, None, None, None, None, "")


@pytest.mark.parametrize(
    ("gating", "others", "expected"),
    [
        (["unchanged", "regressed", "newly_failing"], [], "newly_failing"),
        (["unchanged", "not_compared"], [], "unchanged"),
        (["improved", "unchanged"], [], "improved"),
        (["inconclusive", "improved"], [], "inconclusive"),
        (["fixed", "not_compared"], [], "fixed"),
        (["unchanged"], ["changed", "regressed"], "unchanged"),
        (["not_compared"], ["changed"], "not_compared"),
        ([], [], "not_compared"),
    ],
)
def test_the_worst_gating_verdict_that_compared_something(
    gating: Sequence[Verdict], others: Sequence[Verdict], expected: Verdict
) -> None:
    assert worst([*map(finding, gating), *(finding(one, gating=False) for one in others)]) == expected


def test_two_sides_alike() -> None:
    numbers = series(compiled__wall_ms=1, compile__cold_s=1)
    found = compared(pair(side(series=numbers), candidate(series=numbers), training=True))
    assert (found.verdict, found.confirmed, found.compared) == ("unchanged", None, True)
    assert (found.base_evaluation, found.candidate_evaluation, found.training) == (12, 57, True)
    assert all(one.cause is None for one in found.findings)


def test_findings_come_worst_first() -> None:
    base = side(series=series(compiled__wall_ms=1))
    other = candidate({"ops": 5, "graph_breaks": 1}, series=series(compiled__wall_ms=0.5))
    order = [VERDICTS.index(one.verdict) for one in compared(pair(base, other)).findings]
    assert order == sorted(order)


def test_a_cell_is_confirmed_where_a_finding_that_decides_is() -> None:
    worse = candidate({"graph_breaks": 1})
    assert compared(pair(side(), worse)).confirmed is False
    again = (side(112), candidate({"graph_breaks": 1}))
    found = compared(pair(side(), worse, rerun=again))
    assert (found.verdict, found.confirmed) == ("regressed", True)
    disagrees = compared(pair(side(), worse, rerun=(side(112), candidate())))
    assert (disagrees.verdict, disagrees.confirmed) == ("flaky", None)


def test_times_and_facts_share_a_rerun() -> None:
    base = side(series=series(compiled__wall_ms=1))
    other = candidate({"graph_breaks": 1}, series=series(compiled__wall_ms=1.2))
    again = (
        side(112, series=series(STEADY_8, compiled__wall_ms=1)),
        candidate({"graph_breaks": 1}, series=series(STEADY_8, compiled__wall_ms=1.2)),
    )
    found = {one.metric: one for one in compared(pair(base, other, rerun=again)).findings}
    assert found["graph_breaks"].confirmed is True
    assert found["compiled.wall_ms"].confirmed is True


def test_another_definition_is_another_workload() -> None:
    found = compared(pair(side(), candidate({"graph_breaks": 1}), candidate_definition="other"))
    assert (found.verdict, found.compared) == ("not_compared", False)
    (one,) = found.findings
    assert one.reasons == ("definition_changed",)


@pytest.mark.parametrize(("base", "other"), [(side(), None), (None, candidate())])
def test_a_cell_that_one_side_lacks(base: Any, other: Any) -> None:
    found = compared(pair(base, other), one_run=True)
    (one,) = found.findings
    assert (found.verdict, one.reasons) == ("not_compared", ("one_side_missing",))
    assert found.differences == Differences()


def test_a_workload_that_only_the_candidate_cannot_load_is_newly_failing() -> None:
    broken = failing(status="setup_error", reason="pack.py: no module named torch.gone", failure=None)
    lost = pair(None, broken, candidate_definition="-")
    found = compared(lost, one_run=True)
    assert (found.verdict, found.confirmed) == ("newly_failing", True)
    assert "torch.gone" in found.findings[0].text
    # Two runs may have been given other sources.
    assert compared(lost, one_run=False).verdict == "not_compared"
    assert compared(pair(broken, None, base_definition="-"), one_run=True).verdict == "fixed"
    both = pair(broken, broken, base_definition="-", candidate_definition="-")
    assert compared(both, one_run=True).verdict == "not_compared"


def test_a_cell_that_fails_on_both_sides_compared_nothing() -> None:
    found = compared(pair(failing(12), failing()))
    assert (found.verdict, found.findings[0].reasons) == ("not_compared", ("both_failed",))
    assert found.differences.error is None


def test_a_cell_that_fails_now_says_so_and_shows_both_errors() -> None:
    numbers = series(compiled__wall_ms=1)
    found = compared(pair(side(series=numbers), failing()))
    assert found.verdict == "newly_failing"
    assert found.differences.error is not None
    time = next(one for one in found.findings if one.metric == "compiled.wall_ms")
    assert time.reasons == ("one_side_failed",)


def test_several_dependencies_are_a_reason_of_every_regression() -> None:
    found = compared(pair(side(), candidate({"graph_breaks": 1})), dependencies=2)
    one = next(one for one in found.findings if one.metric == "graph_breaks")
    assert "several_dependencies_moved" in one.reasons


WALL = series(compiled__wall_ms=1)
WHOLE = side(series=WALL)
UNJUDGED = accuracy("not_comparable")


@pytest.mark.parametrize(
    ("base", "other"),
    [
        (WHOLE, replace(candidate(series=WALL), facts=None)),
        (replace(WHOLE, facts=None), replace(candidate(series=WALL), facts=None)),
        (WHOLE, candidate({"recompiles": None}, series=WALL)),
        (WHOLE, candidate()),
        (WHOLE, candidate(series=WALL, accuracy=None)),
        (WHOLE, candidate(series=WALL, accuracy=UNJUDGED, status="not_comparable")),
        (WHOLE, candidate(series=WALL, status=None)),
    ],
    ids=["trace", "both traces", "one fact", "time", "accuracy", "judged accuracy", "status"],
)
def test_what_lost_evidence_is_inconclusive_at_best(base: Side, other: Side) -> None:
    for ours, theirs in ((base, other), (other, base)):
        found = compared(pair(ours, theirs))
        assert (found.verdict, found.confirmed) == ("inconclusive", None)
        assert lost_evidence(found.findings)


def test_lost_evidence_hides_nothing_that_is_worse() -> None:
    lost = candidate({"graph_breaks": 1}, series=WALL, accuracy=None)
    assert compared(pair(WHOLE, lost)).verdict == "regressed"
    better = candidate(series=series(compiled__wall_ms=0.5), accuracy=None)
    assert compared(pair(WHOLE, better)).verdict == "inconclusive"


def test_what_neither_side_has_is_not_lost() -> None:
    unjudged = {"accuracy": UNJUDGED, "status": "not_comparable", "series": WALL}
    # Numbers that no clock gives, on both sides.
    broken = {"series": {**series(compile__cold_s=1), **series((0.0,) * 5, compiled__wall_ms=1)}}
    for changes in ({"series": WALL}, {"accuracy": None, "series": WALL}, unjudged, broken):
        found = compared(pair(side(**changes), candidate(**changes)))
        assert found.verdict == "unchanged"
        assert not lost_evidence(found.findings)


@pytest.mark.parametrize("factor", [1.0, 10.0])
@pytest.mark.parametrize("idle", [{"ran_eager": "all"}, {"nothing_compiled": True}])
def test_a_cell_that_ran_nothing_compiled_on_both_sides_is_not_unchanged(
    idle: dict[str, Any], factor: float
) -> None:
    found = compared(
        pair(side(facts=idle, series=WALL), candidate(idle, series=series(compiled__wall_ms=factor)))
    )
    assert found.verdict == "inconclusive"
    time = next(one for one in found.findings if one.metric == "compiled.wall_ms")
    assert time.verdict == "not_compared"
    # What is worse or better in it stands.
    assert compared(pair(side(), candidate(idle))).verdict == "regressed"
    assert compared(pair(side(facts=idle), candidate())).verdict == "improved"


def test_partly_eager_code_that_is_10_times_slower_is_a_regression() -> None:
    partly = {"ran_eager": "some"}
    slow = candidate(partly, series=series(compiled__wall_ms=10))
    assert compared(pair(side(facts=partly, series=WALL), slow)).verdict == "regressed"
