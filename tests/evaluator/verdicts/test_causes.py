"""The likely cause of a regression is what changed beside it, with the ids of the rows that say so."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from evaluator.verdicts.cells import compare_cell
from evaluator.verdicts.findings import Cause, Evidence
from evaluator.verdicts.policy import Policy
from evaluator.verdicts.sides import Failure, Rung, Side
from evaluator.verdicts.words import REASONS
from tests.evaluator.verdicts.given import (
    accuracy,
    candidate,
    failing,
    guard,
    kernel,
    pair,
    rung,
    series,
    side,
    site,
    times,
)

WALL, COLD, WARM = "compiled.wall_ms", "compile.cold_s", "compile.warm_cache_s"


def cause(metric: str, base: Side, other: Side, rungs: tuple[Rung, ...] = (), dependencies: int = 1) -> Cause:
    compared = compare_cell(
        pair(base, other, rungs=rungs), Policy(), different_builds=False, dependencies=dependencies
    )
    (found,) = [one for one in compared.findings if one.metric == metric]
    assert found.verdict in ("regressed", "newly_failing"), found
    assert found.cause is not None
    if found.cause.code is not None:
        assert found.cause.code in REASONS
        assert found.cause.code in found.reasons
    return found.cause


def warm(
    base: Mapping[str, Any] | None = None, other: Mapping[str, Any] | None = None, eager: float = 1.0
) -> tuple[Side, Side]:
    """A warm time 10% up, eager by ``eager``."""
    return (
        side(**{"series": series(compiled__wall_ms=1, eager__wall_ms=1), **(base or {})}),
        candidate(**{"series": series(compiled__wall_ms=1.1, eager__wall_ms=eager), **(other or {})}),
    )


def compiled(
    base: Mapping[str, Any] | None = None, other: Mapping[str, Any] | None = None
) -> tuple[Side, Side]:
    """A cold compile that takes 10 s -> 15 s."""
    return (
        side(**{"series": series(compile__cold_s=1), **(base or {})}),
        candidate(**{"series": series(compile__cold_s=1.5), **(other or {})}),
    )


def test_eager_that_moved_as_well_says_operators() -> None:
    found = cause(WALL, *warm(eager=1.1))
    assert (found.code, found.layer) == ("operators_moved", "operators")
    assert found.evidence == (Evidence("evaluation", 12, "base"), Evidence("evaluation", 57, "candidate"))


def test_eager_that_moved_by_less_than_half_does_not() -> None:
    assert cause(WALL, *warm(eager=1.04)).code == "same_kernels"


def test_a_new_break_comes_before_the_kernels_it_brings() -> None:
    other = {"breaks": (site(id=31),), "kernels": (kernel(body="x"), kernel("cpp_fused_mul_1", "y"))}
    found = cause(WALL, *warm(other=other))
    assert (found.code, found.layer) == ("new_break", "dynamo")
    assert found.evidence == (Evidence("graph_break", 31, "candidate"),)
    assert "User-inserted graph break" in found.text
    assert "in forward (pack.py:15)" in found.text


def test_other_kernels_are_named_with_both_rows() -> None:
    found = cause(WALL, *warm(other={"kernels": (kernel(body="other", id=44),)}))
    assert (found.code, found.layer) == ("kernels_changed", "inductor")
    assert found.evidence == (Evidence("kernel", 1, "base"), Evidence("kernel", 44, "candidate"))
    assert "cpp_fused_add_0 changed" in found.text


def test_equal_kernels_exclude_code_generation_and_leave_the_cause_unknown() -> None:
    found = cause(WALL, *warm())
    assert found.code == "same_kernels"
    assert "cause unknown" in found.text


def test_without_any_evidence_the_cause_is_unknown() -> None:
    found = cause(WALL, *warm({"kernels": ()}, {"kernels": ()}))
    assert (found.code, found.text, found.evidence) == (None, "cause unknown", ())


def test_a_kernel_that_is_only_called_otherwise_is_no_cause() -> None:
    assert cause(WALL, *warm(other={"kernels": (kernel("cpp_fused_add_7"),)})).code == "same_kernels"


def test_the_ladder_adds_its_layer() -> None:
    rungs = tuple(
        rung(
            backend,
            side(201, series=series(compiled__wall_ms=1)),
            candidate(series=series(compiled__wall_ms=1)),
        )
        for backend in ("eager", "aot_eager")
    )
    found = cause(WALL, *warm(), rungs=rungs)
    assert (found.code, found.layer) == ("same_kernels", "inductor")
    assert "Inductor" in found.text
    unknown = cause(WALL, *warm({"kernels": ()}, {"kernels": ()}), rungs=rungs)
    assert (unknown.code, unknown.layer) == ("layer_moved", "inductor")
    assert Evidence("evaluation", 201, "base") in unknown.evidence


def test_the_ladder_knows_operators_where_the_cell_measured_no_eager() -> None:
    numbers = [series(compiled__wall_ms=factor, eager__wall_ms=factor) for factor in (1, 1.1)]
    rungs = (rung("eager", side(201, series=numbers[0]), candidate(series=numbers[1])),)
    base, other = warm({"series": series(compiled__wall_ms=1)}, {"series": series(compiled__wall_ms=1.1)})
    assert cause(WALL, base, other, rungs=rungs).code == "operators_moved"


@pytest.mark.parametrize(("flag", "said"), [("cache_missed", "missed"), ("cache_bypassed", "bypassed")])
def test_a_warm_cache_that_missed_on_the_candidate_only(flag: str, said: str) -> None:
    base = side(series={WARM: times(WARM)})
    other = candidate(series={WARM: times(WARM, 4, flags=[flag])})
    found = cause(WARM, base, other)
    assert found.code == "cache_missed"
    assert said in found.text
    assert found.evidence == (Evidence("evaluation", 57, "candidate"),)
    both = side(series={WARM: times(WARM, flags=[flag])})
    assert cause(WARM, both, other).code != "cache_missed"


def test_a_cold_compile_of_the_base_that_was_not_cold() -> None:
    base = side(series={COLD: times(COLD, flags=["cache_hit"])})
    assert cause(COLD, base, candidate(series={COLD: times(COLD, 2)})).code == "cache_hit"


@pytest.mark.parametrize(
    ("phase", "layer", "name"),
    [
        ("dynamo", "dynamo", "Dynamo"),
        ("aot_autograd", "aot_autograd", "AOTAutograd"),
        ("inductor", "inductor", "Inductor"),
        ("toolchain", "inductor", "C++"),
    ],
)
def test_one_phase_that_holds_most_of_a_cold_compile(phase: str, layer: str, name: str) -> None:
    # Every phase takes 2 s; one takes 4 s more, of 5 s that the whole takes more.
    phases = dict.fromkeys(
        ["compile__dynamo_s", "compile__aot_autograd_s", "compile__inductor_s", "compile__toolchain_s"], 0.2
    )
    base = {"series": series(compile__cold_s=1, **phases)}
    other = {"series": series(compile__cold_s=1.5, **{**phases, f"compile__{phase}_s": 0.6})}
    found = cause(COLD, *compiled(base, other))
    assert (found.code, found.layer) == ("phase_moved", layer)
    assert name in found.text
    assert "2.00 s -> 6.00 s, 80% of the difference" in found.text


def test_phases_that_share_the_difference_name_none() -> None:
    base = {"series": series(compile__cold_s=1, compile__dynamo_s=0.2, compile__inductor_s=0.2)}
    other = {"series": series(compile__cold_s=1.5, compile__dynamo_s=0.4, compile__inductor_s=0.4)}
    assert cause(COLD, *compiled(base, other)).code is None


def test_a_slower_toolchain_over_other_kernels_is_the_kernels() -> None:
    base = {"series": series(compile__cold_s=1, compile__toolchain_s=0.2)}
    other = {"series": series(compile__cold_s=1.5, compile__toolchain_s=0.6), "kernels": (kernel(body="x"),)}
    found = cause(COLD, *compiled(base, other))
    assert found.code == "kernels_changed"
    assert "the C++ or Triton compiler took" in found.text


def test_a_new_break_and_a_new_recompile_are_their_own_cause() -> None:
    found = cause("graph_breaks", side(), candidate({"graph_breaks": 1}, breaks=(site(id=31),)))
    assert (found.code, found.evidence) == ("new_break", (Evidence("graph_break", 31, "candidate"),))
    found = cause("recompiles", side(), candidate({"recompiles": 1}, guards=(guard(id=9),)))
    assert (found.code, found.evidence) == ("new_recompile", (Evidence("recompile", 9, "candidate"),))
    assert "expected 128, actual 512" in found.text


def test_more_breaks_without_a_row_that_shows_one_are_unexplained() -> None:
    assert cause("graph_breaks", side(), candidate({"graph_breaks": 1})).code is None


def test_code_that_ran_eager_because_the_limit_was_hit() -> None:
    hit = {"ran_eager": "some", "recompile_limit_hit": True}
    found = cause("ran_eager", side(), candidate(hit, guards=(guard(id=9),)))
    assert found.code == "limit_hit"
    assert found.evidence == (Evidence("recompile", 9, "candidate"),)
    assert cause("recompile_limit_hit", side(), candidate(hit, guards=(guard(id=9),))).code == "new_recompile"


def test_a_second_walk_that_compiles_says_which_guard() -> None:
    again = {"second_walk_compiles": 1, "evidence_second_walk": [{"reason": "k == 3", "function": "step"}]}
    found = cause("second_walk_compiles", side(), candidate(again))
    assert found.code == "new_recompile"
    assert "k == 3 in step" in found.text


def test_a_new_failure_says_what_was_raised_and_where() -> None:
    found = cause("status", side(), failing())
    assert (found.code, found.layer) == ("new_error", "inductor")
    assert "no such lowering" in found.text
    assert found.evidence == (Evidence("evaluation", 57, "candidate"),)
    raised = Failure("torch._dynamo.exc.BackendCompilerFailed", "backend='inductor' raised: ...")
    assert cause("status", side(), failing(failure=raised)).layer is None
    crashed = failing(status="crashed", failure=None, reason="ended by signal 11 (SIGSEGV)")
    assert "SIGSEGV" in cause("status", side(), crashed).text


def test_the_ladder_says_where_a_failure_begins() -> None:
    rungs = (rung("eager", side(), candidate()), rung("aot_eager", side(), failing()))
    assert cause("status", side(), failing(), rungs=rungs).layer == "aot_autograd"


def test_a_wrong_result_with_other_kernels_and_with_the_same() -> None:
    wrong = accuracy("fail", reason="off by 0.01")
    other = candidate(accuracy=wrong, kernels=(kernel(body="x"),))
    assert cause("accuracy", side(), other).code == "kernels_changed"
    assert cause("accuracy", side(), candidate(accuracy=wrong)).code == "same_kernels"


def test_more_than_one_dependency_is_said_with_every_cause() -> None:
    found = cause(WALL, *warm(other={"kernels": (kernel(body="x"),)}), dependencies=2)
    assert found.code == "kernels_changed"
    assert "more than one dependency moved" in found.text
    unknown = cause(WALL, *warm({"kernels": ()}, {"kernels": ()}), dependencies=2)
    assert unknown.code == "several_dependencies_moved"


def alone(metric: str, base: Side, other: Side, rungs: tuple[Rung, ...] = ()) -> Cause:
    """The cause where both sides are one environment."""
    compared = compare_cell(
        pair(base, other, rungs=rungs),
        Policy(),
        different_builds=False,
        dependencies=0,
        same_environment=True,
    )
    (found,) = [one for one in compared.findings if one.metric == metric]
    assert found.cause is not None
    assert "same_environment" in found.reasons
    assert "control" not in found.cause.text
    assert REASONS["same_environment"] in found.cause.text
    return found.cause


def test_in_an_environment_compared_with_itself_only_the_machine_or_chance_is_left() -> None:
    numbers = [series(compiled__wall_ms=factor) for factor in (1, 1.1)]
    rungs = (rung("eager", side(201, series=numbers[0]), candidate(series=numbers[1])),)
    for found in (
        alone(WALL, *warm()),
        alone(WALL, *warm(eager=1.1)),
        alone(WALL, *warm(), rungs=rungs),
        alone(COLD, *compiled({"kernels": ()}, {"kernels": ()})),
    ):
        assert (found.code, found.layer) == ("same_environment", None)
    changed = warm(other={"kernels": (kernel(body="x"),)})
    assert alone(WALL, *changed).code == "kernels_changed"
    assert alone("status", side(), failing()).code == "new_error"


def test_without_a_moved_dependency_in_other_environments_the_cause_stays_unknown() -> None:
    found = cause(WALL, *warm({"kernels": ()}, {"kernels": ()}), dependencies=0)
    assert (found.code, found.text) == (None, "cause unknown")


def test_kernels_of_a_lost_trace_are_not_said_to_be_the_same() -> None:
    base, other = warm()
    assert cause(WALL, base, replace(other, facts=None)).code is None


def test_a_rung_that_says_nothing_leaves_two_layers() -> None:
    numbers = [series(compiled__wall_ms=factor) for factor in (1, 1.1)]
    rungs = (rung("aot_eager", side(201, series=numbers[0]), candidate(series=numbers[1])),)
    changed = warm(other={"kernels": (kernel(body="x"),)})
    found = cause(WALL, *changed, rungs=rungs)
    # Other kernels alone would say Inductor; it shows below that already.
    assert (found.code, found.layer) == ("kernels_changed", None)
    assert "Dynamo or AOTAutograd" in found.text
