"""What the store makes of records, on both databases."""

from __future__ import annotations

import copy
import gzip
import hashlib
from pathlib import Path

import pytest

from db.failures import RecordError
from db.store import Store
from evaluator.errors import UserError
from evaluator.sink import artifact
from tests.db import made
from tests.db.asking import ask, row_counts


@pytest.fixture
def store(database: str):  # type: ignore[no-untyped-def]
    opened = Store(database)
    yield opened
    opened.close()


def test_a_run_is_stored_whole(store: Store, database: str) -> None:
    for record in made.whole_run():
        store.write(record)
    counts = row_counts(database)
    # Two buckets; two replicas with four probes each, and one accuracy probe.
    expected = {
        "run": 1,
        "machine": 1,
        "environment": 1,
        "workload": 1,
        "bucket": 2,
        "variant": 1,
        "cell": 2,
        "replica": 2,
        "environment_sample": 2,
        "evaluation": 2,
        "probe": 2 * (2 * 4 + 1),
        "facts": 2,
        "graph_break": 2,
        "recompile": 2,
        "kernel": 2,
        "accuracy": 2,
        "difference": 2,
        "artifact": 3,
        "probe_artifact": 2,
        "pruning": 0,
    }
    assert {name: counts[name] for name in expected} == expected
    # A replica: 3 cold, 2 warm, 1 walk, 2 x 3 rounds and 2 NULLs of timing; 1 of accuracy.
    assert counts["sample"] == 2 * (2 * (3 + 2 + 1 + 6 + 2) + 1)
    assert ask(database, "SELECT status FROM run") == [("finished",)]


def test_the_same_records_again_change_nothing(store: Store, database: str) -> None:
    records = made.whole_run()
    store.write_many(records)
    before, new = row_counts(database), store.counts.new
    store.write_many(copy.deepcopy(records))
    store.write_many(reversed(copy.deepcopy(records)))
    assert row_counts(database) == before
    assert store.counts.new == new
    assert store.counts.known == 2 * len(records) + len(records) - new


def test_two_runs_share_what_is_equal(store: Store, database: str) -> None:
    store.write_many(made.whole_run("first"))
    store.write_many(made.whole_run("second"))
    counts = row_counts(database)
    shared = ("machine", "environment", "workload", "bucket", "variant", "cell", "artifact")
    assert [counts[name] for name in shared] == [1, 1, 1, 2, 1, 2, 3]
    assert counts["run"] == 2 and counts["evaluation"] == 4


def test_a_changed_workload_is_a_workload_of_its_own(store: Store, database: str) -> None:
    store.write_many(made.whole_run("first"))
    records = made.whole_run("second")
    for record in records:
        if record.get("definition_hash"):
            record["definition_hash"] = "f" * 64
    store.write_many(records)
    assert ask(database, "SELECT count(*) FROM workload WHERE name = 'made.absolute'") == [(2,)]
    assert ask(database, "SELECT count(*) FROM cell") == [(4,)]


def test_missing_stays_null(store: Store, database: str) -> None:
    bare = {"type", "run", "evaluation", "replica", "probe", "cache", "status"}
    failed = {name: value for name, value in made.probe("timing", status="timeout").items() if name in bare}
    failed["samples"] = [made.sample("compiled.wall_ms", None, 0, "failed")]
    store.write_many(
        [*made.head(), made.replica(), made.evaluation(), failed, made.finished(status="timeout")]
    )
    (row,) = ask(database, "SELECT reason, stage, error, log_tail, started_at, duration_s, limits FROM probe")
    assert row == (None,) * 7
    assert ask(database, "SELECT value FROM sample") == [(None,)]
    assert ask(database, "SELECT graphs, recompiles, recompile_limit_hit, probe_id FROM facts") == [
        (None,) * 4
    ]
    assert ask(database, "SELECT count(*) FROM summary") == [(0,)]


def test_what_is_no_number_is_null_and_kept_as_text(store: Store, database: str) -> None:
    walk = made.probe(
        "accuracy",
        accuracy={
            "verdict": "fail",
            "max_abs": float("inf"),
            "max_rel": float("nan"),
            "reason": "a NUL \x00 here",
        },
        samples=[made.sample("accuracy.max_abs", float("nan"))],
        facts={"odd": float("-inf"), "huge": 2**80},
        log_tail="lone \ud800 surrogate",
    )
    store.write_many([*made.head(), made.replica(), made.evaluation(), walk])
    ((max_abs, max_rel, reason, details),) = ask(
        database, "SELECT max_abs, max_rel, reason, details FROM accuracy"
    )
    assert (max_abs, max_rel, reason) == (None, None, "a NUL \ufffd here")
    assert '"inf"' in str(details).replace("'", '"') and '"nan"' in str(details).replace("'", '"')
    assert ask(database, "SELECT value FROM sample") == [(None,)]
    assert ask(database, "SELECT log_tail FROM probe") == [("lone ? surrogate",)]


def test_an_artifact_is_a_gzip_file_named_by_its_content(store: Store) -> None:
    store.write_many([*made.head(), artifact("trace", made.TRACE)])
    name = hashlib.sha256(made.TRACE).hexdigest()
    path = store.artifacts.root / name[:2] / f"{name}.gz"
    assert gzip.decompress(path.read_bytes()) == made.TRACE
    assert store.artifacts.read(name) == made.TRACE
    assert not list(store.artifacts.root.rglob(".new-*"))


