"""From the traces that a profile process left to its records: what is kept, what is said, and what is not believed."""

from __future__ import annotations

import base64
import json
import zlib
from pathlib import Path
from typing import Any

import pytest

from evaluator.control import profile_records
from evaluator.control.attempts import Attempt, Settled
from evaluator.control.probe_records import Files, collect, merged, probe_record
from evaluator.worker.protocol import PROFILED_REGION
from tests.evaluator.chrome_trace.made import BATCH, Event, operator, region, written

# The batch that was drawn by hand, under the name that the probe gives it.
DRAWN = (region(PROFILED_REGION, 5, 110), *BATCH[1:])
LIMITS = {"time_s": 300.0, "memory_mb": 1000.0}


def attempt(folder: Path, mode: str, said: dict[str, Any], *events: Event) -> Attempt:
    folder.mkdir(exist_ok=True)
    if events:
        (folder / "0.json").write_bytes(written(*events))
    made = Attempt(log=folder / "log", limits=LIMITS, profile_folder=folder)
    facts = {"calls": 1, "problem": None, "sync_points": [], "sync_reason": None, **said}
    result = {"probe": "profile", "bucket": "a", "status": "ok", "facts": {mode: facts}}
    made.results = {("profile", "a"): result}
    return made


def recorded(made: Attempt, on_device: bool = True) -> tuple[dict[str, Any], Files]:
    files = collect([made], (), False, on_device)
    settled = Settled(made.results["profile", "a"], made)
    return probe_record("r", "e", (0, "profile", None), settled, files), files


def test_a_trace_becomes_an_artifact_rows_and_facts(tmp_path: Path) -> None:
    loaded = {"relu": {"registers": 22, "spills": 0, "shared": 8}, "not launched": {"spills": 5}}
    said = {"file": "0.json", "launchers": loaded}
    record, files = recorded(attempt(tmp_path, "compiled", said, *DRAWN))
    facts = record["facts"]["compiled"]
    assert [(one["kind"], one["name"], one["launches"]) for one in record["observed_kernels"]] == [
        ("kernel", "relu", 2),
        ("copy", "Memcpy HtoD (Pinned -> Device)", 1),
        ("kernel", "gemm", 1),
    ]
    assert [one["device_ms"] for one in record["observed_kernels"]] == pytest.approx([0.06, 0.04, 0.03])
    assert {one["mode"] for one in record["observed_kernels"]} == {"compiled"}
    # Known of a kernel that Inductor launched, of no other.
    assert [one["spills"] for one in record["observed_kernels"]] == [0, None, None]
    assert [(one["name"], one["calls"], one["kernels"]) for one in record["observed_operators"]] == [
        ("aten::mm", 1, 2),
        ("aten::relu", 1, 1),
    ]
    (kept,) = record["artifacts"]
    assert kept == {"kind": "chrome_trace", "sha256": facts["trace"]}
    content = zlib.decompress(base64.b64decode(files.artifacts[facts["trace"]]["data"]))
    assert len(content) == facts["trace_bytes"]
    # Perfetto's own format: complete events with a name, times and a place.
    events = json.loads(content)["traceEvents"]
    assert len(events) == len(DRAWN)
    for one in events:
        assert {"ph", "name", "ts", "dur", "pid", "tid"} <= set(one)
        assert one["ph"] == "X"
    assert (facts["reason"], facts["batch"]["kernels"], facts["calls"]) == (None, 3, 1)
    assert not {"file", "problem", "launchers"} & set(facts)


def test_both_modes_are_one_record(tmp_path: Path) -> None:
    eager, _ = recorded(attempt(tmp_path / "e", "eager", {"file": "0.json"}, *DRAWN))
    compiled, _ = recorded(attempt(tmp_path / "c", "compiled", {"file": "0.json"}, *DRAWN))
    both = merged(eager, compiled)
    assert [one["mode"] for one in both["observed_kernels"]] == ["eager"] * 3 + ["compiled"] * 3
    assert [one["mode"] for one in both["observed_operators"]] == ["eager"] * 2 + ["compiled"] * 2
    assert set(both["facts"]) == {"eager", "compiled"}
    # The two traces differ in their names alone, and so in their hashes.
    assert len(both["artifacts"]) == 2


def test_on_a_cpu_there_are_operators_and_nothing_of_a_device(tmp_path: Path) -> None:
    events = (region(PROFILED_REGION, 0, 50), operator("aten::mm", 1, 9))
    record, _ = recorded(attempt(tmp_path, "eager", {"file": "0.json"}, *events), on_device=False)
    assert record["observed_kernels"] == []
    assert [one["kernels"] for one in record["observed_operators"]] == [None]
    facts = record["facts"]["eager"]
    assert facts["batch"] == {}
    assert facts["reason"] == "nothing is launched on this target: the host does the work itself"
    assert record["artifacts"]


def test_what_the_profiler_could_not_do_is_the_reason(tmp_path: Path) -> None:
    said = {"file": None, "problem": "under the profiler it raised RuntimeError: no"}
    record, files = recorded(attempt(tmp_path, "eager", said))
    assert record["facts"]["eager"]["reason"] == "under the profiler it raised RuntimeError: no"
    assert (record["artifacts"], record["observed_kernels"], files.artifacts) == ([], [], {})
    assert record["facts"]["eager"]["trace"] is None
    assert record["status"] == "ok"


@pytest.mark.parametrize("content", [b"", b'{"traceEvents": [', b'{"events": []}', b"\x00\x01"])
def test_a_damaged_trace_is_not_kept(tmp_path: Path, content: bytes) -> None:
    made = attempt(tmp_path, "eager", {"file": "0.json"})
    (tmp_path / "0.json").write_bytes(content)
    record, files = recorded(made)
    assert record["facts"]["eager"]["reason"].startswith("the trace can't be read: ")
    assert (record["artifacts"], files.artifacts) == ([], {})


def test_a_trace_that_is_gone_is_no_error(tmp_path: Path) -> None:
    record, _ = recorded(attempt(tmp_path, "eager", {"file": "0.json"}))
    assert record["facts"]["eager"]["reason"] == "the trace can't be read: No such file or directory"


def test_a_process_can_only_name_files_of_its_own_folder(tmp_path: Path) -> None:
    (tmp_path / "outside.json").write_bytes(written(*DRAWN))
    record, files = recorded(attempt(tmp_path / "own", "eager", {"file": "../outside.json"}))
    assert record["facts"]["eager"]["trace"] is None
    assert files.artifacts == {}


def test_a_trace_that_is_too_large_is_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(profile_records, "MOST_KEPT_BYTES", 100)
    record, files = recorded(attempt(tmp_path, "eager", {"file": "0.json"}, *DRAWN))
    assert "none over 0 MB is kept" in record["facts"]["eager"]["reason"]
    assert files.artifacts == {}


def test_a_probe_that_failed_has_no_trace(tmp_path: Path) -> None:
    made = attempt(tmp_path, "eager", {})
    made.results["profile", "a"] = {
        "probe": "profile",
        "bucket": "a",
        "status": "runtime_error",
        "facts": None,
    }
    record, _ = recorded(made)
    assert (record["status"], record["facts"], record["observed_operators"]) == ("runtime_error", {}, [])
