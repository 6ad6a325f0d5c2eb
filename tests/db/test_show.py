"""What a run's document says, against the records it was made from."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy.orm import Session

from db.queries.repro import evaluation as repro_evaluation
from db.queries.show import evaluation_document, run_document
from db.session import open_reader
from db.store import Store
from evaluator.errors import UserError
from evaluator.sink import artifact
from tests.db import made
from tests.db.asking import reading

Document = dict[str, Any]


@pytest.fixture(scope="module")
def document(two_runs: str) -> Document:
    return shown(two_runs, "label-first")


def shown(database: str, reference: str) -> Document:
    with reading(database) as connection:
        document = run_document(connection, reference)
    # Strict JSON, or this raises.
    text = json.dumps(document, allow_nan=False)
    assert json.loads(text) == document
    return document


def test_the_run(document: Document) -> None:
    run = document["run"]
    assert run["uuid"] == made.run_uuid("first")
    assert (run["label"], run["profile"], run["status"]) == ("label-first", "quick", "finished")
    assert run["started_at"] == "2026-03-01T10:00:00+00:00"
    assert run["finished_at"] == "2026-03-01T11:00:00+00:00"
    assert run["argv"] == ["run", "--profile", "quick"]
    assert run["machine"]["id"] == "machine-1"
    (environment,) = run["environments"]
    assert environment["hash"] == "e" * 64 and environment["torch"] == "2.13.0+cpu"
    assert environment["metrics"] == {"import.torch_s": {"unit": "s", "samples": [4.0, 5.0]}}
    assert [one["number"] for one in environment["replicas"]] == [0, 1]


def test_an_evaluation_has_what_was_promised(document: Document) -> None:
    assert [one["bucket"] for one in document["evaluations"]] == ["n=4", "n=8"]
    one = document["evaluations"][0]
    promised = {
        "id",
        "workload",
        "bucket",
        "variant",
        "target",
        "environment",
        "conditions",
        "status",
        "reason",
        "probes",
        "error",
        "log_tail",
        "artifacts",
        "facts",
        "breaks",
        "recompile_reasons",
        "kernels",
        "accuracy",
        "metrics",
    }
    assert promised <= set(one)
    assert (one["workload"], one["variant"], one["target"], one["status"]) == (
        "made.absolute",
        "default",
        "cpu",
        "ok",
    )
    assert one["params"] == {"n": 4} and one["options"] == {"dynamic": False}
    assert one["environment"] == {**made.FIELDS, "id": one["environment"]["id"], "hash": "e" * 64}
    assert one["conditions"] == {"before": {"load_1m": 0.5}, "after": {"load_1m": 0.7}}
    assert one["error"] is None and one["log_tail"] == "printed\n"


def test_facts_and_evidence_are_those_of_the_traced_walk(document: Document) -> None:
    one = document["evaluations"][0]
    for name, value in made.WALK_FACTS.items():
        assert one["facts"][name] == value
    assert one["facts"]["compile.warm"] == {"fx_cache_hit": 0}
    (found,) = one["breaks"]
    assert found == made.BREAK
    (reason,) = one["recompile_reasons"]
    assert reason == made.RECOMPILE
    (kernel,) = one["kernels"]
    source = artifact("kernel_source", made.KERNEL)["sha256"]
    assert kernel == {
        "name": "cpp_fused_abs_0",
        "kind": "cpp",
        "form": None,
        "source_hash": "b" * 64,
        "launch_hash": None,
        "graph": "0/0",
        "origin": "inference",
        "source_sha256": source,
        # What nobody said is null, and no zero.
        **dict.fromkeys(("calls", "loads", "stores", "reductions", "bytes_moved")),
    }
    assert one["builds"] == []
    assert one["observed"] == {"kernels": [], "operators": []}


def test_what_was_seen_to_run(tmp_path: Path) -> None:
    database = str(tmp_path / "runs.db")
    store = Store(database)
    *records, ended = made.whole_run("first")
    store.write_many([*records, *made.profiled_cell("first"), ended])
    before = store.counts.new
    store.write_many([*records, *made.profiled_cell("first"), ended])
    assert store.counts.new == before
    store.close()
    one = shown(database, "label-first")["evaluations"][-1]
    assert (one["target"], one["status"]) == ("cuda", "ok")
    assert one["observed"] == {"kernels": made.OBSERVED, "operators": made.OPERATORS}
    (trace,) = [file for file in one["artifacts"] if file["kind"] == "chrome_trace"]
    assert one["facts"]["profile"]["compiled"] == {**made.PROFILE["compiled"], "trace": trace["sha256"]}
    # A batch of a profile is no timing.
    assert one["metrics"] == {}


def test_a_cell_of_a_card_that_is_not_there(tmp_path: Path) -> None:
    database = str(tmp_path / "runs.db")
    store = Store(database)
    *records, ended = made.whole_run("first")
    store.write_many([*records, *made.codegen_cell("first"), ended])
    # And once more: every record is known.
    before = store.counts.new
    store.write_many([*records, *made.codegen_cell("first"), ended])
    assert store.counts.new == before
    store.close()
    one = shown(database, "label-first")["evaluations"][-1]
    source = artifact("kernel_source", made.TRITON)["sha256"]
    assert one["target"] == "codegen:h100" and one["status"] == "ok"
    assert one["kernels"] == [{**made.TRITON_KERNEL, "source_sha256": source}]
    assert one["builds"] == [{**made.BUILD, "source_sha256": source}, {**made.REFUSED, "source_sha256": None}]
    assert one["facts"]["card"] == {"name": "h100", "capability": [9, 0], "multi_processors": 132}
    assert list(one["probes"]) == ["walk", "build"]
    assert one["metrics"] == {} and one["accuracy"] is None


def test_accuracy_and_differences(document: Document) -> None:
    one = document["evaluations"][0]
    assert one["accuracy"] == {
        "verdict": "pass",
        "max_abs": 1e-7,
        "max_rel": 2e-7,
        "rmse_fp64": 3e-8,
        "eager_rmse_fp64": 4e-8,
        "reason": None,
    }
    assert one["accuracy_series"]["default"]["details"]["leaves"] == [{"path": "out", "digest": "ff"}]
    assert one["differences"] == [{"leaf": "out", "kind": "stride", "eager": "(2, 1)", "compiled": "(1, 4)"}]


def test_metrics(document: Document) -> None:
    metrics = document["evaluations"][0]["metrics"]
    cold = metrics["compile.cold_s"]
    assert (cold["unit"], cold["median"], cold["samples"]) == ("s", 3.5, [3.0, 4.0])
    assert cold["interval"] is None and cold["replica_medians"] == [3.0, 4.0]
    compiled = metrics["compiled.wall_ms"]
    assert (compiled["unit"], compiled["median"]) == ("ms", 3.0)
    assert compiled["samples"] == [1.0, 3.0, 2.0, 9.0, 1.0, 4.0]
    assert compiled["eager_medians"] == [3.0, 6.0]
    # Measured in neither replica: there, without a number.
    assert metrics["compiled.stream_ms"] == {"unit": "ms", "median": None, "samples": [None, None]}
    assert metrics["compile.dynamo_s"]["samples"] == [0.5, 1.5]


def test_timing_holds_every_round_and_how_it_was_taken(document: Document) -> None:
    timing = document["evaluations"][0]["timing"]
    assert {name: timing["protocol"][name] for name in made.PROTOCOL} == made.PROTOCOL
    assert len(timing["protocols"]) == 2
    assert [(one["replica"], one["round"], one["value"]) for one in timing["rounds"]["eager.wall_ms"]] == [
        (0, 0, 2.0),
        (0, 1, 4.0),
        (0, 2, 3.0),
        (1, 0, 5.0),
        (1, 1, 7.0),
        (1, 2, 6.0),
    ]
    assert [one["value"] for one in timing["rounds"]["compile.dynamo_s"]] == [0.5, 99.0, 1.5, 99.0]


def test_the_benchmark_block(document: Document) -> None:
    assert document["evaluations"][0]["benchmark"] == {
        "torch": "2.13.0+cpu",
        "built_cuda": None,
        "driver": None,
        "gpu": None,
        "capability": None,
        "dtype": "float32",
        "shape": [[4, 2], [2]],
        "strides": [[2, 1], [1]],
        "precision": "ieee",
        "precision_in_force": {"matmul": "ieee"},
        "CUDA_LAUNCH_BLOCKING": "unset",
        "warmup": 12,
        "repeats": 50,
        "rounds": 3,
        "samples": {
            "eager.wall_ms": [2.0, 4.0, 3.0, 5.0, 7.0, 6.0],
            "compiled.wall_ms": [1.0, 3.0, 2.0, 9.0, 1.0, 4.0],
        },
        "median_of_batch_means": {"eager.wall_ms": 4.5, "compiled.wall_ms": 3.0},
    }


def test_artifacts_can_be_read_where_the_document_says(document: Document) -> None:
    found = {one["kind"]: one for one in document["evaluations"][0]["artifacts"]}
    assert set(found) == {"trace", "workload_source"}
    assert gzip.decompress(Path(found["trace"]["path"]).read_bytes()) == made.TRACE
    assert found["trace"]["sha256"] == artifact("trace", made.TRACE)["sha256"]
    assert (found["trace"]["probe"], found["trace"]["replica"]) == ("walk", 0)


def test_every_process_of_every_probe_is_told(document: Document) -> None:
    probes = document["evaluations"][0]["probes"]
    assert {name: (one["status"], one["reason"]) for name, one in probes.items()} == dict.fromkeys(
        ("compile", "walk", "timing", "accuracy"), ("ok", None)
    )
    assert [(one["replica"], one["cache"]) for one in probes["compile"]["processes"]] == [
        (0, "cold"),
        (0, "warm"),
        (1, "cold"),
        (1, "warm"),
    ]


@pytest.fixture
def failed(database: str) -> Iterator[str]:
    error = {"type": "RuntimeError", "message": "it would not", "chain": [], "traceback": "Traceback ..."}
    store = Store(database)
    store.write_many(
        [
            *made.head(),
            made.replica(),
            made.evaluation(),
            made.probe(
                "cold", status="timeout", reason="over 300 s", stage="compile", log_tail="hung here\n"
            ),
            made.probe(
                "walk", status="runtime_error", error=error, log_tail="raised here\n", facts={"graphs": 1}
            ),
            made.probe("timing", status="skipped", started_at=None, duration_s=None, log_tail=None),
            made.finished(status="timeout", reason="over 300 s"),
            # The other bucket is still going on.
            made.evaluation(bucket="n=8"),
            made.probe("cold", bucket="n=8", samples=[made.sample("compile.cold_s", 3.0)]),
            made.probe("walk", bucket="n=8", facts={"graphs": 4}),
        ]
    )
    store.close()
    yield database


def test_a_failure_is_told_with_its_error_and_log(failed: str) -> None:
    one = shown(failed, "latest")["evaluations"][0]
    assert (one["status"], one["reason"]) == ("timeout", "over 300 s")
    assert one["log_tail"] == "hung here\n"
    # The worst probe was ended from outside and raised nothing: the error is the next worse one's.
    assert one["error"]["type"] == "RuntimeError" and one["error"]["message"] == "it would not"
    assert one["probes"]["compile"]["status"] == "timeout"
    assert one["probes"]["timing"] == {
        "status": "skipped",
        "reason": None,
        "processes": [
            {
                "replica": 0,
                "cache": None,
                "attempt": 1,
                "status": "skipped",
                "reason": None,
                "stage": None,
                "started_at": None,
                "duration_s": None,
                "limits": {"time_s": 300.0, "memory_mb": 8000.0},
                "conditions": {"before": {"load_1m": 0.5}, "after": {"load_1m": 0.7}},
                "facts": {},
                "error": None,
            }
        ],
    }
    assert one["metrics"] == {} and one["accuracy"] is None and one["benchmark"] is None


def test_an_evaluation_that_goes_on_shows_what_there_is(failed: str) -> None:
    one = shown(failed, "latest")["evaluations"][1]
    assert one["status"] is None
    assert one["facts"]["graphs"] == 4 and one["facts"]["ops"] is None
    assert one["metrics"]["compile.cold_s"]["median"] == 3.0


def test_a_second_accuracy_series_stands_beside_the_first(database: str) -> None:
    store = Store(database)
    first = {"verdict": "not_comparable", "max_abs": 0.5, "reason": "random numbers"}
    probe = made.probe(
        "accuracy", accuracy=first, accuracy_fallback_random={"verdict": "pass", "max_abs": 1e-9}
    )
    store.write_many([*made.head(), made.replica(), made.evaluation(), probe, made.finished()])
    store.close()
    (one,) = shown(database, "latest")["evaluations"]
    assert one["accuracy"]["verdict"] == "not_comparable"
    assert one["accuracy_series"]["fallback_random"]["verdict"] == "pass"


def test_one_evaluation_by_its_number_or_uuid(two_runs: str, document: Document) -> None:
    one = document["evaluations"][1]
    with reading(two_runs) as connection:
        assert evaluation_document(connection, str(one["id"])) == one
        assert evaluation_document(connection, one["uuid"]) == one
        with pytest.raises(UserError, match="no evaluation"):
            evaluation_document(connection, "987654")


def test_a_session_of_the_orm_reads_the_same(two_runs: str, document: Document) -> None:
    engine = open_reader(two_runs)
    with Session(engine) as session:
        assert run_document(session, "label-first") == document
    engine.dispose()


def test_what_a_script_needs_to_show_it_again(two_runs: str, document: Document) -> None:
    with reading(two_runs) as connection:
        found = repro_evaluation(connection, str(document["evaluations"][1]["id"]))
    assert found["workload"]["name"] == "made.absolute"
    assert found["workload"]["source"] == made.SOURCE.decode()
    assert found["workload"]["variables"] == ["OMP_NUM_THREADS"]
    assert found["libraries"] == {"numpy": "2.4.0"}
    assert found["buckets"] == [{"name": "n=4", "params": {"n": 4}}, {"name": "n=8", "params": {"n": 8}}]
    assert found["facts"]["graphs"] == 2 and found["options"] == {"dynamic": False}
