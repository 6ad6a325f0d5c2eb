"""What differs between two sides' evidence: matched by what things are, one to one, and never by where they stand."""

from __future__ import annotations

import itertools
from collections import Counter
from dataclasses import replace

import pytest

from evaluator.verdicts.diffs import (
    break_changes,
    differences_of,
    error_change,
    guard_changes,
    kernel_changes,
    other_kernels,
    phase_changes,
)
from evaluator.verdicts.findings import Differences, Evidence
from evaluator.verdicts.sides import Failure
from tests.evaluator.verdicts.given import candidate, failing, guard, kernel, series, side, site


def test_a_break_whose_line_moved_is_moved_and_neither_added_nor_removed() -> None:
    (found,) = break_changes([site(line=15)], [site(line=19, id=7)])
    assert (found.change, found.base, found.candidate) == ("moved", "pack.py:15", "pack.py:19")
    assert found.evidence == (Evidence("graph_break", 1, "base"), Evidence("graph_break", 7, "candidate"))


def test_a_break_in_another_function_is_another_break() -> None:
    found = break_changes([site()], [site(function="loss", id=8)])
    assert [(one.change, one.function) for one in found] == [("added", "loss"), ("removed", "forward")]
    assert found[0].evidence == (Evidence("graph_break", 8, "candidate"),)


def test_the_same_kind_of_break_worded_otherwise_is_the_same() -> None:
    assert break_changes([site(reason="old words")], [site(reason="new words")]) == ()


def test_without_an_id_breaks_are_matched_by_their_words() -> None:
    (found,) = break_changes([site(break_id=None)], [site(line=99)])
    assert found.change == "moved"
    old, new = site(break_id=None, reason="a", line=1), site(break_id=None, reason="b", line=2)
    assert [one.change for one in break_changes([old], [new])] == ["added", "removed"]


def test_one_place_that_torch_now_calls_otherwise_is_no_other_break() -> None:
    assert break_changes([site(reason="a")], [site(reason="b", break_id="gb0170")]) == ()


def test_the_function_behind_resumed_code_is_the_users() -> None:
    resumed = site(function="torch_dynamo_resume_in_forward_at_12")
    assert break_changes([site()], [resumed]) == ()


def test_equal_breaks_are_matched_one_to_one() -> None:
    found = break_changes([site(line=1), site(line=2)], [site(line=1), site(line=2), site(line=3, id=9)])
    assert [(one.change, one.candidate) for one in found] == [("added", "pack.py:3")]


def test_guards_are_matched_by_text_and_function() -> None:
    assert guard_changes([guard(line=3)], [guard(line=9, id=4)]) == ()
    (found,) = guard_changes([], [guard(id=4)])
    assert (found.change, found.evidence) == ("added", (Evidence("recompile", 4, "candidate"),))


def test_addresses_in_guards_make_no_difference() -> None:
    one = guard(reason="___check_obj_id(w, 139872139872)", guard="w")
    assert guard_changes([one], [replace(one, reason="___check_obj_id(w, 94873249732)")]) == ()


def test_guards_worded_otherwise_are_matched_by_the_value_they_are_about() -> None:
    assert guard_changes([guard()], [guard(reason="x.size()[0] == 128")]) == ()
    assert len(guard_changes([guard()], [guard(reason="y.size()[0] == 128", guard="y")])) == 2


@pytest.mark.parametrize(("before", "after"), list(itertools.product(range(4), repeat=2)))
def test_one_more_failure_of_a_guard_is_one_added(before: int, after: int) -> None:
    changes = guard_changes([guard()] * before, [guard()] * after)
    expected = {"added": max(0, after - before), "removed": max(0, before - after)}
    assert Counter(one.change for one in changes) == Counter(expected)


def test_equal_bodies_are_one_kernel_whatever_they_are_called_and_wherever_they_lie() -> None:
    base = [kernel("a_0", "x"), kernel("b_1", "y"), kernel("c_2", "z")]
    moved = [kernel("c_2", "z", graph="1/0"), kernel("a_0", "x", id=5), kernel("b_1", "y")]
    assert kernel_changes(base, moved) == ()
    (found,) = kernel_changes(base, [*moved[:2], kernel("called_otherwise_0", "y", id=8)])
    assert (found.change, found.name) == ("renamed", "called_otherwise_0")
    assert other_kernels([found]) == ()


