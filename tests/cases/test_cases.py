"""Small programs that mislead an evaluator, run through the real one: what was recorded of each.

Two of a form for most kinds of trap. They are captured and not compiled further where that is all the trap needs. The
counts follow from the programs by the rules of Dynamo that are noted beside them.
"""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from tests.evaluator.commandline import evaluator

pytestmark = pytest.mark.slow

PROGRAMS = Path(__file__).parent / "programs"

# Of ten constants eight are compiled, since torch stops at eight of one function; the last two run eager.
_LIMIT = {"break_sites": 0, "graphs": 8, "recompiles": 7, "recompile_limit_hit": True, "accuracy": "pass"}
# What comes after the break is a function of its own, with a graph of its own.
_TWO_PARTS = {"break_sites": 1, "break_events": 1, "graphs": 2, "recompiles": 0, "accuracy": "pass"}
# A break inside a loop can't be resumed: the frame is left to Python as a whole.
_SKIPPED = {"break_sites": 1, "graphs": 0, "recompiles": 0, "nothing_compiled": True}
# The second size compiles dynamic code, the third runs it; a size of one is compiled by itself.
_DYNAMIC = {"break_sites": 0, "graphs": 3, "recompiles": 2, "accuracy": "pass"}
_RIGHT = {"break_sites": 0, "graphs": 1, "recompiles": 0, "accuracy": "pass"}

EXPECTED: dict[str, dict[str, Any]] = {
    "limit_by_int": _LIMIT,
    "limit_by_text": _LIMIT,
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
        "accuracy": "pass",
    },
    # Up to the branch, and each way when it is first taken; that is no recompile.
    "branch_on_the_mean": {
        "break_sites": 1,
        "break_events": 1,
        "graphs": 3,
        "recompiles": 0,
        "accuracy": "pass",
    },
    "size_one_comes_last": _DYNAMIC,
    "length_one_comes_last": _DYNAMIC,
    "gradients_on_and_off": {"break_sites": 0, "graphs": 2, "recompiles": 1, "accuracy": "pass"},
    "not_to_be_compiled": {"break_sites": 1, "graphs": 0, "recompiles": 0, "nothing_compiled": True},
    "one_graph_or_none": {"graphs": 0, "status": "compile_error", "error": "data-dependent branching"},
    "operator_without_a_fake": {"graphs": 0, "status": "compile_error", "error": "fake"},
    "argument_changed_in_place": _RIGHT,
    "result_is_a_view": _RIGHT,
    "nan_in_the_same_places": _RIGHT,
    "tree_of_results": _RIGHT,
    "dropout_left_on": {"graphs": 1, "recompiles": 0, "accuracy": "not_comparable"},
    "state_over_calls": _RIGHT,
    "shared_weight_trains": _RIGHT,
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where all programs were recorded in one real run."""
    folder = tmp_path_factory.mktemp("cases")
    done = evaluator(
        folder, "run", "--workloads", str(PROGRAMS), "--no-packs", "--profile", "quick", timeout=900
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
        statuses = {each["status"] for each in evaluations}
        return statuses.pop() if len(statuses) == 1 else statuses
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
        assert all(error in json.dumps(each["error"]).lower() for each in evaluations)


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