def test_artifacts_stand_beside_a_sqlite_file(tmp_path: Path) -> None:
    store = Store(str(tmp_path / "deep" / "runs.db"))
    assert store.artifacts.root == tmp_path / "deep" / "runs.artifacts"
    store.close()


def test_a_lost_artifact_file_comes_back_with_the_next_import(store: Store) -> None:
    store.write_many(made.whole_run())
    name = hashlib.sha256(made.KERNEL).hexdigest()
    store.artifacts.path(name).unlink()
    with pytest.raises(UserError, match="is missing"):
        store.artifacts.read(name)
    store.write_many(made.whole_run())
    assert store.artifacts.read(name) == made.KERNEL


def test_an_artifact_that_is_not_what_its_name_says_is_refused(store: Store, database: str) -> None:
    false = artifact("log", b"one") | {"sha256": hashlib.sha256(b"other").hexdigest()}
    with pytest.raises(RecordError, match="does not hold what its name says"):
        store.write_many([*made.head(), false])
    assert row_counts(database)["run"] == 0


@pytest.mark.parametrize(
    ("records", "says"),
    [
        ([made.replica()], "begins run"),
        ([*made.head()[:1], made.replica()], "describes environment"),
        ([*made.head()[:2], made.evaluation()], "describes workload"),
        ([*made.head(), made.probe("walk")], "begins evaluation"),
        (
            [
                *made.head(),
                made.evaluation(),
                made.probe("walk", artifacts=[{"kind": "log", "sha256": "0" * 64}]),
            ],
            "carries",
        ),
        ([made.head()[0] | {"started_at": None}], "when it started"),
        ([{"type": "verdict"}], "unknown record type"),
        ([{"type": "environment"}], "has no 'hash'"),
    ],
)
def test_records_that_lack_what_they_build_on_are_refused_whole(
    store: Store, database: str, records: list[made.Record], says: str
) -> None:
    with pytest.raises(RecordError, match=says):
        store.write_many(records)
    assert not any(row_counts(database).values())


def test_a_word_this_version_does_not_know_is_refused(store: Store, database: str) -> None:
    store.write_many([*made.head(), made.replica(), made.evaluation()])
    with pytest.raises(UserError, match="update the code"):
        store.write(made.probe("walk", status="enlightened"))
    assert row_counts(database)["probe"] == 0


def test_another_probe_in_the_place_of_one_is_refused_not_lost(store: Store) -> None:
    store.write_many([*made.head(), made.replica(), made.evaluation(), made.probe("walk")])
    with pytest.raises(RecordError, match="already has another probe"):
        store.write(made.probe("walk", started_at="2026-03-01T12:00:00+00:00"))


def test_a_second_attempt_is_a_probe_of_its_own(store: Store, database: str) -> None:
    begun = [*made.head(), made.replica(), made.evaluation()]
    first = made.probe("cold", status="timeout", samples=[made.sample("compile.cold_s", None)])
    second = made.probe("cold", attempt=2, samples=[made.sample("compile.cold_s", 5.0)])
    store.write_many([*begun, first, second, made.finished()])
    assert ask(database, "SELECT median FROM summary") == [(5.0,)]


def test_a_workload_that_failed_to_load_has_one_cell(store: Store, database: str) -> None:
    problem = {"type": "workload", "run": made.run_uuid(), "name": "broken", "problem": "it has no build()"}
    cell = made.evaluation() | {"workload": "broken", "definition_hash": "-", "bucket": "-"}
    store.write_many(
        [*made.head()[:2], problem, cell, made.finished(status="setup_error", reason="it has no build()")]
    )
    query = (
        "SELECT workload.problem, bucket.name, bucket.position, evaluation.status FROM evaluation "
        "JOIN cell ON cell.id = cell_id JOIN bucket ON bucket.id = bucket_id JOIN workload ON workload.id = workload_id"
    )
    assert ask(database, query) == [("it has no build()", "-", None, "setup_error")]


def test_a_replica_started_again_is_a_row_of_its_own(store: Store, database: str) -> None:
    store.write_many([*made.head(), made.replica(), made.evaluation(), made.probe("cold")])
    store.write_many([made.replica(server="another"), made.probe("walk")])
    query = "SELECT probe.probe, replica.server FROM probe JOIN replica ON replica.id = replica_id ORDER BY probe.id"
    assert ask(database, query) == [("compile", made.named("server", "first", 0)), ("walk", "another")]


def test_an_interrupted_run_goes_on_and_ends(store: Store, database: str) -> None:
    store.write_many([*made.head(), made.end(status="interrupted")])
    assert ask(database, "SELECT status FROM run") == [("interrupted",)]
    store.reopen(made.run_uuid())
    assert ask(database, "SELECT status, finished_at FROM run") == [("running", None)]
    store.write_many([made.replica(), *made.cell(replicas=1), made.end()])
    assert ask(database, "SELECT status FROM run") == [("finished",)]
    with pytest.raises(UserError, match="is finished"):
        store.reopen(made.run_uuid())
    # An older copy of the file says how the run once was.
    store.write_many([made.head()[0], made.end(status="interrupted")])
    assert ask(database, "SELECT status FROM run") == [("finished",)]
