"""The answer of a whole comparison, what it owes a rerun, and what it would explain."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pytest

from evaluator.verdicts.findings import Cause, Evidence, Verdicts, as_json
from evaluator.verdicts.sides import CellName, Pair, Side
from evaluator.verdicts.whole import candidates, compare, explainable
from tests.evaluator.verdicts.fused import FUSED, SPLIT, base_of, candidate_of, codegen
from tests.evaluator.verdicts.given import (
    NEXT_TORCH,
    STEADY,
    STEADY_8,
    accuracy,
    candidate,
    environment,
    failing,
    kernel,
    pair,
    series,
    side,
)
from tests.evaluator.verdicts.simulated import side as drawn

WIDE = (8.0, 9.0, 10.0, 11.0, 12.0)


def verdicts(pairs: Iterable[Pair], **changes: Any) -> Verdicts:
    return compare(
        environment(label="torch 2.13.0"), environment(NEXT_TORCH, "torch 2.14.1", **changes), pairs
    )


def timed(factor: float = 1.0, values: tuple[float, ...] = STEADY, **changes: Any) -> Side:
    return candidate(series=series(values, compiled__wall_ms=factor), **changes)


def same(workload: str, **changes: Any) -> Pair:
    return pair(side(series=series(compiled__wall_ms=1)), timed(), workload, **changes)


def slower(workload: str, confirmed: bool) -> Pair:
    again = (side(112, series=series(STEADY_8, compiled__wall_ms=1)), timed(1.2, STEADY_8))
    base = side(series=series(compiled__wall_ms=1))
    return pair(base, timed(1.2), workload, rerun=again if confirmed else None)


def unsettled(workload: str) -> Pair:
    return pair(side(series=series(WIDE, compiled__wall_ms=1)), timed(1.0, WIDE), workload)


def wrong(workload: str, confirmed: bool) -> Pair:
    bad = timed(accuracy=accuracy("fail"))
    again = (side(112), candidate(accuracy=accuracy("fail")))
    base = side(series=series(compiled__wall_ms=1))
    return pair(base, bad, workload, rerun=again if confirmed else None)


def broken(workload: str, confirmed: bool) -> Pair:
    again = (side(112), failing(157))
    return pair(
        side(series=series(compiled__wall_ms=1)), failing(), workload, rerun=again if confirmed else None
    )


def alike(number: int) -> list[Pair]:
    return [same(f"pack.w{place}") for place in range(number)]


def test_no_regression_is_an_upgrade_and_says_how_much_was_compared() -> None:
    found = verdicts([*alike(5), pair(side(), None, "pack.gone")])
    assert found.answer == "Upgrade"
    assert "5 of 6 cells compared" in found.answer_text
    assert (found.compared, found.total, found.excepted) == (5, 6, ())
    assert found.counts == {"unchanged": 5, "not_compared": 1}
    assert (found.base, found.candidate) == ("torch 2.13.0", "torch 2.14.1")
    assert {one.dependency for one in found.moved} == {"torch"}


def test_regressions_in_a_quarter_of_the_workloads_are_exceptions_and_in_more_a_hold() -> None:
    quarter = verdicts([*alike(3), slower("pack.a", True)])
    assert (quarter.answer, quarter.excepted) == ("Upgrade except", ("pack.a",))
    assert quarter.answer_text.startswith("Upgrade except pack.a")
    assert "4 of 4 cells compared" in quarter.answer_text
    more = verdicts([*alike(2), slower("pack.a", True)])
    assert (more.answer, more.excepted) == ("Hold", ("pack.a",))


def test_newly_failing_workloads_are_exceptions_like_slower_ones() -> None:
    found = verdicts([*alike(6), broken("pack.a", True), slower("pack.b", True)])
    assert found.answer == "Upgrade except"
    assert found.excepted == ("pack.a", "pack.b")


def test_cells_of_one_workload_count_once() -> None:
    three = [slower("pack.a", True) for _ in range(3)]
    assert verdicts([*alike(3), *three]).answer == "Upgrade except"


def test_one_confirmed_wrong_result_is_a_hold_however_much_is_well() -> None:
    found = verdicts([*alike(30), wrong("pack.a", True)])
    assert found.answer == "Hold"
    assert "pack.a" in found.answer_text


@pytest.mark.parametrize("owed", [wrong("pack.a", False), slower("pack.a", False), broken("pack.a", False)])
def test_an_unconfirmed_regression_is_not_enough_evidence(owed: Pair) -> None:
    found = verdicts([*alike(9), owed])
    assert found.answer == "Not enough evidence"
    assert "pack.a" in found.answer_text
    assert "10 of 10 cells compared" in found.answer_text


def test_nothing_compared_is_not_enough_evidence() -> None:
    for pairs in ([], [pair(side(), None)], [pair(failing(12), failing())]):
        assert verdicts(pairs).answer == "Not enough evidence"
    assert "0 of 1 cells compared" in verdicts([pair(side(), None)]).answer_text


@pytest.mark.parametrize(("settled", "answer"), [(4, "Not enough evidence"), (5, "Upgrade"), (6, "Upgrade")])
def test_half_of_the_times_have_to_be_settled(settled: int, answer: str) -> None:
    open_ones = [unsettled(f"pack.u{place}") for place in range(10 - settled)]
    found = verdicts([*alike(settled), *open_ones])
    assert found.answer == answer
    assert f"{settled} of 10 times settled" in found.answer_text


def test_a_regression_never_makes_the_answer_better() -> None:
    unknown = [unsettled(f"pack.u{place}") for place in range(9)]
    assert verdicts(unknown).answer == "Not enough evidence"
    found = verdicts([*unknown, slower("pack.a", True)])
    assert (found.answer, found.excepted) == ("Not enough evidence", ("pack.a",))
    assert "pack.a" in found.answer_text


def test_times_of_another_machine_are_not_settled() -> None:
    elsewhere = [
        pair(side(series=series(compiled__wall_ms=1)), timed(machine="other"), f"pack.w{place}")
        for place in range(3)
    ]
    found = verdicts(elsewhere, machine="other")
    assert found.answer == "Not enough evidence"
    assert any("different machines" in one for one in found.warnings)
    # Equal facts stand, and cells whose times nobody compared are not called equal by them.
    assert found.counts == {"inconclusive": 3}


def test_without_any_time_nothing_is_said_of_speed() -> None:
    found = verdicts([pair(side(), candidate(), f"pack.w{place}") for place in range(3)])
    assert found.answer == "Not enough evidence"
    assert "no times measured" in found.answer_text
    fixed = verdicts([pair(failing(12), timed(), f"pack.w{place}") for place in range(3)])
    assert fixed.answer == "Not enough evidence"
    assert "no times could be compared" in fixed.answer_text
    # Times that only explain are none of them.
    eager = series(eager__wall_ms=1)
    assert "no times measured" in verdicts([pair(side(series=eager), candidate(series=eager))]).answer_text


def test_settled_compiles_say_nothing_of_warm_calls() -> None:
    def loud(number: int) -> Pair:
        numbers = {**series(WIDE, compiled__wall_ms=1), **series(compile__cold_s=1, compile__warm_cache_s=1)}
        return pair(side(series=numbers), candidate(series=numbers), f"pack.w{number}")

    found = verdicts([loud(number) for number in range(12)])
    assert found.answer == "Not enough evidence"
    assert "24 of 36 times settled, 12 still allow more than their margin" in found.answer_text
    assert "only 0 of 12 for warm calls" in found.answer_text
    # The other way round: compiles alone are loud.
    numbers = {**series(compiled__wall_ms=1, compile__warm_cache_s=1), **series(WIDE, compile__cold_s=1)}
    cold = [pair(side(series=numbers), candidate(series=numbers), f"pack.w{place}") for place in range(4)]
    assert verdicts(cold).answer == "Upgrade"
    # A fifth has nothing but a loud compile: 4 of 9 compiles are left.
    more = pair(
        side(series=series(WIDE, compile__cold_s=1)), candidate(series=series(WIDE, compile__cold_s=1))
    )
    found = verdicts([*cold, more])
    assert found.answer == "Not enough evidence"
    assert "8 of 13 times settled" in found.answer_text
    assert "only 4 of 9 for compiles" in found.answer_text


def test_an_upgrade_says_how_many_times_still_allow_a_regression() -> None:
    found = verdicts([*alike(4), unsettled("pack.u0"), unsettled("pack.u1")])
    assert found.answer == "Upgrade"
    assert "4 of 6 times settled, 2 still allow more than their margin" in found.answer_text
    assert "allow" not in verdicts(alike(4)).answer_text
    # Every value is below every one of the base, by 2% in the middle and up to 5%: that may be an improvement, and
    # no regression.
    below = pair(
        side(series=series((9.98, 9.99, 10.0, 10.01, 10.02), compiled__wall_ms=1)),
        timed(1.0, (9.4, 9.5, 9.8, 9.85, 9.9)),
        "pack.b",
    )
    found = verdicts([*alike(2), below])
    assert found.counts == {"unchanged": 2, "inconclusive": 1}
    assert "2 of 3 times settled, 1 can be slower by its margin at most;" in found.answer_text


def test_of_what_is_not_settled_something_is_said_to_the_last() -> None:
    lost = pair(
        side(series=series(compiled__wall_ms=1), accuracy=accuracy("pass")), timed(accuracy=None), "pack.l"
    )
    found = verdicts([*alike(4), unsettled("pack.u"), lost])
    assert "4 of 6 times settled, 1 still allows more than its margin, 1 in a cell that lost evidence" in (
        found.answer_text
    )


def test_what_a_rerun_contradicted_allows_what_the_rerun_allows() -> None:
    def contradicted(values: tuple[float, ...]) -> Pair:
        again = (side(112, series=series(values, compiled__wall_ms=1)), timed(1.0, values))
        return replace(slower("pack.a", False), rerun=again)

    loud = (*WIDE, 9.5, 10.5, 11.5)
    within = "3 of 4 times settled, 1 can be slower by its margin at most;"
    assert within in verdicts([*alike(3), contradicted(STEADY_8)]).answer_text
    assert "1 still allows more than its margin" in verdicts([*alike(3), contradicted(loud)]).answer_text


@pytest.mark.parametrize(("compared_cells", "answer"), [(4, "Not enough evidence"), (5, "Upgrade")])
def test_half_of_the_cells_have_to_be_compared(compared_cells: int, answer: str) -> None:
    gone = [pair(side(), None, f"pack.g{place}") for place in range(10 - compared_cells)]
    found = verdicts([*alike(compared_cells), *gone])
    assert found.answer == answer
    assert f"{compared_cells} of 10 cells compared" in found.answer_text
    assert ("fewer than half of the cells" in found.answer_text) == (answer != "Upgrade")
    assert "not tried on the candidate: pack.g0, pack.g1" in found.answer_text


def test_cells_that_neither_side_supports_count_in_all_but_not_in_the_share() -> None:
    def untried(base: str, other: str) -> list[Pair]:
        return [pair(side(status=base), candidate(status=other), f"pack.n{place}") for place in range(9)]

    found = verdicts([*alike(1), *untried("unsupported", "unsupported")])
    assert found.answer == "Upgrade"
    assert "1 of 10 cells compared" in found.answer_text
    assert verdicts([*alike(1), *untried("unsupported", "skipped")]).answer == "Upgrade"
    assert "not tried" not in found.answer_text
    # What one side could try and the other could not is missing.
    missing = verdicts([*alike(1), *untried("ok", "unsupported")])
    assert missing.answer == "Not enough evidence"
    assert "not tried on the candidate: pack.n0, pack.n1" in missing.answer_text
    assert "not tried" not in verdicts([*alike(1), *untried("unsupported", "ok")]).answer_text


def test_what_is_wrong_on_both_sides_is_named_and_no_regression() -> None:
    wrong = accuracy("fail")
    both = pair(side(series=series(compiled__wall_ms=1), accuracy=wrong), timed(accuracy=wrong), "pack.wrong")
    found = verdicts([*alike(3), both])
    assert found.answer == "Upgrade"
    assert "wrong on both sides: pack.wrong" in found.answer_text
    assert "wrong on both sides" not in verdicts(alike(3)).answer_text


@pytest.mark.parametrize("bad", [failing(), timed(accuracy=accuracy("fail"))], ids=["status", "accuracy"])
def test_a_failure_or_a_wrong_result_that_comes_and_goes_is_named_as_doubtful(bad: Side) -> None:
    again = (side(112), side(157))
    base = side(series=series(compiled__wall_ms=1))
    for first, second in (((base, bad), again), ((base, timed()), (side(112), replace(bad, evaluation=157)))):
        found = verdicts([*alike(9), pair(*first, "pack.a", rerun=second)])
        assert found.answer == "Not enough evidence"
        assert "come and go in pack.a" in found.answer_text
        assert found.excepted == ()


def test_a_count_that_comes_and_goes_is_told_and_no_more() -> None:
    again = (side(112), side(157))
    found = verdicts([*alike(9), pair(side(), candidate({"graph_breaks": 1}), "pack.a", rerun=again)])
    assert found.answer == "Upgrade"
    assert found.counts["flaky"] == 1


def test_times_of_two_runs_settle_nothing() -> None:
    apart = [replace(one, interleaved=False) for one in alike(5)]
    found = verdicts(apart, run=2)
    assert found.answer == "Not enough evidence"
    assert "only 0 of 5 times settled, 5 still allow" in found.answer_text
    assert "not measured in turns" in found.answer_text
    assert any("two runs" in one for one in found.warnings)
    assert found.counts == {"inconclusive": 5}
    assert not any("two runs" in one for one in verdicts(alike(5)).warnings)


@pytest.mark.parametrize(("lost", "answer"), [(2, "Upgrade"), (3, "Not enough evidence")])
def test_cells_that_lost_evidence_are_not_settled(lost: int, answer: str) -> None:
    less = [replace(one, candidate=timed(accuracy=None)) for one in alike(lost)]
    found = verdicts([*[same(f"pack.s{place}") for place in range(2)], *less])
    assert found.answer == answer
    assert f"2 of {2 + lost} times settled" in found.answer_text
    assert "evidence lost in" in found.answer_text
    assert found.counts == {"unchanged": 2, "inconclusive": lost}


def test_lost_traces_of_cells_without_times_are_not_outvoted_by_one_time() -> None:
    lost = [pair(side(), replace(candidate(), facts=None), f"pack.l{place}") for place in range(9)]
    found = verdicts([*alike(1), *lost])
    assert found.answer == "Not enough evidence"
    assert "1 of 1 times settled" not in found.answer_text
    assert "evidence lost in 9 of 10 cells" in found.answer_text


def test_code_that_ran_eager_everywhere_settles_nothing() -> None:
    idle = {"ran_eager": "all"}
    pairs = [
        pair(side(facts=idle, series=series(compiled__wall_ms=1)), timed(10.0, facts=idle), f"pack.w{place}")
        for place in range(3)
    ]
    found = verdicts(pairs)
    assert found.answer == "Not enough evidence"
    assert "only 0 of 3 times settled" in found.answer_text
    assert found.counts == {"inconclusive": 3}


def test_cells_come_worst_first() -> None:
    pairs = [same("pack.a"), slower("pack.b", False), broken("pack.c", False), slower("pack.d", True)]
    found = [cell.cell.workload for cell in verdicts(pairs).cells]
    assert found == ["pack.c", "pack.d", "pack.b", "pack.a"]


def test_of_equal_verdicts_the_largest_change_comes_first() -> None:
    def by(factor: float, workload: str) -> Pair:
        return pair(side(series=series(compiled__wall_ms=1)), timed(factor), workload)

    found = [cell.cell.workload for cell in verdicts([by(1.1, "pack.a"), by(1.5, "pack.b")]).cells]
    assert found == ["pack.b", "pack.a"]


def name(workload: str) -> CellName:
    return CellName(workload, "n=4", "default", "cpu")


def test_candidates_are_the_bad_findings_that_no_rerun_has_seen() -> None:
    both = pair(side(series=series(compiled__wall_ms=1)), timed(1.2, facts={"graph_breaks": 1}), "pack.both")
    pairs = [
        same("pack.same"),
        slower("pack.slow", False),
        slower("pack.known", True),
        broken("pack.broken", False),
        wrong("pack.wrong", False),
        pair(side(), candidate({"recompiles": 2}), "pack.again"),
        pair(side(), candidate({"ops": 9}), "pack.changed"),
        pair(side(facts={"graph_breaks": 1}), candidate(), "pack.better"),
        both,
    ]
    found = candidates(verdicts(pairs))
    assert set(found.times) == {name("pack.slow"), name("pack.both")}
    assert set(found.exact) == {name("pack.broken"), name("pack.wrong"), name("pack.again")}


def test_what_a_rerun_contradicted_is_no_candidate_again() -> None:
    again = (side(112), candidate())
    contradicted = pair(side(), candidate({"graph_breaks": 1}), rerun=again)
    found = candidates(verdicts([contradicted]))
    assert (found.times, found.exact) == ((), ())


def test_what_a_rerun_found_again_is_no_candidate_again() -> None:
    known = slower("pack.a", True)
    apart = replace(known, interleaved=False)
    for one in (known, apart):
        assert candidates(verdicts([one])).times == ()
    assert verdicts([apart]).cells[0].confirmed is False


def test_confirmed_regressions_are_explained_and_no_others() -> None:
    lost = pair(None, failing(status="setup_error"), "pack.lost", candidate_definition="-")
    pairs = [same("pack.a"), slower("pack.b", False), slower("pack.c", True), wrong("pack.d", True), lost]
    found = verdicts(pairs)
    assert set(explainable(found)) == {name("pack.c"), name("pack.d")}
    assert "pack.lost" in found.excepted


def test_a_regression_of_an_environment_against_itself_is_the_machine_or_chance() -> None:
    found = compare(environment(), environment({"copy": 2}), [slower("pack.a", True)])
    cause = found.cells[0].findings[0].cause
    assert cause is not None
    assert cause.code == "same_environment"


def test_an_environment_against_itself_says_so_first() -> None:
    one = environment()
    found = compare(one, environment({"copy": 2}, run=1), alike(2))
    assert found.moved == ()
    assert "with itself" in found.warnings[0]


def test_a_machine_that_slows_down_for_both_sides_is_no_regression() -> None:
    # Replica by replica the machine gets slower, by half in the end; the sides take turns A B B A A B B A A B.
    level = [10 * (1 + 0.5 * place / 9) for place in range(10)]
    base = tuple(level[place] for place in (0, 3, 4, 7, 8))
    other = tuple(level[place] for place in (1, 2, 5, 6, 9))
    both = pair(side(series=series(base, compiled__wall_ms=1)), timed(1.0, other))
    (cell,) = verdicts([both]).cells
    assert cell.verdict in ("unchanged", "inconclusive")


def test_equal_sides_over_many_cells_are_seldom_suspected_and_never_hold() -> None:
    draw = random.Random(7)
    pairs = [
        pair(
            side(series=series(drawn(draw, 5, 0.015), compiled__wall_ms=1, compile__cold_s=1)),
            timed(1.0, drawn(draw, 5, 0.015)),
            f"pack.w{place}",
        )
        for place in range(400)
    ]
    found = verdicts(pairs)
    # statistics of the method: of 2,955 equal pairs 6 crossed both limits, 0.2%; 1% leaves room for luck.
    assert len(candidates(found).times) <= 4
    assert found.excepted == ()
    assert found.answer != "Hold"


def test_a_bucket_that_runs_earlier_code_is_explained_by_the_kernels_of_that() -> None:
    def bucket(number: int, factor: float, **facts: Any) -> Pair:
        kernels = () if facts else (kernel(body="old"),), () if facts else (kernel(body="new", id=44),)
        base = side(facts=facts, kernels=kernels[0], series=series(compiled__wall_ms=1))
        other = candidate(facts, kernels=kernels[1], series=series(compiled__wall_ms=factor))
        return pair(base, other, cell=CellName("pack.a", f"n={number}", "default", "cpu"))

    found = verdicts([bucket(1, 1.0), bucket(2, 1.2, reused_code=True)])
    (slow,) = [cell for cell in found.cells if cell.verdict == "regressed"]
    assert slow.cell.bucket == "n=2"
    cause = slow.findings[0].cause
    assert cause is not None
    assert cause.code == "kernels_changed"
    assert Evidence("kernel", 44, "candidate") in cause.evidence
    alone = verdicts([bucket(2, 1.2, reused_code=True)])
    assert alone.cells[0].findings[0].cause == Cause(None, "cause unknown")


def test_verdicts_are_json() -> None:
    found = verdicts(
        [*alike(2), slower("pack.a", True), broken("pack.b", False), pair(side(), None, "pack.c")]
    )
    read = json.loads(json.dumps(as_json(found)))
    assert read["answer"] == found.answer
    assert len(read["cells"]) == 5


def test_a_rerun_that_points_there_again_and_is_not_sure_clears_nothing() -> None:
    wide = (6.0, 7.0, 8.0, 10.0, 10.5, 12.0, 14.0, 16.0)
    again = (side(112, series=series(wide, compiled__wall_ms=1)), timed(1.37, wide))
    found = verdicts([*(same(f"pack.{n}") for n in range(9)), replace(slower("pack.a", False), rerun=again)])
    assert found.answer == "Not enough evidence"
    assert "unconfirmed regressions in pack.a" in found.answer_text
    (finding,) = [one for one in found.cells[0].findings if one.metric == "compiled.wall_ms"]
    assert (finding.verdict, finding.confirmed) == ("regressed", False)
    assert "rerun_undecided" in finding.reasons and finding.rerun is not None
    # It was rerun: what it lacks is replicas, not another rerun of the same size.
    assert candidates(found).times == ()


def test_a_rerun_that_regressed_unsettles_an_unchanged_time() -> None:
    again = (side(112, series=series(STEADY_8, compiled__wall_ms=1)), timed(1.3, STEADY_8))
    found = verdicts([same(f"pack.{n}", rerun=again) for n in range(4)])
    assert found.answer == "Not enough evidence"
    assert {cell.verdict for cell in found.cells} == {"inconclusive"}


@pytest.mark.parametrize(("timed_workloads", "answer"), [(5, "Upgrade"), (4, "Not enough evidence")])
def test_half_of_the_workloads_have_to_have_a_settled_time(timed_workloads: int, answer: str) -> None:
    cells = [same(f"pack.{n}") for n in range(timed_workloads)]
    cells += [pair(side(), candidate(), f"bare.{n}") for n in range(10 - timed_workloads)]
    found = verdicts(cells)
    assert found.answer == answer
    assert ("times settled in only 4 of 10 workloads" in found.answer_text) == (answer != "Upgrade")


def test_all_is_well_elsewhere_needs_a_look_elsewhere() -> None:
    # Thirty cells of the workload that regressed do not make up for those that were not compared.
    excepted = [
        replace(slower("pack.a", True), cell=CellName("pack.a", f"n={n}", "default", "cpu"))
        for n in range(30)
    ]
    rest = [*(same(f"pack.{n}") for n in range(9)), *(pair(side(), None, f"gone.{n}") for n in range(10))]
    found = verdicts([*excepted, *rest])
    assert found.answer == "Not enough evidence"
    assert "fewer than half of the cells compared" in found.answer_text
    assert verdicts([*excepted, *rest[:-1]]).answer == "Upgrade except"


def test_wrong_results_are_a_doubt_where_the_base_can_not_be_judged() -> None:
    unsure = pair(
        side(series=series(compiled__wall_ms=1), accuracy=accuracy("not_comparable")),
        timed(accuracy=accuracy("fail")),
        "pack.a",
    )
    found = verdicts([unsure, *(same(f"pack.{n}") for n in range(9))])
    assert found.answer == "Not enough evidence"
    assert "wrong results whose base can't be judged in pack.a" in found.answer_text


def built(number: int, **changes: Any) -> list[Pair]:
    """Cells of a card that is not there that are alike."""
    return [
        codegen(base_of(FUSED), candidate_of(FUSED), f"pack.w{place}", **changes) for place in range(number)
    ]


def test_cells_without_times_are_answered_from_facts_alone() -> None:
    found = verdicts(built(4))
    assert found.answer == "Upgrade"
    assert (
        found.answer_text
        == "Upgrade: no regression, facts only: no times on codegen targets; 4 of 4 cells compared."
    )
    # In two runs as well: what was not measured was not measured out of turn either.
    apart = verdicts(built(4, interleaved=False))
    assert apart.answer == "Upgrade" and not any("in turns" in one for one in apart.warnings)


def test_a_lost_fusion_in_one_workload_of_many_is_an_exception_once_it_is_confirmed() -> None:
    sides = (base_of(FUSED), candidate_of(*SPLIT))
    owed = verdicts([*built(4), codegen(*sides, "pack.lost")])
    assert owed.answer == "Not enough evidence" and "unconfirmed regressions in pack.lost" in owed.answer_text
    assert [one.workload for one in candidates(owed).exact] == ["pack.lost"]
    found = verdicts([*built(4), codegen(*sides, "pack.lost", rerun=sides)])
    assert (found.answer, found.excepted) == ("Upgrade except", ("pack.lost",))
    assert "facts only" in found.answer_text and "times" not in found.answer_text.replace("no times", "")
    # There is nothing to climb: no rung of it runs.
    assert explainable(found) == ()


def test_cells_without_times_leave_the_times_of_others_as_they_are() -> None:
    found = verdicts([*alike(3), *built(6)])
    assert found.answer == "Upgrade" and "3 of 3 times settled" in found.answer_text
    unsure = verdicts([*(unsettled(f"pack.w{place}") for place in range(3)), *built(6)])
    assert unsure.answer == "Not enough evidence" and "0 of 3 times settled" in unsure.answer_text
