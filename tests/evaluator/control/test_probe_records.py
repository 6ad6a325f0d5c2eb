"""From what a process said and left behind to the record that is kept."""

from __future__ import annotations

import base64
import zlib
from pathlib import Path
from typing import Any

import pytest

from evaluator.control.attempts import Attempt, Settled, skipped
from evaluator.control.probe_records import LOG_TAIL_BYTES, Files, collect, merged, probe_record, read_ends
from evaluator.control.walk_records import ran_eager, what_is_known
from evaluator.trace.evidence import FACTS, Evidence
from evaluator.trace.recompiles import Recompile

TRACES = Path(__file__).parents[2] / "data" / "traces"


def attempt_with(log: Path, **more: Any) -> Attempt:
    attempt = Attempt(log=log, limits={"time_s": 300.0, "memory_mb": 1000.0}, **more)
    attempt.started_at = "2026-01-02T03:04:05+00:00"
    attempt.done = {"conditions": {"before": {"load_1m": 1.0}, "after": None}, "startup_s": 0.02}
    attempt.spent = {("compile", "a"): 1.25}
    return attempt


def test_a_log_is_kept_whole_with_its_tail_in_the_record(tmp_path: Path) -> None:
    log = tmp_path / "log"
    text = "".join(f"line {number}\n" for number in range(2000))
    log.write_text(text)
    attempt = attempt_with(log)
    files = collect([attempt], (), False)
    result = {"probe": "compile", "bucket": "a", "status": "ok", "samples": [{"metric": "m", "value": 1.0}]}
    record = probe_record("r", "e", (0, "compile", "cold"), Settled(result, attempt), files)
    assert record["log_tail"] == text[-LOG_TAIL_BYTES:]
    (kept,) = record["artifacts"]
    assert kept["kind"] == "log"
    content = zlib.decompress(base64.b64decode(files.artifacts[kept["sha256"]]["data"]))
    assert content.decode() == text
    assert record["duration_s"] == 1.25
    assert record["limits"] == {"time_s": 300.0, "memory_mb": 1000.0}
    assert record["conditions"]["before"] == {"load_1m": 1.0}


