"""What verdicts are given of two sides, against the records they were made from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import event

from db.queries.comparison import Loaded, load, resolve
from db.queries.run_sides import sides_of_run
from db.session import open_reader
from db.store import Store
from evaluator.sink import artifact
from evaluator.verdicts.sides import CellName, GuardFailure, KernelUse, LeafDigest, Pair, Series
from tests.db import made
from tests.db.asking import ask, reading
from tests.db.upgrades import BASE, CANDIDATE, MadeRun, fields, hash_of

# Compiled medians of ``made``: 2 and 4 ms in the two replicas.
UPGRADE = MadeRun("upgrade", purpose="upgrade", slower={1: 1.5}, without=[(1, "n=8")])
EXACT = MadeRun(
    "exact", purpose="confirm", parent=UPGRADE.uuid, replicas=1, started_at="2026-03-01T12:00:00+00:00"
)
TIMES = MadeRun(
    "times",
    purpose="confirm",
    parent=UPGRADE.uuid,
    replicas=4,
    started_at="2026-03-01T11:00:00+00:00",
    buckets=("n=4",),
    slower={1: 2.0},
)
LADDER = MadeRun(
    "ladder",
    purpose="explain",
    parent=UPGRADE.uuid,
    variants=("default+eager", "default+aot_eager"),
    buckets=("n=4",),
    started_at="2026-03-01T13:00:00+00:00",
)
# Its second side was never measured, so it confirms nothing.
HALF = MadeRun(
    "half",
    purpose="confirm",
    parent=UPGRADE.uuid,
    replicas=8,
    without=[(1, "n=4"), (1, "n=8")],
    started_at="2026-03-01T14:00:00+00:00",
)
OTHERS_CHILD = MadeRun("stranger", purpose="confirm", parent=made.run_uuid("nobody"), replicas=8)


def store(database: str, runs: Sequence[MadeRun]) -> str:
    opened = Store(database)
    for run in runs:
        opened.write_many(run.records())
    opened.close()
    return database


def loaded(database: str, base: str, candidate: str) -> Loaded:
    with reading(database) as connection:
        return load(connection, *resolve(connection, base, candidate))


@pytest.fixture(scope="module")
def upgrade(module_database: str) -> str:
    return store(module_database, (UPGRADE, EXACT, TIMES, LADDER, HALF, OTHERS_CHILD))


@pytest.fixture(scope="module")
def found(upgrade: str) -> Loaded:
    return loaded(upgrade, "2.13.0", "2.14.1")


def cell(bucket: str, workload: str = "made.absolute") -> CellName:
    return CellName(workload, bucket, "default", "cpu")


def pair(of: Loaded, bucket: str = "n=4") -> Pair:
    (one,) = [one for one in of.pairs if one.cell.bucket == bucket]
    return one


def test_the_environments_are_named_and_carry_their_fields_and_series(found: Loaded) -> None:
    assert (found.base.label, found.candidate.label) == ("torch 2.13.0+cpu", "torch 2.14.1+cpu")
    assert (found.base.fields, found.candidate.fields) == (BASE, CANDIDATE)
    assert (found.base.hash, found.candidate.hash) == (hash_of(BASE), hash_of(CANDIDATE))
    assert found.base.machine == found.candidate.machine == "machine-1"
    assert found.base.series == {
        "import.torch_s": Series("import.torch_s", "s", (0, 1), (4.0, 5.0), frozenset())
    }


def test_every_cell_of_either_side_is_a_pair(found: Loaded) -> None:
    assert [one.cell for one in found.pairs] == [cell("n=4"), cell("n=8")]
    one, lonely = found.pairs
    assert one.base is not None and one.candidate is not None and one.interleaved
    assert lonely.base is not None and lonely.candidate is None
    assert (lonely.base_definition, lonely.candidate_definition) == (made.DEFINITION, None)
    assert one.base_definition == one.candidate_definition == made.DEFINITION and not one.training


def test_a_side_is_what_was_recorded(upgrade: str, found: Loaded) -> None:
    side = pair(found).base
    assert side is not None
    uuid = UPGRADE.evaluation(0, "made.absolute", "n=4")
    ((row,),) = ask(upgrade, "SELECT id FROM evaluation WHERE uuid = :uuid", uuid=uuid)
    assert (side.evaluation, side.uuid, side.run) == (row, uuid, found.base.run)
    assert (side.environment, side.torch, side.machine) == (hash_of(BASE), "2.13.0+cpu", "machine-1")
    assert (side.status, side.reason, side.failure) == ("ok", None, None)
    assert side.facts is not None
    assert {name: side.facts[name] for name in made.WALK_FACTS} == made.WALK_FACTS
    assert side.facts["compile.warm"] == {"fx_cache_hit": 0}
    assert side.trace == artifact("trace", made.TRACE)["sha256"]
    assert side.differences == (("out", "stride", "(2, 1)", "(1, 4)"),)


def test_evidence_has_the_ids_of_its_rows(upgrade: str, found: Loaded) -> None:
    side = pair(found).candidate
    assert side is not None
    (site,), (guard,), (kernel,) = side.breaks, side.guards, side.kernels
    assert (site.reason, site.break_id, site.file, site.line) == (
        "print is not traced",
        "gb0059",
        "made.py",
        3,
    )
    assert (site.function, site.inherited, site.events) == ("build", False, 2)
    assert guard == GuardFailure(
        guard.id, made.RECOMPILE["reason"], "x.size()[0] == 4", "made.py", 2, "build"
    )
    source = artifact("kernel_source", made.KERNEL)["sha256"]
    assert kernel == KernelUse(kernel.id, "cpp_fused_abs_0", "cpp", "b" * 64, source, "0/0", "inference")
    of_row = "SELECT p.evaluation_id FROM {0} e JOIN probe p ON p.id = e.probe_id WHERE e.id = :id AND p.probe = 'walk'"
    for table, one in (("graph_break", site), ("recompile", guard), ("kernel", kernel)):
        assert ask(upgrade, of_row.format(table), id=one.id) == [(side.evaluation,)]


def test_accuracy_has_its_figures_digests_and_the_workloads_tolerance(database: str) -> None:
    records = MadeRun("digests").records()
    leaf = {
        "leaf": "out",
        "dtype": "float32",
        "shape": [4, 2],
        "sha256": "ab",
        "sample": [0.5, "nan"],
        "stride": [2, 1],
    }
    opaque = {
        "leaf": "out.cache",
        "dtype": None,
        "shape": None,
        "sha256": None,
        "sample": None,
        "type": "Cache",
    }
    for record in records:
        if record["type"] == "probe" and record["probe"] == "accuracy":
            record["accuracy"]["digests"] = [leaf, opaque]
    opened = Store(database)
    opened.write_many(records)
    opened.close()
    side = pair(loaded(database, "2.13.0", "2.14.1")).base
    assert side is not None and side.accuracy is not None
    accuracy = side.accuracy
    assert (accuracy.verdict, accuracy.max_abs, accuracy.rmse_fp64, accuracy.eager_rmse_fp64) == (
        "pass",
        1e-7,
        3e-8,
        4e-8,
    )
    assert accuracy.digests == (
        LeafDigest("out", "float32", (4, 2), "ab", (0.5, "nan")),
        LeafDigest("out.cache", None, None, None, None),
    )
    assert accuracy.tolerance == {"float32": (1e-5, 1e-6)}


@pytest.mark.parametrize(
    ("default", "with_eagers", "decides"),
    [
        ("not_comparable", "fail", ("fail", "fallback_random")),
        ("not_comparable", "pass", ("pass", "fallback_random")),
        ("not_comparable", "not_comparable", ("not_comparable", "default")),
        ("not_comparable", None, ("not_comparable", "default")),
        ("fail", "pass", ("fail", "default")),
        ("pass", "fail", ("pass", "default")),
    ],
)
def test_eagers_random_numbers_decide_where_others_can_t_be_judged(
    database: str, default: str, with_eagers: str | None, decides: tuple[str, str]
) -> None:
    records = MadeRun("random").records()
    for record in records:
        if record["type"] == "probe" and record["probe"] == "accuracy":
            record["accuracy"]["verdict"] = default
            record["accuracy_fallback_random"] = {"verdict": with_eagers, "max_abs": 7.0}
    opened = Store(database)
    opened.write_many(records)
    opened.close()
    side = pair(loaded(database, "2.13.0", "2.14.1")).base
    assert side is not None and side.accuracy is not None
    assert (side.accuracy.verdict, side.accuracy.series) == decides
    assert (side.accuracy.max_abs == 7.0) is (decides[1] == "fallback_random")


def test_series_hold_a_value_a_replica(found: Loaded) -> None:
    one = pair(found)
    assert one.base is not None and one.candidate is not None
    # By hand: medians of (1, 3, 2) and (9, 1, 4); the candidate is 1.5 times as slow.
    assert one.base.series["compiled.wall_ms"] == Series("compiled.wall_ms", "ms", (0, 1), (2.0, 4.0))
    assert one.candidate.series["compiled.wall_ms"].values == (3.0, 6.0)
    assert one.candidate.series["eager.wall_ms"].values == (3.0, 6.0)
    warm = one.base.series["compile.warm_cache_s"]
    assert (warm.unit, warm.values, warm.flags) == ("s", (1.0, 1.0), frozenset({"cache_missed"}))
    assert one.base.series["compile.dynamo_s"].values == (0.5, 1.5)
    # Measured in no replica: no series, rather than a zero.
    assert "compiled.stream_ms" not in one.base.series


def test_of_several_reruns_the_one_with_most_replicas_stands(found: Loaded) -> None:
    rerun = pair(found).rerun
    assert rerun is not None
    base, candidate = rerun
    assert (base.torch, candidate.torch) == ("2.13.0+cpu", "2.14.1+cpu")
    assert base.uuid == TIMES.evaluation(0, "made.absolute", "n=4")
    assert base.series["compiled.wall_ms"].values == (2.0, 4.0, 2.0, 4.0)
    assert candidate.series["compiled.wall_ms"].values == (4.0, 8.0, 4.0, 8.0)
    # The later exact rerun walked the other bucket as well.
    other = pair(found, "n=8").rerun
    assert other is not None and other[1].uuid == EXACT.evaluation(1, "made.absolute", "n=8")


def test_rungs_hang_on_the_cell_they_are_derived_from(found: Loaded) -> None:
    rungs = {rung.backend: rung for rung in pair(found).rungs}
    assert set(rungs) == {"eager", "aot_eager"}
    for backend, rung in rungs.items():
        variant = f"default+{backend}"
        assert rung.base.uuid == LADDER.evaluation(0, "made.absolute", "n=4", variant)
        assert rung.candidate.uuid == LADDER.evaluation(1, "made.absolute", "n=4", variant)
        assert rung.base.series["compiled.wall_ms"].values == (2.0, 4.0)
    assert pair(found, "n=8").rungs == ()
    assert all("+" not in one.cell.variant for one in found.pairs)


def test_sides_of_two_runs_are_not_interleaved_and_have_no_rerun(database: str) -> None:
    store(database, [MadeRun("one", (BASE,)), MadeRun("two", (CANDIDATE,), definition="e" * 64), TIMES])
    found = loaded(database, "1", "2")
    assert len(found.pairs) == 2
    for one in found.pairs:
        assert one.base is not None and one.candidate is not None
        assert not one.interleaved and one.rerun is None and one.rungs == ()
        # Another definition has cells of its own, and is matched by name.
        assert (one.base_definition, one.candidate_definition) == (made.DEFINITION, "e" * 64)


def test_of_a_run_with_three_environments_each_step_has_its_own_rerun(database: str) -> None:
    last = fields("2.15.0+cpu")
    root = MadeRun("three", (BASE, CANDIDATE, last), purpose="upgrade")
    first = MadeRun("first step", (BASE, CANDIDATE), purpose="confirm", parent=root.uuid)
    second = MadeRun("second step", (CANDIDATE, last), purpose="confirm", parent=root.uuid)
    store(database, [root, first, second])
    for step, child in (("1@1", "1@2"), first), (("1@2", "1@3"), second):
        rerun = pair(loaded(database, *step)).rerun
        assert rerun is not None
        assert [side.uuid for side in rerun] == [
            child.evaluation(index, "made.absolute", "n=4") for index in (0, 1)
        ]
    assert pair(loaded(database, "1@1", "1@3")).rerun is None


def test_an_evaluation_that_goes_on_has_neither_status_nor_facts(database: str) -> None:
    store(database, [MadeRun("goes on", status=None, ended=None)])
    side = pair(loaded(database, "1@1", "1@2")).base
    assert side is not None
    assert (side.status, side.facts, side.series) == (None, None, {})


def test_a_failure_is_that_of_the_worst_probe_that_raised(database: str) -> None:
    def error(kind: str) -> dict[str, Any]:
        return {"type": kind, "message": f"{kind} said so", "chain": [], "traceback": ""}

    opened = Store(database)
    opened.write_many(
        [
            *made.head(),
            made.replica(),
            made.evaluation(),
            made.probe("walk", status="runtime_error", error=error("RuntimeError")),
            made.probe("cold", status="compile_error", error=error("BackendCompilerFailed")),
            made.probe("accuracy", status="skipped"),
            made.finished(status="compile_error", reason="it does not compile"),
            made.end(),
            *MadeRun("other", (CANDIDATE,)).records(),
        ]
    )
    opened.close()
    side = pair(loaded(database, "2.13.0", "2.14.1")).base
    assert side is not None and side.failure is not None
    assert (side.status, side.reason) == ("compile_error", "it does not compile")
    assert (side.failure.type, side.failure.message) == (
        "BackendCompilerFailed",
        "BackendCompilerFailed said so",
    )
    # A walk that told nothing leaves no facts, though the evaluation is finished.
    assert side.facts is None and side.accuracy is None and side.trace is None


@pytest.mark.parametrize(
    ("base", "candidate", "labels"),
    [
        (BASE, {**BASE, "copy": 2}, ("torch 2.13.0+cpu", "torch 2.13.0+cpu (copy 2)")),
        (
            BASE,
            {**BASE, "variables": {"OMP_NUM_THREADS": "4"}},
            ("torch 2.13.0+cpu (OMP_NUM_THREADS=2)", "torch 2.13.0+cpu (OMP_NUM_THREADS=4)"),
        ),
        (
            {**BASE, "variables": {}},
            BASE,
            ("torch 2.13.0+cpu (OMP_NUM_THREADS unset)", "torch 2.13.0+cpu (OMP_NUM_THREADS=2)"),
        ),
        (
            {**BASE, "libraries": {"numpy": "2.4.0", "transformers": None}},
            {**BASE, "libraries": {"numpy": "2.4.1", "transformers": "5.20.0"}},
            (
                "torch 2.13.0+cpu (numpy 2.4.0, no transformers)",
                "torch 2.13.0+cpu (numpy 2.4.1, transformers 5.20.0)",
            ),
        ),
    ],
)
def test_sides_with_one_torch_are_told_apart(
    tmp_path: Any, base: dict[str, Any], candidate: dict[str, Any], labels: tuple[str, str]
) -> None:
    database = store(str(tmp_path / "runs.db"), [MadeRun("a-a", (base, candidate))])
    found = loaded(database, "1@1", "1@2")
    assert (found.base.label, found.candidate.label) == labels


def test_two_runs_of_one_torch_are_told_apart_by_their_runs(database: str) -> None:
    store(database, [MadeRun("one", (BASE,)), MadeRun("two", (BASE,))])
    found = loaded(database, "1", "2")
    assert (found.base.label, found.candidate.label) == (
        "torch 2.13.0+cpu (run 1)",
        "torch 2.13.0+cpu (run 2)",
    )


def test_of_a_server_that_started_again_the_last_start_counts(database: str) -> None:
    records = MadeRun("again").records()
    restarted = made.replica(
        "again", 1, environment=hash_of(BASE), server=made.named("again", "second start")
    )
    restarted["samples"] = [made.sample("import.torch_s", 7.5)]
    opened = Store(database)
    opened.write_many([*records[:-1], restarted, records[-1]])
    opened.close()
    assert loaded(database, "2.13.0", "2.14.1").base.series["import.torch_s"].values == (4.0, 7.5)


def test_the_number_of_queries_does_not_grow_with_the_cells(tmp_path: Any) -> None:
    counts = []
    for number, buckets in enumerate((made.BUCKETS[:1], made.BUCKETS)):
        workloads = [f"made.{index}" for index in range(1 + 3 * number)]
        runs = [
            replace(run, workloads=workloads, buckets=buckets, without=()) for run in (UPGRADE, EXACT, LADDER)
        ]
        database = store(str(tmp_path / f"{number}.db"), runs)
        engine = open_reader(database)
        asked: list[str] = []
        event.listen(engine, "before_cursor_execute", lambda *given, asked=asked: asked.append(given[2]))
        with engine.connect() as connection:
            found = load(connection, *resolve(connection, "2.13.0", "2.14.1"))
        engine.dispose()
        assert len(found.pairs) == len(workloads) * len(buckets)
        counts.append(len(asked))
    assert counts[0] == counts[1]


def test_kernels_carry_what_was_built_of_them(tmp_path: Path) -> None:
    """By source and name; a kernel that was not built has none, and a refused one its reason and no number."""
    database = str(tmp_path / "runs.db")
    records = made.codegen_cell("first")
    (walk,) = [one for one in records if one.get("probe") == "walk"]
    (build,) = [one for one in records if one.get("probe") == "build"]
    sources = [artifact("kernel_source", text) for text in (b"first", b"second", b"third")]
    names = ("triton_poi_fused_add_0", "triton_red_fused_sum_1", "triton_poi_fused_mul_2")
    walk["kernels"] = [
        {**made.TRITON_KERNEL, "name": name, "source_sha256": source["sha256"]}
        for name, source in zip(names, sources, strict=True)
    ]
    walk["kernels"].append({"name": "extern_kernels.mm", "kind": "extern"})
    build["builds"] = [
        {**made.BUILD, "name": names[1], "source_sha256": sources[1]["sha256"], "registers": 77},
        {**made.REFUSED, "name": names[0], "source_sha256": sources[0]["sha256"]},
    ]
    later = {**build, "attempt": 2, "builds": [{**build["builds"][0], "registers": 88}, build["builds"][1]]}
    opened = Store(database)
    opened.write_many([*made.head(), *sources, made.replica(), *records[:-1], later, records[-1], made.end()])
    opened.close()
    with reading(database) as connection:
        (side,) = sides_of_run(connection, 1)
        (pair,) = load(connection, side, side).pairs
    assert pair.cell.codegen and pair.base is not None
    refused, spilling, unbuilt, extern = pair.base.kernels
    assert refused.build is not None and refused.build.error == made.REFUSED["error"]
    assert refused.build.registers is None and refused.build.spilled is None
    # Of two attempts the last one counts.
    assert spilling.build is not None and (spilling.build.registers, spilling.build.spilled) == (88, 0)
    assert unbuilt.build is None and extern.build is None
    assert (unbuilt.bytes_moved, unbuilt.form, unbuilt.calls, unbuilt.launch_hash) == (
        3145728,
        "pointwise",
        1,
        "a" * 64,
    )
    assert extern.bytes_moved is None