def test_one_name_with_another_body_is_changed_and_says_both_sources() -> None:
    (found,) = kernel_changes([kernel(body="old")], [kernel(body="new", id=6)])
    assert (found.change, found.name) == ("changed", "cpp_fused_add_0")
    assert (found.base_source, found.candidate_source) == ("text of old", "text of new")
    assert found.evidence == (Evidence("kernel", 1, "base"), Evidence("kernel", 6, "candidate"))


def test_the_number_at_the_end_of_a_kernels_name_only_counts_it() -> None:
    (found,) = kernel_changes([kernel("cpp_fused_add_0", "old")], [kernel("cpp_fused_add_3", "new")])
    assert found.change == "changed"


def test_forward_and_backward_kernels_of_one_name_are_not_taken_for_each_other() -> None:
    base, other = kernel(body="old", origin="forward"), kernel(body="new", origin="backward")
    assert [one.change for one in kernel_changes([base], [other])] == ["added", "removed"]


def test_other_names_with_other_bodies_are_added_and_removed() -> None:
    found = kernel_changes([kernel("a_0", "x")], [kernel("b_0", "y")])
    assert [(one.change, one.name) for one in found] == [("added", "b_0"), ("removed", "a_0")]


def test_library_calls_have_no_body_and_are_compared_by_name() -> None:
    base = [kernel("extern_kernels.mm", None), kernel("extern_kernels.mm", None)]
    assert kernel_changes(base, base[::-1]) == ()
    found = kernel_changes(base, [kernel("extern_kernels.mm", None), kernel("extern_kernels.addmm", None)])
    assert [(one.change, one.name) for one in found] == [
        ("added", "extern_kernels.addmm"),
        ("removed", "extern_kernels.mm"),
    ]


def test_every_order_of_the_same_evidence_is_the_same() -> None:
    breaks = [site(line=1), site(line=2, function="loss"), site(line=3, break_id="gb0170")]
    kernels = [kernel("a_0", "x"), kernel("a_0", "y"), kernel("extern_kernels.mm", None)]
    base = side(
        breaks=tuple(breaks), kernels=tuple(kernels), guards=(guard(), guard(reason="k == 1", guard="k"))
    )
    for order in itertools.permutations(range(3)):
        other = candidate(
            breaks=tuple(breaks[place] for place in order),
            kernels=tuple(kernels[place] for place in order),
            guards=base.guards[::-1],
        )
        assert differences_of(base, other) == Differences()


@pytest.mark.parametrize("status", ["crashed", "compile_error", "unsupported", None])
def test_what_a_side_without_a_result_lacks_was_not_removed(status: str | None) -> None:
    whole = side(breaks=(site(),), guards=(guard(),), series=series(compile__dynamo_s=1))
    broken = failing(status="crashed", series=series(compile__dynamo_s=2), breaks=(site(line=99),))
    broken = replace(broken, status=status)
    for ours, theirs in ((whole, broken), (broken, whole)):
        found = differences_of(ours, theirs)
        assert found.error is not None
        assert replace(found, error=None) == Differences()


def test_what_a_lost_trace_lacks_was_not_removed() -> None:
    whole = side(breaks=(site(),), guards=(guard(),))
    lost = replace(candidate(kernels=()), facts=None)
    assert differences_of(whole, lost) == differences_of(lost, whole) == Differences()
    # One that is there and has none is another matter.
    assert {one.change for one in differences_of(whole, candidate()).breaks} == {"removed"}


def test_phases_are_medians_of_those_that_both_sides_measured() -> None:
    base = side(series=series((1.0, 2.0, 9.0), compile__dynamo_s=1, compile__inductor_s=2))
    other = candidate(series=series((3.0, 1.0, 2.0, 8.0), compile__inductor_s=1))
    (found,) = phase_changes(base, other)
    assert (found.metric, found.base, found.candidate) == ("compile.inductor_s", 4.0, 2.5)


def test_errors_differ_by_what_they_say() -> None:
    one = Failure("InductorError", 'no lowering for foo\n  File "/opt/a/m.py", line 3, in f')
    same = Failure("InductorError", 'no lowering for foo\n  File "/opt/b/m.py", line 9, in f')
    other = Failure("InductorError", "no lowering for bar")
    assert error_change(one, same) is None
    assert error_change(None, None) is None
    found = error_change(one, other)
    assert found is not None
    assert found[1] == "InductorError: no lowering for bar"
    assert error_change(None, other) == (None, "InductorError: no lowering for bar")