def test_a_log_that_floods_keeps_both_ends(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_bytes(b"first" + b"x" * 5000 + b"last!")
    kept = read_ends(log, 1000)
    assert kept.startswith(b"first")
    assert kept.endswith(b"last!")
    assert b"\n... 4010 bytes left out ...\n" in kept
    assert read_ends(log, 5010) == log.read_bytes()
    assert read_ends(tmp_path / "none", 10) == b""


def test_a_silent_process_leaves_no_log(tmp_path: Path) -> None:
    attempt = attempt_with(tmp_path / "none")
    files = collect([attempt], (), False)
    result = {"probe": "compile", "bucket": "a", "status": "ok"}
    record = probe_record("r", "e", (0, "compile", "cold"), Settled(result, attempt), files)
    assert (record["log_tail"], record["artifacts"], files.artifacts) == (None, [], {})


def test_a_probe_that_was_not_run_says_only_why() -> None:
    record = probe_record("r", "e", (0, "timing", None), skipped("timing", "a", "the walk crashed"), Files())
    assert (record["status"], record["reason"]) == ("skipped", "the walk crashed")
    assert record["started_at"] is None
    assert record["samples"] == []


def test_what_a_worker_says_beyond_the_known_is_kept(tmp_path: Path) -> None:
    result = {
        "kind": "result",
        "id": 7,
        "probe": "accuracy",
        "bucket": "a",
        "status": "not_comparable",
        "accuracy": {"verdict": "not_comparable"},
        "accuracy_fallback_random": {"verdict": "pass"},
        "error": None,
    }
    attempt = attempt_with(tmp_path / "none")
    record = probe_record("r", "e", (0, "accuracy", None), Settled(result, attempt), Files())
    assert record["accuracy_fallback_random"] == {"verdict": "pass"}
    assert "id" not in record
    assert "kind" not in record


def test_home_folders_are_taken_out_of_everything(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/alice")
    log = tmp_path / "log"
    log.write_text("Warning in /home/alice/model.py\n")
    attempt = attempt_with(log)
    files = collect([attempt], (), False)
    error = {"type": "ValueError", "message": "x", "traceback": 'File "/home/alice/model.py", line 3'}
    result = {"probe": "compile", "bucket": "a", "status": "runtime_error", "error": error}
    record = probe_record("r", "e", (0, "compile", "cold"), Settled(result, attempt), files)
    assert "alice" not in str(record)
    (kept,) = files.artifacts.values()
    assert zlib.decompress(base64.b64decode(kept["data"])) == b"Warning in ~/model.py\n"


def memory(mode: str, status: str, started: str) -> dict[str, Any]:
    return {
        "status": status,
        "reason": f"because of {mode}",
        "samples": [{"metric": f"{mode}.host_peak_mb", "value": 1.0}],
        "facts": {},
        "artifacts": [{"kind": "log", "sha256": mode}, {"kind": "log", "sha256": "both"}],
        "started_at": started,
        "duration_s": 2.0,
    }


@pytest.mark.parametrize(
    ("first", "second", "status", "reason"),
    [
        ("ok", "ok", "ok", "because of eager"),
        ("ok", "crashed", "crashed", "because of compiled"),
        ("runtime_error", "ok", "runtime_error", "because of eager"),
        ("compile_error", "crashed", "crashed", "because of compiled"),
    ],
)
def test_two_processes_of_a_probe_are_one_record(first: str, second: str, status: str, reason: str) -> None:
    record = merged(memory("eager", first, "1"), memory("compiled", second, "2"))
    assert (record["status"], record["reason"]) == (status, reason)
    assert [sample["metric"] for sample in record["samples"]] == [
        "eager.host_peak_mb",
        "compiled.host_peak_mb",
    ]
    assert (record["started_at"], record["duration_s"]) == ("1", 4.0)
    assert [one["sha256"] for one in record["artifacts"]] == ["eager", "both", "compiled"]


def refusal(frame: int) -> Recompile:
    return Recompile("k == 1", "k", (), None, None, "f", "f", f"{frame}/8", refused=True)


def evidence(bucket: str, *refused: int) -> Evidence:
    return Evidence(bucket, {}, refusals=tuple(refusal(frame) for frame in refused))


def test_frames_that_run_eager_in_silence_are_found_by_what_is_missing() -> None:
    # Frame 0 is refused in bucket c, and stays eager from then on.
    walk = {"a": evidence("a"), "c": evidence("c", 0), "d": evidence("d")}
    assert ran_eager("a", ["0/0", "1/0"], walk) == "none"
    assert ran_eager("c", ["1/0"], walk) == "some"
    assert ran_eager("d", ["1/0"], walk) == "some"
    assert ran_eager("d", [], walk) == "all"
    # No limit was hit in the first bucket; where no compiled region ran, all ran eager for whatever reason.
    assert ran_eager("a", [], walk) == "all"
    # An earlier entry of the frame still fits this bucket.
    assert ran_eager("d", ["0/3", "1/0"], walk) == "none"
    assert ran_eager("d", None, walk) is None


@pytest.mark.parametrize("status", ["setup_error", "crashed", "unsupported"])
def test_a_bucket_that_was_never_called_has_no_counts(tmp_path: Path, status: str) -> None:
    attempt = attempt_with(tmp_path / "none", trace_folder=tmp_path)
    result = {"probe": "walk", "bucket": "a", "status": status}
    record = probe_record(
        "r", "e", (0, "walk", None), Settled(result, attempt), collect([attempt], (), False)
    )
    assert not set(record["facts"]) & set(FACTS)


def test_a_traced_process_that_wrote_no_log_did_nothing(tmp_path: Path) -> None:
    attempt = attempt_with(tmp_path / "none", trace_folder=tmp_path)
    attempt.segments = [{"bucket": "a", "walk": 1, "call": 0, "start": 0}]
    files = collect([attempt], (), False)
    result = {"probe": "walk", "bucket": "a", "status": "crashed"}
    record = probe_record("r", "e", (0, "walk", None), Settled(result, attempt), files)
    assert (record["facts"]["graphs"], record["facts"]["graph_breaks"]) == (0, 0)
    assert record["artifacts"] == []


@pytest.mark.parametrize(
    ("status", "regions", "told"),
    [
        # The process was ended while it compiled.
        ("timeout", None, (None, None, "untested")),
        ("crashed", None, (None, None, "untested")),
        ("out_of_memory", None, (None, None, "untested")),
        # The call raised: there was no graph, and no eager run in its place.
        ("compile_error", None, (True, None, "untested")),
        ("runtime_error", None, (True, None, "untested")),
        # The call came back.
        ("ok", [], (True, "all", "no")),
    ],
)
def test_only_calls_that_came_back_tell_what_ran(
    tmp_path: Path, status: str, regions: list[str] | None, told: tuple[bool | None, str | None, str]
) -> None:
    attempt = attempt_with(tmp_path / "none", trace_folder=tmp_path)
    attempt.segments = [{"bucket": "a", "walk": 1, "call": 0, "start": 0}]
    reported = {} if regions is None else {"regions": regions}
    settled = Settled({"probe": "walk", "bucket": "a", "status": status, "facts": reported}, attempt)
    facts = probe_record("r", "e", (0, "walk", None), settled, collect([attempt], (), False))["facts"]
    assert facts["graphs"] == 0
    assert (facts["nothing_compiled"], facts["ran_eager"], facts["whole_graph"]) == told


@pytest.mark.parametrize("name", ["graphs", "ops", "graph_breaks", "compiles", "nothing_compiled"])
def test_what_the_target_refuses_before_a_graph_has_no_counts(tmp_path: Path, name: str) -> None:
    attempt = attempt_with(tmp_path / "none", trace_folder=tmp_path)
    attempt.segments = [{"bucket": "called", "walk": 1, "call": 0, "start": 0}]
    files = collect([attempt], (), False)
    # While its first graph is compiled, and before it was called.
    for bucket in ("called", "not called"):
        settled = Settled({"probe": "walk", "bucket": bucket, "status": "unsupported"}, attempt)
        record = probe_record("r", "e", (0, "walk", None), settled, files)
        assert record["facts"].get(name) is None


@pytest.mark.parametrize(
    ("facts", "starts", "counts"),
    [
        # It had a graph, and what came before the refusal happened.
        ({"graphs": 1, "graph_breaks": 0, "reused_code": False}, 2, (1, 0)),
        # It met a break, and was refused in the graph behind it.
        ({"graphs": 0, "graph_breaks": 1, "reused_code": False}, 2, (None, 1)),
        # It ran what an earlier bucket had compiled: that it made none is so.
        ({"graphs": 0, "graph_breaks": 0, "reused_code": True}, 0, (0, 0)),
        # The process began a compile, of which the trace says nothing.
        ({"graphs": 0, "graph_breaks": 0, "reused_code": True}, 1, (None, None)),
    ],
)
def test_what_happened_before_a_refusal_is_counted(
    facts: dict[str, Any], starts: int, counts: tuple[int | None, int | None]
) -> None:
    known = what_is_known({**facts, "nothing_compiled": False, "compile_starts": starts}, "unsupported")
    assert (known["graphs"], known["graph_breaks"]) == counts


def test_a_trace_becomes_facts_and_an_artifact(tmp_path: Path) -> None:
    import gzip

    name = "two_breaks"
    (tmp_path / "x.log").write_bytes(gzip.decompress((TRACES / f"{name}.log.gz").read_bytes()))
    attempt = attempt_with(tmp_path / "none", trace_folder=tmp_path)
    attempt.segments = [{"bucket": "a", "walk": 1, "call": 0, "start": 0}]
    files = collect([attempt], (), False)
    result = {"probe": "walk", "bucket": "a", "status": "ok", "facts": {"regions": ["0/0"]}}
    record = probe_record("r", "e", (0, "walk", None), Settled(result, attempt), files)
    assert (
        record["facts"]["graph_breaks"] == len({(one["file"], one["line"]) for one in record["breaks"]}) == 2
    )
    assert record["facts"]["ran_eager"] == "none"
    assert "trace" in {one["kind"] for one in record["artifacts"]}
    named = {one["sha256"] for one in record["artifacts"]}
    assert named <= set(files.artifacts)
    for kernel in record["kernels"]:
        assert "source" not in kernel
        assert kernel.get("source_sha256") is None or kernel["source_sha256"] in named
