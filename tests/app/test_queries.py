"""The queries of the pages, against databases whose contents are known from their seed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from statistics import median

import pandas as pd
import pytest
from sqlalchemy import Connection, text

from db.queries import history, overview, run_details, trends, versions, why
from db.queries.comparison import resolve, rests_on
from db.queries.over_versions import over_versions
from db.session import open_reader, reading
from db.store import Store
from tests.app import seed, upgrades
from tests.app.records import MadeRun, MadeWorkload

METRICS = ("compile.cold_s", "compile.warm_cache_s", "eager.wall_ms", "compiled.wall_ms")


@pytest.fixture
def connection(databases: Callable[[str], Path]) -> Iterator[Connection]:
    with open_reader(str(databases("realistic"))).connect() as opened:
        yield opened


def newest(connection: Connection, workload: str) -> pd.DataFrame:
    choices = history.choices(connection, workload)
    assert choices is not None
    found = history.evaluations(connection, choices.definition, target="cpu", variant="default")
    return history.newest_of_each_version(found)


def test_versions_are_in_version_order() -> None:
    given = ["2.14.1+cpu", "2.9.1+cpu", "2.13.0+cpu", "2.13.0.dev20260101+cpu", "not a version", "2.9.1+cpu"]
    assert versions.in_order(given) == [
        "2.9.1+cpu",
        "2.13.0.dev20260101+cpu",
        "2.13.0+cpu",
        "2.14.1+cpu",
        "not a version",
    ]


def test_headline_has_versions_in_order(connection: Connection) -> None:
    head = overview.headline(connection)
    assert head.versions == ("2.9.1+cpu", "2.12.0+cpu", "2.13.0+cpu", "2.14.1+cpu")
    assert (head.runs, head.newest, head.running) == (5, 5, 0)


def test_runs_come_newest_first_with_their_counts(connection: Connection) -> None:
    listed = overview.runs(connection)
    assert list(listed["run"]) == [5, 4, 3, 2, 1]
    assert (listed["evaluations"] == listed["ok"] + listed["not_ok"] + listed["pending"]).all()
    # 2.9.1: one bucket of llama times out, both of vit fail to compile, and the crash crashes.
    assert int(listed.set_index("run").loc[2, "not_ok"]) == 4


def test_newest_evaluation_of_a_version_is_taken(connection: Connection) -> None:
    found = newest(connection, "models.llama")
    runs = found.groupby("torch")["run"].unique().map(list).to_dict()
    # 2.13.0 was measured in runs 1 and 4.
    assert runs == {"2.9.1+cpu": [2], "2.12.0+cpu": [3], "2.13.0+cpu": [4], "2.14.1+cpu": [5]}


def test_choices_are_in_declared_order(connection: Connection) -> None:
    choices = history.choices(connection, "shapes.recompiles")
    assert choices is not None
    assert choices.buckets == tuple(f"batch={n}" for n in range(1, 10))
    silu = history.choices(connection, "pointwise.silu")
    assert silu is not None
    assert silu.variants == ("default", "dynamic", "eager")
    assert silu.buckets == ("n=4096", "n=65536", "n=1048576")
    assert history.choices(connection, "no.such") is None


def test_summary_is_the_median_of_the_replicas(connection: Connection) -> None:
    ids = [int(one) for one in newest(connection, "models.llama")["evaluation"]]
    found = history.summaries(connection, ids, METRICS)
    assert len(found)
    for row in found.to_dict("records"):
        assert row["median"] == pytest.approx(median(row["replica_medians"]))
        assert len(row["replica_medians"]) == len(row["replica_numbers"]) == row["replicas"]


@pytest.mark.parametrize(
    ("metric", "status"),
    [("compile.cold_s", "timeout"), ("compile.warm_cache_s", "skipped"), ("compiled.wall_ms", "skipped")],
)
def test_failed_metric_has_its_probes_status_and_no_value(
    connection: Connection, metric: str, status: str
) -> None:
    found = newest(connection, "models.llama")
    ids = [int(one) for one in found["evaluation"]]
    summary = history.summaries(connection, ids, METRICS)
    failed = history.without_value(found, history.failed_probes(connection, ids), summary, metric)
    named = failed.merge(found[["evaluation", "torch", "bucket"]], on="evaluation")
    assert named[["torch", "bucket", "status"]].to_numpy().tolist() == [
        ["2.9.1+cpu", "batch=1,seq=256", status]
    ]
    measured = set(summary.loc[summary["metric"] == metric, "evaluation"])
    assert not measured & set(failed["evaluation"])


def test_accuracy_failure_does_not_take_the_times_away(connection: Connection) -> None:
    found = newest(connection, "norm.layer_norm")
    ids = [int(one) for one in found["evaluation"]]
    summary = history.summaries(connection, ids, METRICS)
    assert "accuracy_failed" in set(found["status"])
    failed = history.failed_probes(connection, ids)
    assert history.without_value(found, failed, summary, "compiled.wall_ms").empty


def test_earlier_definitions_are_counted_and_not_mixed(tmp_path: Path) -> None:
    path = tmp_path / "two.db"
    first = MadeWorkload("w", (("n=1", {"n": 1}),))
    second = MadeWorkload("w", (("n=2", {"n": 2}),), edition="2")
    seed.write(
        path, [(MadeRun("2.12.0", 1, replicas=1), [first]), (MadeRun("2.13.0", 2, replicas=1), [second])]
    )
    with open_reader(str(path)).connect() as connection:
        choices = history.choices(connection, "w")
        assert choices is not None
        assert (choices.buckets, choices.older) == (("n=2",), 1)
        found = history.evaluations(connection, choices.definition, target="cpu", variant="default")
        assert list(found["torch"]) == ["2.13.0"]
        assert len(why.evaluations_of(connection, "w", "n=1", "default", "cpu")) == 1


def test_machines_are_kept_apart(tmp_path: Path) -> None:
    path = tmp_path / "machines.db"
    workload = MadeWorkload("w", (("-", {}),))
    runs = [MadeRun("2.12.0", 1, replicas=1), MadeRun("2.13.0", 2, replicas=1, machine="machine-2")]
    seed.write(path, [(run, [workload]) for run in runs])
    with open_reader(str(path)).connect() as connection:
        assert list(history.machines(connection)["machine"]) == ["machine-2", "machine-1"]
        choices = history.choices(connection, "w")
        assert choices is not None
        found = history.evaluations(
            connection, choices.definition, target="cpu", variant="default", machine="machine-1"
        )
        assert list(found["torch"]) == ["2.12.0"]


def test_record_holds_all_that_an_evaluation_recorded(connection: Connection) -> None:
    row = newest(connection, "graphs.breaks").iloc[-2]
    one = why.record(connection, int(row["evaluation"]))
    assert one is not None
    assert (one.workload, one.bucket, one.torch, one.status) == ("graphs.breaks", "n=64", "2.14.1+cpu", "ok")
    assert one.facts is not None
    assert one.facts["graph_breaks"] == 2
    assert list(one.breaks["line"]) == [41, 47]
    assert list(one.breaks["break_id"]) == ["gb0059", "gb0170"]
    assert list(one.kernels["name"]) == ["cpp_fused_relu_0", "cpp_fused_sum_1"]
    assert list(one.accuracy["verdict"]) == ["pass"]
    assert one.environment_fields["triton"] == "3.8.0"
    assert set(one.artifacts["kind"]) == {"log", "trace", "kernel_source"}
    assert why.record(connection, 10**9) is None


def test_course_over_versions_is_of_the_newest_evaluation_of_each(connection: Connection) -> None:
    found = newest(connection, "matmul.fp32_1024")
    one = found[found["torch"] == "2.14.1+cpu"].iloc[0]
    lines = over_versions(connection, [int(one["evaluation"])], "machine-1", "compiled.wall_ms")
    # 2.9.1, 2.12.0, 2.13.0 (measured twice: the later one) and 2.14.1; drifts of the seed: 1.22, 1.06, 0.97, 1.04.
    drifts = [value / lines[int(one["evaluation"])][0] * 1.22 for value in lines[int(one["evaluation"])]]
    assert drifts == pytest.approx([1.22, 1.06, 0.97, 1.04], rel=0.03)
    assert over_versions(connection, [int(one["evaluation"])], "elsewhere", "compiled.wall_ms") == {}


def test_samples_come_in_pages(connection: Connection) -> None:
    total = run_details.sample_count(connection, 5)
    raw = "SELECT COUNT(*) FROM sample JOIN probe ON probe.id = sample.probe_id JOIN evaluation ON "
    raw += "evaluation.id = probe.evaluation_id WHERE evaluation.run_id = 5"
    assert total == connection.execute(text(raw)).scalar()
    first = run_details.samples(connection, 5, metric=None, offset=0, limit=30)
    second = run_details.samples(connection, 5, metric=None, offset=30, limit=30)
    both = run_details.samples(connection, 5, metric=None, offset=0, limit=60)
    pd.testing.assert_frame_equal(pd.concat([first, second], ignore_index=True), both)
    only = run_details.samples(connection, 5, metric="compile.cold_s", offset=0, limit=50)
    assert set(only["metric"]) == {"compile.cold_s"}


def test_artifacts_are_listed_once(connection: Connection) -> None:
    found = run_details.artifacts(connection, 5)
    assert not found.duplicated(["kind", "sha256"]).any()
    assert (found["probes"] >= 1).all()


def test_stamp_changes_with_every_record(tmp_path: Path) -> None:
    path = tmp_path / "grows.db"
    run = MadeRun("2.13.0", 1, None, "quick", 1)
    records = list(run.records([MadeWorkload("w", (("n=1", {}), ("n=2", {})))]))
    store = Store(str(path))
    seen = []
    try:
        for record in records:
            store.write(record)
            if record["type"] in ("run", "probe", "evaluation_finished", "run_finished"):
                with open_reader(str(path)).connect() as connection:
                    seen.append(overview.stamp(connection))
    finally:
        store.close()
    assert len(set(seen)) == len(seen)


def test_what_a_comparison_rests_on_changes_with_its_runs_alone(tmp_path: Path) -> None:
    path = upgrades.upgrade(tmp_path / "r.db")

    def rests() -> object:
        with reading(str(path)) as reads:
            return rests_on(reads, *resolve(reads, "1@1", "1@2"))

    first = rests()
    assert first is not None
    assert rests() == first
    seed.write(path, [(MadeRun("2.15.0+cpu", 40, None, "quick", 1), [seed.POINTWISE])])
    assert rests() == first
    again = upgrades.made(50, purpose="confirm", parent=upgrades.made(10).uuid)
    store = Store(str(path))
    records = list(again.records([seed.MATMUL], [seed.MATMUL]))
    store.write_many(records[:-1])
    # A rerun that is going on: what there is of it counts from moment to moment.
    assert rests() is None
    store.write_many(records[-1:])
    store.close()
    assert rests() not in (None, first)


@pytest.mark.parametrize("over", ["versions", "runs"])
def test_what_trends_rest_on_changes_whenever_what_is_recorded_does(
    tmp_path: Path, over: trends.Over
) -> None:
    path = seed.write(tmp_path / "t.db", [(MadeRun("2.13.0+cpu", 1, replicas=1), [seed.POINTWISE])])
    store = Store(str(path))
    scope = trends.Scope(over, "machine-1", "cpu", None)
    seen: list[tuple[object, str]] = []

    def look() -> None:
        with open_reader(str(path)).connect() as reads:
            points, at = trends.recorded(reads, scope, [METRICS[0]])
            seen.append((trends.rests_on(reads, scope), f"{points}{at.to_dict()}"))

    look()
    for number, machine in ((2, scope.machine), (3, "another")):
        run = MadeRun("2.14.1+cpu", number, replicas=1, machine=machine)
        for record in run.records([seed.MATMUL]):
            store.write(record)
            look()
    store.close()
    changes = 0
    for (rests, recorded), (then, later) in pairwise(seen):
        assert (rests == then) == (recorded == later)
        changes += rests != then
    # Of all records only the ends of the evaluations and of the run change a version; a run has evaluations that go on, too.
    ends = len(seed.MATMUL.buckets) + 1
    assert changes == (ends if over == "versions" else ends + len(seed.MATMUL.buckets))


@pytest.mark.parametrize(
    ("metric", "probe"),
    [
        ("compile.cold_s", ("compile", "cold")),
        ("compile.warm_cache_s", ("compile", "warm")),
        ("compile.cold_serial_s", ("compile", "cold_serial")),
        ("compile.device_allocated_peak_mb", ("compile", "cold")),
        ("init.cuda_s", ("compile", "cold")),
        ("eager.wall_ms", ("timing", None)),
        ("compiled.stream_ms", ("timing", None)),
        ("eager.host_peak_mb", ("memory", None)),
        ("compiled.device_alloc_retries", ("memory", None)),
        ("walk.first_call_s", ("walk", None)),
        ("accuracy.rmse_fp64", ("accuracy", None)),
    ],
)
def test_a_metric_is_measured_by_its_probe(metric: str, probe: tuple[str, str | None]) -> None:
    assert history.probe_of(metric) == probe


def test_what_trends_offers_rests_on_what_changes_with_it(tmp_path: Path) -> None:
    path = seed.write(tmp_path / "t.db", [(MadeRun("2.13.0+cpu", 1, replicas=1), [seed.POINTWISE])])
    store = Store(str(path))
    seen: list[tuple[str, object, trends.Choices]] = []

    def look(after: str) -> None:
        with open_reader(str(path)).connect() as reads:
            seen.append((after, trends.choices_rest_on(reads), trends.choices(reads)))

    look("nothing")
    for number, machine in ((2, "machine-1"), (3, "another")):
        run = MadeRun("2.14.1+cpu", number, replicas=1, machine=machine)
        for record in run.records([seed.MATMUL]):
            store.write(record)
            look(record["type"])
    store.close()
    for (_, rests, offered), (_, then, later) in pairwise(seen):
        assert rests != then or offered == later
    # A page is looked at while a run goes on, which writes little else than probes.
    probes = [rests == then for (_, rests, _), (after, then, _) in pairwise(seen) if after == "probe"]
    assert probes.count(True) > len(probes) / 2
