"""Small programs that mislead an evaluator, run through the real one: what was recorded of each.

Two forms of each kind of trap. They are captured and not compiled further where that is all the trap needs, and where
a compiler has to be wrong, the program brings one that is. The counts follow from the programs by the rules of Dynamo
that are noted beside them.
"""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from tests.evaluator.commandline import evaluator

# Five minutes of processor time.
pytestmark = [pytest.mark.slow, pytest.mark.timeout(2400)]

PROGRAMS = Path(__file__).parent / "programs"


def _captured(expected: dict[str, Any]) -> dict[str, Any]:
    """The same of a program of which nothing but a walk was asked for."""
    return {name: value for name, value in expected.items() if name != "accuracy"}


# Of ten constants eight are compiled, since torch stops at eight of one function; the last two run eager.
_LIMIT = {"break_sites": 0, "graphs": 8, "recompiles": 7, "recompile_limit_hit": True, "accuracy": "pass"}
# What comes after the break is a function of its own, with a graph of its own.
_TWO_PARTS = {"break_sites": 1, "break_events": 1, "graphs": 2, "recompiles": 0, "accuracy": "pass"}
# A break inside a loop can't be resumed: the frame is left to Python as a whole.
_SKIPPED = {"break_sites": 1, "graphs": 0, "recompiles": 0, "nothing_compiled": True}
# The second size compiles dynamic code, the third runs it; a size of one is compiled by itself.
_DYNAMIC = {"break_sites": 0, "graphs": 3, "recompiles": 2, "accuracy": "pass"}
_RIGHT = {"break_sites": 0, "graphs": 1, "recompiles": 0, "accuracy": "pass", "differences": set()}
_RANDOM = {"graphs": 1, "recompiles": 0, "accuracy": "not_comparable"}
_WRONG = {"break_sites": 0, "graphs": 1, "status": "accuracy_failed", "accuracy": "fail"}
# An error of what compiles graphs is no graph break.
_REFUSED = {"break_sites": 0, "break_events": 0, "graphs": 0, "status": "compile_error"}
# Dynamo wrote code of its own up to the break, and no operator is in it.
_COMPILED_PYTHON = {"break_sites": 1, "graphs": 0, "recompiles": 0, "nothing_compiled": True}

