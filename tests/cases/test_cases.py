"""Small programs that mislead an evaluator, run through the real one: what was recorded of each.

Two forms of each kind of trap. They are captured and not compiled further where that is all the trap needs, and where
a compiler has to be wrong, the program brings one that is.
"""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from tests.cases.expected import EXPECTED
from tests.evaluator.commandline import evaluator

# Five minutes of processor time.
pytestmark = [pytest.mark.slow, pytest.mark.timeout(2400)]

PROGRAMS = Path(__file__).parent / "programs"


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


@pytest.mark.parametrize(
    ("program", "ops"), [("loop_unrolled_by_a_count", [7, 28]), ("list_unrolled_by_its_length", [2, 7])]
)
def test_each_length_of_an_unrolled_loop_has_a_compile_time_of_its_own(
    program: str, ops: list[int], recorded: dict[str, list[dict[str, Any]]]
) -> None:
    """A first compile in a process pays for what a second finds made, so that neither may be timed after the other."""
    assert [each["facts"]["ops"] for each in recorded[program]] == ops
    began = set()
    for each in recorded[program]:
        (cold,) = [one for one in each["probes"]["compile"]["processes"] if one["cache"] == "cold"]
        began.add(cold["started_at"])
        assert cold["facts"]["compiled_graphs"] == 1
        (seconds,) = each["metrics"]["compile.cold_s"]["samples"]
        assert 0 < each["metrics"]["compile.dynamo_s"]["median"] < seconds < cold["duration_s"]
        assert each["metrics"]["walk.first_call_s"]["median"] > 0
    assert len(began) == 2


@pytest.mark.parametrize("program", ["slower_when_compiled", "slower_by_an_operator"])
def test_code_slower_than_eager_is_measured_as_it_is(
    program: str, recorded: dict[str, list[dict[str, Any]]]
) -> None:
    (one,) = recorded[program]
    assert one["status"] == "ok"
    protocol = one["timing"]["protocol"]
    # A call takes microseconds: a round is many of them, and as many on either side.
    assert protocol["repeats"] > 1
    for side in ("eager", "compiled"):
        measured = one["metrics"][f"{side}.wall_ms"]
        assert len(measured["samples"]) == protocol["rounds"]
        assert min(measured["samples"]) > 0
    # It sleeps for two milliseconds in each call, and the system never for less.
    assert min(one["metrics"]["compiled.wall_ms"]["samples"]) >= 2


@pytest.mark.parametrize("program", ["fake_of_another_shape", "fake_of_other_strides"])
def test_what_generated_code_refuses_is_no_error_of_the_compiler(
    program: str, recorded: dict[str, list[dict[str, Any]]]
) -> None:
    (one,) = recorded[program]
    assert one["reason"] == "the first call raised AssertionError"
    assert one["facts"]["failed_compiles"] == 0
    assert one["accuracy"] is None


@pytest.mark.parametrize(
    "program", ["fake_of_another_shape", "fake_of_other_strides", "backend_refuses", "overlapping_write"]
)
def test_what_raises_is_counted_up_to_there_and_unknown_beyond(
    program: str, recorded: dict[str, list[dict[str, Any]]]
) -> None:
    for each in recorded[program]:
        told = {
            name: each["facts"][name] for name in ("compile_starts", "mutates", "ran_eager", "whole_graph")
        }
        assert told == {"compile_starts": 1, "mutates": None, "ran_eager": None, "whole_graph": "untested"}
        # There was no second walk.
        assert each["facts"]["second_walk_compile_starts"] is None
        assert each["facts"]["second_walk_compiles"] is None


@pytest.mark.parametrize("program", ["fake_of_whole_numbers", "fake_of_fractions"])
def test_what_a_false_dtype_gives_is_wrong_in_silence_and_measured_to_the_end(
    program: str, recorded: dict[str, list[dict[str, Any]]]
) -> None:
    (one,) = recorded[program]
    assert one["error"] is None
    assert one["accuracy"]["verdict"] == "fail"
    assert one["metrics"]["compiled.wall_ms"]["median"] > 0


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
