"""The order of a run's units, their steps, their cache folders."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from evaluator.plan import PROFILES, Unit, plan
from evaluator.selection import Cell


def cells(
    workload: str, buckets: Sequence[str], variant: str = "default", evidence: bool = False
) -> list[Cell]:
    return [Cell(workload, "h", bucket, variant, "cpu", evidence_only=evidence) for bucket in buckets]


def kinds(units: Sequence[Unit]) -> list[str]:
    return [f"{unit.kind} {'+'.join(unit.buckets)}" for unit in units]


def test_profiles_are_one_five_and_eight_replicas() -> None:
    assert PROFILES == {"quick": 1, "standard": 5, "thorough": 8}


def test_a_workload_of_one_replica() -> None:
    units = plan([cells("w", ["a", "b"])], 1)
    assert kinds(units) == ["compile a", "compile b", "walk a+b", "accuracy a+b", "memory a", "memory b"]


def test_later_replicas_only_compile_and_time() -> None:
    units = plan([cells("w", ["a", "b"])], 3)
    assert kinds([unit for unit in units if unit.replica == 2]) == ["compile a", "compile b", "walk a+b"]


def test_on_a_gpu_each_replica_measures_the_memory_of_compiled_calls() -> None:
    on_gpu = [replace(cell, target="cuda") for cell in cells("w", ["a", "b"])]
    units = plan([on_gpu], 2)
    modes = [[step.mode for step in unit.steps] for unit in units if unit.kind == "memory"]
    assert modes == [["eager", "compiled"]] * 2 + [["compiled"]] * 2
    # With the caches that the same replica's cold compile left.
    folders = {
        (unit.replica, unit.kind, unit.buckets): {step.folder for step in unit.steps} for unit in units
    }
    for replica in (0, 1):
        for bucket in ("a", "b"):
            assert folders[replica, "memory", (bucket,)] == folders[replica, "compile", (bucket,)]


def test_replicas_come_one_after_the_other_over_all_workloads() -> None:
    units = plan([cells("v", ["a"]) + cells("w", ["a"])], 2)
    order = list(dict.fromkeys((unit.replica, unit.workload) for unit in units))
    assert order == [(0, "v"), (0, "w"), (1, "v"), (1, "w")]


def test_environments_take_turns_at_going_first() -> None:
    units = plan([cells("w", ["a"]), cells("w", ["a"])], 4)
    order = list(dict.fromkeys((unit.replica, unit.environment) for unit in units))
    assert order == [(0, 0), (0, 1), (1, 1), (1, 0), (2, 0), (2, 1), (3, 1), (3, 0)]


def test_a_compile_is_cold_in_an_empty_folder_then_warm_in_the_same() -> None:
    (unit,) = [unit for unit in plan([cells("w", ["a"])], 1) if unit.kind == "compile"]
    assert [(step.probe, step.cache, step.buckets) for step in unit.steps] == [
        ("compile", "cold", ("a",)),
        ("compile", "warm", ("a",)),
    ]
    assert unit.steps[0].folder == unit.steps[1].folder


def test_every_cold_sample_and_every_walk_has_a_folder_of_its_own() -> None:
    both = cells("w", ["a", "b"]) + cells("w", ["a", "b"], variant="dynamic")
    units = plan([both, both], 3)
    filling = [unit.steps[0].folder for unit in units if unit.kind in ("compile", "walk")]
    assert len(filling) == len(set(filling)) == 2 * 2 * 3 * 3


def test_only_the_first_replica_is_traced_and_every_replica_is_timed() -> None:
    walks = [unit.steps[0] for unit in plan([cells("w", ["a"])], 3) if unit.kind == "walk"]
    assert [(step.traced, step.timing) for step in walks] == [(True, True), (False, True), (False, True)]
    assert walks[0].reports == ("walk", "timing")


def test_accuracy_uses_the_walks_caches_and_memory_the_first_cold_ones() -> None:
    units = {f"{unit.kind}{unit.buckets}": unit for unit in plan([cells("w", ["a", "b"])], 1)}
    assert units["accuracy('a', 'b')"].steps[0].folder == units["walk('a', 'b')"].steps[0].folder
    memory = units["memory('b',)"]
    assert {step.folder for step in memory.steps} == {units["compile('b',)"].steps[0].folder}
    assert [step.mode for step in memory.steps] == ["eager", "compiled"]


def test_traces_are_recorded_where_asked_in_the_first_replica_by_two_processes_of_the_walks_code() -> None:
    assert not [unit for unit in plan([cells("w", ["a", "b"])], 3) if unit.kind == "profile"]
    units = plan([cells("w", ["a", "b"])], 3, chrome_traces=True)
    (profile,) = [unit for unit in units if unit.kind == "profile"]
    (walk, *_) = [unit for unit in units if unit.kind == "walk"]
    assert profile.replica == 0
    assert [(step.mode, step.buckets) for step in profile.steps] == [
        ("eager", ("a", "b")),
        ("compiled", ("a", "b")),
    ]
    assert {step.folder for step in profile.steps} == {walk.steps[0].folder}
    # Of two processes one record, so that a resumed run knows it is there.
    assert profile.keys("b") == [(0, "profile", None)]
    assert units.index(profile) > units.index(walk)


def test_nothing_is_recorded_of_what_does_not_run_or_is_no_claim() -> None:
    evidence = cells("w", ["a"], variant="eager", evidence=True)
    assert not [one for one in plan([evidence], 1, chrome_traces=True) if one.kind == "profile"]
    card = [Cell("w", "h", "a", "default", "codegen:h100")]
    assert {one.kind for one in plan([card], 1, chrome_traces=True)} == {"walk"}


def test_a_folder_is_freed_once_after_its_last_use() -> None:
    units = plan([cells("w", ["a", "b"]), cells("w", ["a", "b"])], 2, chrome_traces=True)
    used = {step.folder for unit in units for step in unit.steps}
    freed = [folder for unit in units for folder in unit.frees]
    assert sorted(freed) == sorted(used)
    for index, unit in enumerate(units):
        later = {step.folder for one in units[index + 1 :] for step in one.steps}
        assert not later & set(unit.frees)
        assert (
            not {step.folder for one in units[: index + 1] for step in one.steps}
            - later
            - {folder for one in units[: index + 1] for folder in one.frees}
        )


def test_evidence_is_one_traced_walk_without_times() -> None:
    units = plan([cells("w", ["a", "b"], variant="eager", evidence=True)], 5)
    (unit,) = units
    (step,) = unit.steps
    assert (unit.kind, step.traced, step.timing, step.reports) == ("walk", True, False, ("walk",))


def test_the_keys_of_a_unit_are_those_of_its_records() -> None:
    units = {unit.kind: unit for unit in plan([cells("w", ["a"])], 1)}
    assert units["compile"].keys("a") == [(0, "compile", "cold"), (0, "compile", "warm")]
    assert units["walk"].keys("a") == [(0, "walk", None), (0, "timing", None)]
    # Two processes, one record: a mode is no cache state.
    assert units["memory"].keys("a") == [(0, "memory", None)]


def test_no_two_units_write_the_same_record() -> None:
    units = plan([cells("w", ["a", "b"]) + cells("v", ["a"])], 5, chrome_traces=True)
    keys = [
        (unit.environment, unit.workload, bucket, key)
        for unit in units
        for bucket in unit.buckets
        for key in unit.keys(bucket)
    ]
    assert len(keys) == len(set(keys))


def test_a_demand_for_one_graph_reaches_the_walk() -> None:
    strict = [Cell("w", "h", "a", "fullgraph", "cpu", fullgraph=True)]
    (walk,) = [unit.steps[0] for unit in plan([strict], 1) if unit.kind == "walk"]
    assert walk.fullgraph


def test_a_unit_says_which_it_is() -> None:
    both = [cells("w", ["a", "b"], variant="dynamic")] * 2
    labels = {unit.label for unit in plan(both, 2)}
    assert "w [dynamic] a: compile" in labels
    assert "w [dynamic] 2 buckets: walk (replica 1, python 1)" in labels


def test_nothing_to_do_is_no_units() -> None:
    assert plan([[]], 5) == []


def test_a_serial_plan_compiles_once_more_in_a_folder_of_its_own() -> None:
    (unit,) = [unit for unit in plan([cells("w", ["a"])], 1, serial=True) if unit.kind == "compile"]
    assert [step.cache for step in unit.steps] == ["cold", "warm", "cold_serial"]
    cold, warm, serial = (step.folder for step in unit.steps)
    assert cold == warm != serial
    assert serial in {folder for one in plan([cells("w", ["a"])], 1, serial=True) for folder in one.frees}