EXPECTED: dict[str, dict[str, Any]] = {
    "limit_by_int": _LIMIT,
    "limit_by_text": _captured(_LIMIT),
    "item_in_the_middle": _TWO_PARTS,
    "float_of_a_tensor": _TWO_PARTS,
    "break_in_a_for_loop": _SKIPPED,
    "print_in_a_loop": _SKIPPED,
    # Up to the condition, and a turn of the loop up to the condition again.
    "loop_until": {"break_sites": 1, "graphs": 2, "recompiles": 0, "accuracy": "pass"},
    # Two functions of two sizes: one place, two events; both functions are compiled again.
    "print_between_layers": {
        "break_sites": 1,
        "break_events": 2,
        "graphs": 4,
        "recompiles": 2,
        "accuracy": "pass",
    },
    # Three functions; the third size runs what was made dynamic for the second.
    "break_by_decree": {
        "break_sites": 2,
        "break_events": 4,
        "graphs": 6,
        "recompiles": 3,
    },
    # Up to the branch, and each way when it is first taken; that is no recompile.
    "branch_on_the_mean": {
        "break_sites": 1,
        "break_events": 1,
        "graphs": 3,
        "recompiles": 0,
        "accuracy": "pass",
    },
    "size_one_comes_last": _captured(_DYNAMIC),
    "length_one_comes_last": _captured(_DYNAMIC),
    "gradients_on_and_off": {"break_sites": 0, "graphs": 2, "recompiles": 1, "accuracy": "pass"},
    "not_to_be_compiled": {"break_sites": 1, "graphs": 0, "recompiles": 0, "nothing_compiled": True},
    "one_graph_or_none": {"graphs": 0, "status": "compile_error", "error": "data-dependent branching"},
    "operator_without_a_fake": {"graphs": 0, "status": "compile_error", "error": "fake"},
    "argument_changed_in_place": _RIGHT,
    "result_is_a_view": _RIGHT,
    "nan_in_the_same_places": _RIGHT,
    "tree_of_results": _RIGHT,
    "dropout_left_on": _RANDOM,
    "noise_of_torch": _RANDOM,
    # No seed of torch reaches NumPy's generator, so that it has moved must be seen.
    "noise_of_numpy": _RANDOM,
    # Left to Python, where one seed gives both sides the same number.
    "noise_of_python": _TWO_PARTS,
    "state_over_calls": _RIGHT,
    "total_in_a_closure": _RIGHT,
    "shared_weight_trains": _RIGHT,
    "one_parameter_twice": _RIGHT,
    "results_of_every_kind": _RIGHT,
    "whole_numbers_that_wrap": _RIGHT,
    "gradient_through_complex_numbers": _RIGHT,
    "list_changed_in_place": _RIGHT,
    "no_arguments": _RIGHT,
    "numbers_alone": _RIGHT,
    "autocast_inside": _RIGHT,
    "autocast_around_a_layer": _RIGHT,
    # Both ways are in the one graph. Eager compiles these by itself when it is timed, which is no compile of a walk.
    "two_ways_by_operator": {**_RIGHT, "second_walk_compiles": 0},
    "attention_by_a_function": {**_RIGHT, "second_walk_compiles": 0},
    "leaves_a_mark": _RIGHT,
    "leaves_no_mark": _RIGHT,
    "determinism_on_and_off": {"break_sites": 0, "graphs": 2, "recompiles": 1},
    "library_breaks_first": _COMPILED_PYTHON,
    "nothing_around_a_break": {"graphs": 0, "recompiles": 0, "nothing_compiled": True},
    "library_without_a_fake": {"break_sites": 1, "recompiles": 0, "accuracy": "pass", "status": "ok"},
    "break_in_a_whole_graph": {"graphs": 0, "status": "compile_error", "error": "graph_break()"},
    "backend_refuses": {**_REFUSED, "error": "no cosine here"},
    "overlapping_write": {**_REFUSED, "error": "internal overlap"},
    "compiler_is_missing": {**_REFUSED, "error": "no-such-compiler"},
    "compiler_fails": {**_REFUSED, "error": "no working c++ compiler found"},
    "large_number_off_by_one": _WRONG,
    "nan_in_other_places": _WRONG,
    "change_of_an_argument_is_lost": _WRONG,
    "change_of_a_buffer_is_lost": _WRONG,
    "remainder_of_a_large_sum": {"graphs": 1, "accuracy": "not_comparable"},
    "spread_of_a_constant": {"graphs": 1, "accuracy": "not_comparable"},
    "columns_become_rows": {**_RIGHT, "differences": {"stride"}},
    "copies_where_eager_repeats": {**_RIGHT, "differences": {"stride"}},
    "type_of_a_result_is_lost": {**_RIGHT, "differences": {"type"}},
    "parameter_becomes_a_tensor": {**_RIGHT, "differences": {"type", "requires_grad"}},
    "only_eager_raises": {"graphs": 1, "status": "runtime_error", "error": "eager: six is too many"},
    # The second bucket reuses the graph of the first.
    "check_is_compiled_away": {"graphs": 1, "status": ["ok", "runtime_error"], "error": "eager: "},
    # A function of its own for each of the two calls of a size, and again in the second walk.
    "function_made_for_each_call": {"graphs": 4, "recompiles": 3, "second_walk_compiles": 4},
    "optimizer_made_for_each_call": {"status": "not_comparable", "accuracy": "pass"},
    "dies_while_compiling": {"graphs": 2, "status": ["ok", "crashed", "ok"]},
    "aborts_while_running": {"graphs": 1, "status": "crashed"},
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where all programs were recorded in one real run."""
    folder = tmp_path_factory.mktemp("cases")
    done = evaluator(
        folder, "run", "--workloads", str(PROGRAMS), "--no-packs", "--profile", "quick", timeout=2300
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return folder


@pytest.fixture(scope="module")
def recorded(folder: Path) -> dict[str, list[dict[str, Any]]]:
    """Every evaluation, by program."""
    document = json.loads(evaluator(folder, "show", "latest", "--json").stdout)
    found: dict[str, list[dict[str, Any]]] = {}
    for one in document["evaluations"]:
        found.setdefault(one["workload"], []).append(one)
    return found


def facts(evaluations: list[dict[str, Any]], name: str) -> Any:
    """A fact of a program over all its buckets: counts added up, flags if any bucket has them."""
    if name == "break_sites":
        return len({(one["file"], one["line"]) for each in evaluations for one in each["breaks"]})
    if name == "accuracy":
        verdicts = {(each["accuracy"] or {}).get("verdict") for each in evaluations}
        return verdicts.pop() if len(verdicts) == 1 else verdicts
    if name == "status":
        statuses = [each["status"] for each in evaluations]
        return statuses[0] if len(set(statuses)) == 1 else statuses
    if name == "differences":
        return {one["kind"] for each in evaluations for one in each["differences"]}
    values = [each["facts"].get(name) for each in evaluations]
    return any(values) if any(isinstance(one, bool) for one in values) else sum(values)


def test_every_program_is_expected_to_do_something() -> None:
    assert {path.stem for path in PROGRAMS.glob("*.py")} == set(EXPECTED)


@pytest.mark.parametrize("program", list(EXPECTED))
def test_program_is_recorded_as_it_is(program: str, recorded: dict[str, list[dict[str, Any]]]) -> None:
    evaluations = recorded[program]
    expected = dict(EXPECTED[program])
    error = expected.pop("error", None)
    assert {name: facts(evaluations, name) for name in expected} == expected
    if error is not None:
        failed = [json.dumps(each["error"]).lower() for each in evaluations if each["error"]]
        assert failed and all(error in text for text in failed)


def test_what_ran_eager_after_the_limit_has_no_compiled_time(
    recorded: dict[str, list[dict[str, Any]]],
) -> None:
    for program in ("limit_by_int", "limit_by_text"):
        eager = [each["facts"]["ran_eager"] for each in recorded[program]]
        assert eager == ["none"] * 8 + ["all"] * 2


def test_what_a_workload_prints_is_kept_and_harms_nothing(
    folder: Path, recorded: dict[str, list[dict[str, Any]]]
) -> None:
    assert {one["status"] for one in recorded["print_between_layers"]} == {"ok"}
    with sqlite3.connect(folder / "r.db") as connection:
        tails = [tail for (tail,) in connection.execute("SELECT log_tail FROM probe") if tail]
    assert any("rows 3" in tail for tail in tails)


def test_where_no_graph_ran_there_is_no_compiled_time(recorded: dict[str, list[dict[str, Any]]]) -> None:
    idle = [
        (program, each)
        for program, evaluations in recorded.items()
        for each in evaluations
        if each["facts"]["graphs"] == 0 and each["facts"]["nothing_compiled"] and not each["error"]
    ]
    assert {"break_in_a_for_loop", "not_to_be_compiled", "library_breaks_first"} <= {name for name, _ in idle}
    for program, each in idle:
        assert each["facts"]["ran_eager"] == "all", program
        assert each["metrics"]["compiled.wall_ms"]["median"] is None, program
        assert each["metrics"]["eager.wall_ms"]["median"] > 0, program


def test_what_is_called_after_the_walks_belongs_to_neither(
    recorded: dict[str, list[dict[str, Any]]],
) -> None:
    again = [one["facts"]["second_walk_compiles"] for one in recorded["function_made_for_each_call"]]
    assert again == [2, 2]


@pytest.mark.parametrize("program", ["two_ways_by_operator", "attention_by_a_function"])
def test_an_operator_over_functions_is_compared_with_float64(
    program: str, recorded: dict[str, list[dict[str, Any]]]
) -> None:
    for each in recorded[program]:
        assert each["accuracy_series"]["default"]["details"]["reference"] == "float64"
        assert each["accuracy"]["rmse_fp64"] < 1e-6


@pytest.mark.parametrize("program", ["autocast_inside", "autocast_around_a_layer"])
def test_the_dtype_that_autocast_gives_is_kept(
    program: str, recorded: dict[str, list[dict[str, Any]]]
) -> None:
    (one,) = recorded[program]
    leaves = one["accuracy_series"]["default"]["details"]["digests"]
    assert [(leaf["leaf"], leaf["dtype"]) for leaf in leaves] == [("out", "bfloat16")]
