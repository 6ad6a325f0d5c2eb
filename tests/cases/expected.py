"""What each program of `programs/` must be recorded as.

The counts follow from the programs by the rules of Dynamo that are noted beside them. ``error``: words of the error's
record, in small letters; every other key is a fact as `facts` of `test_cases` reads it.
"""

from __future__ import annotations

from typing import Any


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
# A graph was made, and the code that came of it refuses what the operator gives.
_LIE_IS_SEEN = {"break_sites": 0, "graphs": 1, "recompiles": 0, "status": "runtime_error"}
_WRONG = {"break_sites": 0, "graphs": 1, "status": "accuracy_failed", "accuracy": "fail"}
# Each length is compiled by itself.
_UNROLLED = {"break_sites": 0, "graphs": 2, "recompiles": 1, "accuracy": "pass"}
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
    # Inductor's code checks sizes and strides of what such an operator returns, and not its dtype.
    "fake_of_another_shape": {**_LIE_IS_SEEN, "error": "compilewatch_cases.all_but_last"},
    "fake_of_other_strides": {**_LIE_IS_SEEN, "error": "compilewatch_cases.by_columns"},
    "fake_of_whole_numbers": _WRONG,
    "fake_of_fractions": _WRONG,
    # Three operators a turn and one before them, of 2 and 9 turns; one a part, of 2 and 7 parts.
    "loop_unrolled_by_a_count": {**_UNROLLED, "ops": 1 + 3 * 2 + 1 + 3 * 9},
    "list_unrolled_by_its_length": {**_UNROLLED, "ops": 2 + 7},
    "slower_when_compiled": _RIGHT,
    "slower_by_an_operator": _RIGHT,
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
