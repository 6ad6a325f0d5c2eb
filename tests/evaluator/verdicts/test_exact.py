"""Exact facts: what has a direction, what has none, what can't be compared, and what a rerun makes of a difference."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from evaluator.verdicts.diffs import differences_of
from evaluator.verdicts.exact import judge_exact, with_rerun
from evaluator.verdicts.findings import Evidence, Finding
from evaluator.verdicts.sides import Side
from tests.evaluator.verdicts.given import (
    BASE_ID,
    CANDIDATE_ID,
    accuracy,
    candidate,
    failing,
    guard,
    kernel,
    side,
    site,
)


def judged(base: Side, other: Side) -> dict[str, Finding]:
    return {one.metric: one for one in judge_exact(base, other, differences_of(base, other))}


def facts(base: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Finding]:
    return judged(side(facts=base), candidate(other))


def test_two_sides_alike_have_nothing_but_unchanged() -> None:
    found = judged(side(), candidate())
    assert {one.verdict for one in found.values()} == {"unchanged"}
    assert found["kernels"].reasons == ("same_kernels",)
    assert found["graph_breaks"].evidence == (
        Evidence("evaluation", BASE_ID, "base"),
        Evidence("evaluation", CANDIDATE_ID, "candidate"),
    )


@pytest.mark.parametrize(
    ("fact", "good", "bad"),
    [
        ("graph_breaks", 0, 1),
        ("graph_breaks", 2, 5),
        ("recompiles", 1, 2),
        ("second_walk_compiles", 0, 1),
        ("recompile_limit_hit", False, True),
        ("ran_eager", "none", "some"),
        ("ran_eager", "some", "all"),
        ("ran_eager", "none", "all"),
        ("nothing_compiled", False, True),
    ],
)
def test_more_of_these_is_worse(fact: str, good: Any, bad: Any) -> None:
    worse, better = facts({fact: good}, {fact: bad})[fact], facts({fact: bad}, {fact: good})[fact]
    assert (worse.verdict, better.verdict) == ("regressed", "improved")
    assert worse.gating


@pytest.mark.parametrize(
    "fact", ["graphs", "ops", "break_events", "dynamic_symbols", "backward_graphs", "guards"]
)
def test_these_only_change_and_never_gate(fact: str) -> None:
    for base, other in ((1, 2), (2, 1)):
        found = facts({fact: base}, {fact: other})[fact]
        assert (found.verdict, found.gating) == ("changed", False)


@pytest.mark.parametrize(
    ("idle", "reason"),
    [({"nothing_compiled": True}, "nothing_compiled"), ({"ran_eager": "all"}, "ran_eager")],
)
def test_no_breaks_where_nothing_ran_compiled_is_no_clean_bill(idle: dict[str, Any], reason: str) -> None:
    for base, other in (({"graph_breaks": 3}, idle), (idle, {"graph_breaks": 3})):
        found = facts(base, other)
        assert found["graph_breaks"].verdict == "not_compared"
        assert found["graph_breaks"].reasons == (reason,)
    assert facts({}, idle)[reason].verdict == "regressed"


def test_what_both_sides_met_before_all_of_it_ran_eager_is_compared() -> None:
    found = facts({"ran_eager": "all", "graph_breaks": 1}, {"ran_eager": "all", "graph_breaks": 2})
    assert found["graph_breaks"].verdict == "regressed"


def test_a_fact_that_one_side_does_not_know_is_not_compared() -> None:
    found = facts({"second_walk_compiles": None}, {"second_walk_compiles": 1})["second_walk_compiles"]
    assert (found.verdict, found.reasons) == ("not_compared", ("evidence_lost",))


@pytest.mark.parametrize("fact", ["ran_eager", "recompile_limit_hit", "graph_breaks", "second_walk_compiles"])
def test_a_fact_that_no_side_knows_is_lost_and_not_equal(fact: str) -> None:
    found = facts({fact: None}, {fact: None})[fact]
    assert (found.verdict, found.reasons, found.gating) == ("not_compared", ("evidence_lost",), True)


def test_a_fact_that_neither_recorder_had_is_none() -> None:
    def older(one: Side) -> Side:
        kept = {name: fact for name, fact in (one.facts or {}).items() if name != "second_walk_compiles"}
        return replace(one, facts=kept)

    assert "second_walk_compiles" not in judged(older(side()), older(candidate()))


def test_a_lost_trace_compares_no_fact() -> None:
    found = judged(side(), replace(candidate(), facts=None))
    assert found["facts"].reasons == ("evidence_lost",)
    assert "graph_breaks" not in found
    both = judged(replace(side(), facts=None), replace(candidate(), facts=None))
    assert (both["facts"].verdict, both["facts"].reasons) == ("not_compared", ("evidence_lost",))


def test_a_break_or_a_recompile_that_is_gone_says_so_where_a_row_shows_it() -> None:
    breaks, guards = facts({"graph_breaks": 1}, {}), facts({"recompiles": 1}, {})
    assert (breaks["graph_breaks"].reasons, guards["recompiles"].reasons) == ((), ())
    base = side(facts={"graph_breaks": 1, "recompiles": 1}, breaks=(site(),), guards=(guard(),))
    found = judged(base, candidate())
    assert (found["graph_breaks"].verdict, found["graph_breaks"].reasons) == ("improved", ("break_gone",))
    assert (found["recompiles"].verdict, found["recompiles"].reasons) == ("improved", ("recompile_gone",))


def test_a_bucket_that_ran_earlier_code_has_no_graphs_of_its_own_to_compare() -> None:
    base = side(facts={"reused_code": True, "graphs": 0}, kernels=())
    found = judged(base, candidate({"recompiles": 1}))
    assert found["recompiles"].verdict == "regressed"
    assert {"graphs", "ops", "kernels"}.isdisjoint(found)


def test_as_many_breaks_elsewhere_changed() -> None:
    base = side(facts={"graph_breaks": 1}, breaks=(site(),))
    found = judged(base, candidate({"graph_breaks": 1}, breaks=(site(function="loss"),)))["graph_breaks"]
    assert (found.verdict, found.gating) == ("changed", False)
    moved = judged(base, candidate({"graph_breaks": 1}, breaks=(site(line=99),)))["graph_breaks"]
    assert (moved.verdict, moved.gating) == ("unchanged", True)


def test_as_many_recompiles_for_other_guards_changed() -> None:
    base = side(facts={"recompiles": 1}, guards=(guard(),))
    other = candidate({"recompiles": 1}, guards=(guard(reason="k == 2", guard="k"),))
    assert judged(base, other)["recompiles"].verdict == "changed"


def test_other_kernels_changed_and_a_new_name_did_not() -> None:
    base = side(kernels=(kernel("a_0", "x"), kernel("b_0", "y")))
    found = judged(base, candidate(kernels=(kernel("a_0", "z", id=3), kernel("b_9", "y"))))["kernels"]
    assert (found.verdict, found.gating, found.reasons) == ("changed", False, ("kernels_changed",))
    assert found.text == "kernels: 1 changed"
    assert found.evidence == (Evidence("kernel", 1, "base"), Evidence("kernel", 3, "candidate"))
    renamed = judged(base, candidate(kernels=(kernel("a_7", "x"), kernel("b_9", "y"))))["kernels"]
    assert renamed.verdict == "unchanged"


def test_no_kernels_on_either_side_say_nothing_of_code_generation() -> None:
    assert "kernels" not in judged(side(kernels=()), candidate(kernels=()))


def test_another_difference_in_form_from_eager_changed() -> None:
    stride = ("out[0]", "stride", "[1, 5]", "[7, 1]")
    assert "differences" not in judged(side(), candidate())
    same = judged(side(differences=(stride,)), candidate(differences=(stride, stride)))["differences"]
    assert same.verdict == "unchanged"
    found = judged(side(), candidate(differences=(stride,)))["differences"]
    assert (found.verdict, found.gating) == ("changed", False)
    assert "new: stride of out[0] ([1, 5] in eager, [7, 1] compiled)" in found.text


@pytest.mark.parametrize(
    ("base", "other", "verdict", "reason"),
    [
        ("ok", "ok", "unchanged", None),
        ("ok", "compile_error", "newly_failing", None),
        ("accuracy_failed", "crashed", "newly_failing", None),
        ("not_comparable", "timeout", "newly_failing", None),
        ("runtime_error", "ok", "fixed", None),
        ("out_of_memory", "accuracy_failed", "fixed", None),
        ("setup_error", "compile_error", "not_compared", "both_failed"),
        ("ok", "unsupported", "not_compared", "unsupported"),
        ("skipped", "crashed", "not_compared", "unsupported"),
        ("ok", None, "not_compared", "not_measured"),
        ("ok", "not_comparable", "changed", None),
    ],
)
def test_how_the_two_ended(base: str | None, other: str | None, verdict: str, reason: str | None) -> None:
    found = judged(side(status=base), candidate(status=other))["status"]
    assert found.verdict == verdict
    assert found.reasons == (() if reason is None else (reason,))
    assert found.gating == (verdict != "changed")


def test_after_a_failure_no_count_is_compared() -> None:
    found = judged(side(), failing(facts={"graph_breaks": 7}))
    assert list(found) == ["status"]
    assert "LoweringException" in found["status"].text


def confirmed(first: tuple[Side, Side], again: tuple[Side, Side] | None, metric: str) -> Finding:
    rerun = None if again is None else judge_exact(*again, differences_of(*again))
    found = with_rerun(judge_exact(*first, differences_of(*first)), rerun)
    return next(one for one in found if one.metric == metric)


SAME = (side(), candidate())
WORSE = (side(), candidate({"graph_breaks": 1}))
MUCH_WORSE = (side(), candidate({"graph_breaks": 3}))
BROKEN = (side(), failing())
WRONG = (side(), candidate(accuracy=accuracy("fail"), status="accuracy_failed"))

UNJUDGED = (side(), candidate(accuracy=accuracy("not_comparable")))


@pytest.mark.parametrize(
    ("first", "again", "metric", "verdict", "sure", "reasons"),
    [
        (WORSE, WORSE, "graph_breaks", "regressed", True, ("rerun_confirmed",)),
        (WORSE, MUCH_WORSE, "graph_breaks", "regressed", True, ("rerun_confirmed",)),
        (WORSE, SAME, "graph_breaks", "flaky", False, ("rerun_disagreed",)),
        (WORSE, WORSE[::-1], "graph_breaks", "flaky", False, ("rerun_disagreed",)),
        (SAME, WORSE, "graph_breaks", "flaky", False, ("rerun_disagreed",)),
        (WORSE, None, "graph_breaks", "regressed", False, ("not_rerun",)),
        # A rerun that failed for another reason found neither the one nor the other.
        (WORSE, BROKEN, "graph_breaks", "regressed", False, ("not_rerun",)),
        (WORSE[::-1], None, "graph_breaks", "improved", None, ()),
        (WORSE[::-1], WORSE[::-1], "graph_breaks", "improved", True, ("rerun_confirmed",)),
        (BROKEN, BROKEN, "status", "newly_failing", True, ("rerun_confirmed",)),
        (BROKEN, SAME, "status", "flaky", False, ("rerun_disagreed",)),
        (BROKEN, None, "status", "newly_failing", False, ("not_rerun",)),
        (SAME, BROKEN, "status", "flaky", False, ("rerun_disagreed",)),
        (WRONG, WRONG, "accuracy", "regressed", True, ("rerun_confirmed",)),
        (WRONG, SAME, "accuracy", "flaky", False, ("rerun_disagreed",)),
        (WRONG, UNJUDGED, "accuracy", "regressed", False, ("not_rerun",)),
        (SAME, SAME, "graph_breaks", "unchanged", None, ()),
    ],
)
def test_what_a_rerun_makes_of_it(
    first: tuple[Side, Side],
    again: tuple[Side, Side] | None,
    metric: str,
    verdict: str,
    sure: bool | None,
    reasons: tuple[str, ...],
) -> None:
    found = confirmed(first, again, metric)
    assert (found.verdict, found.confirmed, found.reasons) == (verdict, sure, reasons)


@pytest.mark.parametrize(
    ("bad", "metric"), [(WORSE, "graph_breaks"), (BROKEN, "status"), (WRONG, "accuracy")]
)
@pytest.mark.parametrize("found_again", [True, False])
def test_what_a_rerun_says_cites_the_reruns_evaluations(
    bad: tuple[Side, Side], metric: str, found_again: bool
) -> None:
    again = replace(side(), evaluation=112), replace(bad[1] if found_again else candidate(), evaluation=157)
    cited = [(one.id, one.side) for one in confirmed(bad, again, metric).evidence]
    assert cited == [(12, "base"), (57, "candidate"), (112, "base"), (157, "candidate")]
