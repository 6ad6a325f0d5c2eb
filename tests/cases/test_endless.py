"""Compiles that never end: each costs its time limit, says where it was, and takes nothing with it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from tests.evaluator import commandline

# Each costs the limit twice: once alone, and once in the walk for the evidence up to there.
pytestmark = [pytest.mark.slow, pytest.mark.timeout(1500)]

PROGRAMS = Path(__file__).parent / "endless"
# What does end takes about a second here; a busy machine has the rest.
LIMIT_S = 30
# No other process sleeps for this long, beside other runs of these tests too.
SLEEP = str(20_000_000 + os.getpid())

ENDLESS = {
    "unrolled_without_end": "turns=50000000",
    "compiler_waits_for_its_child": "n=5",
    "backward_without_end": "rows=4",
}


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, str], dict[str, Any]]:
    """Every evaluation of one real run, by program and bucket; a sound workload comes after those that hang."""
    folder = tmp_path_factory.mktemp("endless")
    sound = commandline.write_workload(folder, "sound")
    command = ["run", "--no-packs", "--workloads", str(PROGRAMS), "--workloads", str(sound)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COMPILEWATCH_TEST_SLEEP", SLEEP)
        done = commandline.evaluator(folder, *command, "--timeout", str(LIMIT_S), timeout=1400)
    assert done.returncode == 0, done.stderr[-2000:]
    document = commandline.document(folder)
    assert document["run"]["status"] == "finished"
    return {(one["workload"], one["bucket"]): one for one in document["evaluations"]}


def test_every_program_never_ends_somewhere() -> None:
    assert {path.stem for path in PROGRAMS.glob("*.py")} == set(ENDLESS)


@pytest.mark.parametrize("program", list(ENDLESS))
def test_a_compile_without_end_is_a_timeout_with_its_stage_and_limit(
    program: str, recorded: dict[tuple[str, str], dict[str, Any]]
) -> None:
    one = recorded[program, ENDLESS[program]]
    assert one["status"] == "timeout"
    assert one["reason"] == f"no end within {LIMIT_S} s; last stage reached: compile"
    (cold,) = [each for each in one["probes"]["compile"]["processes"] if each["cache"] == "cold"]
    (walk,) = one["probes"]["walk"]["processes"]
    for process in (cold, walk):
        assert (process["status"], process["stage"]) == ("timeout", "compile")
        assert process["limits"]["time_s"] == LIMIT_S <= process["duration_s"]


@pytest.mark.parametrize("program", list(ENDLESS))
def test_the_limit_is_paid_once_alone_and_once_in_the_walk(
    program: str, recorded: dict[tuple[str, str], dict[str, Any]]
) -> None:
    one = recorded[program, ENDLESS[program]]
    ended = [
        (probe, each["cache"], each["status"])
        for probe, of in one["probes"].items()
        for each in of["processes"]
        if each["status"] != "skipped"
    ]
    assert sorted(ended, key=str) == [("compile", "cold", "timeout"), ("walk", None, "timeout")]


@pytest.mark.parametrize("program", list(ENDLESS))
def test_what_was_cut_off_has_no_number_and_claims_nothing(
    program: str, recorded: dict[tuple[str, str], dict[str, Any]]
) -> None:
    one = recorded[program, ENDLESS[program]]
    assert all(number is None for metric in one["metrics"].values() for number in metric["samples"])
    assert one["accuracy"] is None
    facts = one["facts"]
    assert facts["ran_eager"] is None
    assert facts["whole_graph"] == "untested"
    assert not facts["nothing_compiled"]


def test_graphs_count_up_to_where_it_stopped(recorded: dict[tuple[str, str], dict[str, Any]]) -> None:
    def graphs(program: str) -> list[int]:
        return [each["facts"]["graphs"] for (name, _), each in recorded.items() if name == program]

    assert graphs("unrolled_without_end") == [0]
    # The forward graph was there; the backward one never was.
    assert graphs("backward_without_end") == [1]
    assert recorded["backward_without_end", "rows=4"]["facts"]["backward_graphs"] == 0
    # Sizes 3 and 8, each compiled by itself.
    assert graphs("compiler_waits_for_its_child") == [1, 0, 1]


def test_buckets_and_workloads_beside_it_are_measured(
    recorded: dict[tuple[str, str], dict[str, Any]],
) -> None:
    beside = [("compiler_waits_for_its_child", "n=3"), ("compiler_waits_for_its_child", "n=8")]
    beside += [("sound", "n=4"), ("sound", "n=8")]
    for place in beside:
        assert recorded[place]["status"] == "ok", place
        for metric in ("compile.cold_s", "compiled.wall_ms"):
            assert recorded[place]["metrics"][metric]["median"] > 0, place


def test_what_a_hanging_compiler_started_is_ended_with_it(
    recorded: dict[tuple[str, str], dict[str, Any]],
) -> None:
    assert recorded["compiler_waits_for_its_child", "n=5"]["status"] == "timeout"
    assert commandline.processes_with(SLEEP) == []
    (cold,) = [
        each
        for each in recorded["compiler_waits_for_its_child", "n=5"]["probes"]["compile"]["processes"]
        if each["cache"] == "cold"
    ]
    assert cold["facts"]["leftover_processes"] == 1
