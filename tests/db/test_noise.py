"""The noise of a machine: written as a calibration's evaluations end, read as a later comparison needs it."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import replace

import pytest

from db.queries.calibration import noise_of_run, pooled
from db.queries.comparison import load, resolve
from db.store import Store
from evaluator.verdicts.sides import Noise
from tests.db import made
from tests.db.asking import ask, reading, row_counts
from tests.db.upgrades import BASE, CANDIDATE, MadeRun, fields

COPY = {**BASE, "copy": 2}
CALIBRATION = MadeRun("calibration", (BASE, COPY), replicas=4, purpose="calibrate", slower={1: 2.0})
UPGRADE = MadeRun("upgrade", purpose="upgrade", started_at="2026-03-09T10:00:00+00:00")


def store(database: str, runs: Sequence[MadeRun]) -> None:
    opened = Store(database)
    for run in runs:
        opened.write_many(run.records())
    opened.close()


def noise(
    database: str, base: str = "2.13.0", candidate: str = "2.14.1", bucket: str = "n=4"
) -> dict[str, Noise]:
    with reading(database) as connection:
        found = load(connection, *resolve(connection, base, candidate))
    (one,) = [pair for pair in found.pairs if pair.cell.bucket == bucket]
    return dict(one.noise)


def test_a_calibration_writes_a_row_for_each_judged_time(database: str) -> None:
    store(database, [CALIBRATION])
    rows = ask(
        database,
        "SELECT n.metric, n.replicas, n.rounds, n.between_sd, n.within_sd FROM noise n "
        "JOIN cell c ON c.id = n.cell_id JOIN bucket b ON b.id = c.bucket_id "
        "JOIN environment e ON e.id = n.environment_id WHERE b.name = 'n=4' ORDER BY e.id, n.metric",
    )
    # Phases, memory and processor time are told, not judged; nothing was measured on a stream.
    judged = ["compile.cold_s", "compile.warm_cache_s", "compiled.wall_ms", "eager.wall_ms"]
    assert [row[0] for row in rows] == judged * 2
    found = {row[0]: row[1:] for row in rows[:4]}
    # By hand: replicas' medians 2, 4, 2 and 4 ms, so each log is log 2 / 2 from the middle: sqrt(4 / 3) times that.
    replicas, rounds, between, within = found["compiled.wall_ms"]
    assert (replicas, rounds) == (4, 3)
    assert between == pytest.approx(math.log(2) / math.sqrt(3))
    squares = [
        (math.log(one) - statistics.fmean(map(math.log, of))) ** 2
        for of in made.TIMES["compiled.wall_ms"]
        for one in of
    ]
    assert within == pytest.approx(math.sqrt(sum(squares) / 4))
    # Cold compiles took 3, 4, 5 and 6 s, one a replica; the warm ones are equal.
    cold = statistics.stdev(map(math.log, (3, 4, 5, 6)))
    assert found["compile.cold_s"] == (4, 1, pytest.approx(cold), None)
    assert found["compile.warm_cache_s"] == (4, 1, 0.0, None)
    with reading(database) as connection:
        told = noise_of_run(connection, "1")
    assert {(one.workload, one.bucket, one.torch, one.noise.metric) for one in told} == {
        ("made.absolute", bucket, "2.13.0+cpu", metric) for bucket in made.BUCKETS for metric in judged
    }
    values = {one.noise.values for one in told if one.noise.metric == "compiled.wall_ms"}
    assert values == {(2.0, 4.0, 2.0, 4.0), (4.0, 8.0, 4.0, 8.0)}


@pytest.mark.parametrize("purpose", [None, "evaluate", "upgrade", "confirm", "explain", "nightly"])
def test_a_run_of_another_purpose_writes_none(tmp_path: object, purpose: str | None) -> None:
    database = f"{tmp_path}/runs.db"
    store(database, [replace(CALIBRATION, purpose=purpose)])
    assert row_counts(database)["noise"] == 0


@pytest.mark.parametrize("replicas", [1, 2, 3])
def test_fewer_than_four_replicas_have_no_noise(tmp_path: object, replicas: int) -> None:
    database = f"{tmp_path}/runs.db"
    store(database, [replace(CALIBRATION, replicas=replicas)])
    assert row_counts(database)["noise"] == 0


def test_an_evaluation_that_is_ended_twice_keeps_one_row_a_metric(database: str) -> None:
    opened = Store(database)
    records = CALIBRATION.records()
    opened.write_many(records[:-1])
    before = row_counts(database)
    opened.write_many(records)
    opened.close()
    assert row_counts(database) == before and before["noise"] == 16


def test_noise_leaves_with_its_run(database: str) -> None:
    from db.pruning import prune_run
    from tests.db.asking import changing

    store(database, [CALIBRATION])
    with changing(database) as connection:
        prune_run(connection, CALIBRATION.uuid, "to try")
    assert row_counts(database)["noise"] == 0


def test_a_comparison_has_the_noise_of_an_environment_and_its_copy_together(database: str) -> None:
    store(database, [CALIBRATION, UPGRADE])
    found = noise(database)
    one = found["compiled.wall_ms"]
    # Neighbours in time stay neighbours: replica by replica, the environment and its copy.
    assert one.values == (2.0, 4.0, 4.0, 8.0) * 2
    assert one.between_sd == pytest.approx(math.log(2) / math.sqrt(3))
    assert (one.metric, one.rounds, one.run) == ("compiled.wall_ms", 3, 1)
    assert found["compile.cold_s"].within_sd is None


def test_the_latest_calibration_of_the_same_torch_and_machine_is_taken(database: str) -> None:
    days = {"old": 1, "other torch": 3, "last": 2, "other machine": 5, "other definition": 6}
    runs = {
        name: replace(CALIBRATION, name=name, started_at=f"2026-03-0{day}T10:00:00+00:00")
        for name, day in days.items()
    }
    runs["other torch"] = replace(runs["other torch"], environments=(fields("2.11.0+cpu"),), slower={})
    runs["other machine"] = replace(runs["other machine"], machine="machine-2")
    runs["other definition"] = replace(runs["other definition"], definition="e" * 64)
    store(database, [UPGRADE])
    assert noise(database) == {}
    store(database, [runs["other machine"], runs["other definition"]])
    assert noise(database) == {}
    store(database, [runs["other torch"]])
    assert {one.run for one in noise(database).values()} == {4}
    # Stored first, started last: the moment counts.
    store(database, [runs["last"], runs["old"]])
    assert {one.run for one in noise(database).values()} == {5}


def test_of_two_calibrated_environments_the_noisier_counts(database: str) -> None:
    records = MadeRun("both", (BASE, CANDIDATE), replicas=4, purpose="calibrate").records()
    noisier = {MadeRun("both").evaluation(1, "made.absolute", bucket) for bucket in made.BUCKETS}
    for record in records:
        if record.get("evaluation") in noisier and record.get("replica") == 1:
            for sample in record["samples"]:
                if sample["metric"] == "compile.cold_s":
                    sample["value"] = 30.0
    opened = Store(database)
    opened.write_many(records)
    opened.close()
    store(database, [UPGRADE])
    assert noise(database)["compile.cold_s"].values == (3.0, 30.0, 5.0, 6.0)


def test_sides_of_two_machines_have_no_noise(database: str) -> None:
    here = MadeRun("here", (BASE,))
    there = MadeRun("there", (CANDIDATE,), machine="machine-2")
    store(database, [CALIBRATION, here, there])
    assert noise(database, "2", "3") == {}


def test_variances_are_pooled_by_their_degrees_of_freedom() -> None:
    first = Noise("m", 0.03, 0.02, 7, (1.0, 1.1, 1.2), 5)
    second = Noise("m", 0.01, None, 5, (2.0, 2.1), 5)
    both = pooled([first, second])
    # (2 x 0.03^2 + 1 x 0.01^2) / 3
    assert both.between_sd == pytest.approx(math.sqrt(0.0019 / 3))
    assert (both.within_sd, both.rounds, both.run) == (0.02, 5, 5)
    assert both.values == (1.0, 2.0, 1.1, 2.1, 1.2)
    assert pooled([first]) is first
