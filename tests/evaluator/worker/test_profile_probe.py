"""The profile probe for real, on the CPU: a process a mode, every bucket, and what its traces hold."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from evaluator.chrome_trace.observed import observe
from evaluator.chrome_trace.portable import portable
from evaluator.chrome_trace.recording import read_recording
from evaluator.control.server_client import Server
from evaluator.worker.protocol import PROFILED_REGION

pytestmark = pytest.mark.slow

LIMITS = {"time_s": 120, "memory_mb": 8000}

INFERENCE = """
import torch
BUCKETS = [{"n": 4}, {"n": 6}]
COMPILE = {"backend": "aot_eager"}
def build():
    return torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.Tanh())
def inputs(bucket):
    return (torch.randn(bucket["n"], 8),), {}
"""
TRAINING = """
import torch
BUCKETS = [{"n": 4}]
COMPILE = {"backend": "aot_eager"}
TRAINING = True
def build():
    return torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.Tanh())
def inputs(bucket):
    return (torch.randn(bucket["n"], 8),), {}
"""
PROFILES_ITSELF = """
import torch
BUCKETS = [{"n": 4}]
COMPILE = {"backend": "aot_eager"}
def build():
    def forward(x):
        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]):
            return x.exp()
    return forward
def inputs(bucket):
    return (torch.randn(bucket["n"]),), {}
"""
FAILS = """
import torch
BUCKETS = [{"n": 4}, {"n": 5}]
COMPILE = {"backend": "aot_eager"}
def build():
    def forward(x):
        if x.shape[0] == 5:
            raise ValueError("five is too much")
        return x.exp()
    return forward
def inputs(bucket):
    return (torch.randn(bucket["n"]),), {}
"""
ENDS = """
import os, torch
BUCKETS = [{"n": 4}]
def build():
    def forward(x):
        os._exit(3)
    return forward
def inputs(bucket):
    return (torch.randn(bucket["n"]),), {}
"""
SOURCES = {
    "inference": INFERENCE,
    "training": TRAINING,
    "itself": PROFILES_ITSELF,
    "fails": FAILS,
    "ends": ENDS,
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("profile")
    for name, text in SOURCES.items():
        (made / f"{name}.py").write_text(text)
    return made


@pytest.fixture(scope="module")
def server(folder: Path) -> Iterator[Server]:
    python = Path(os.environ.get("COMPILEWATCH_TEST_BARE_PYTHON", sys.executable))
    with Server(python, folder / "temporary", folder / "server.log") as started:
        yield started


def profiled(server: Server, folder: Path, workload: str, mode: str, buckets: list[str]) -> tuple[Any, Path]:
    """What the process said, and where its traces are."""
    place = folder / f"{workload}-{mode}"
    place.mkdir(exist_ok=True)
    request = {
        "probe": "profile",
        "sources": [str(folder / f"{name}.py") for name in SOURCES],
        "packs": False,
        "workload": workload,
        "variant": "default",
        "target": "cpu",
        "buckets": buckets,
        "seed": 0,
        "cache_dir": str(folder / f"{workload}-caches"),
        "mode": mode,
        "profile_dir": str(place),
        "limits": LIMITS,
        "log": str(place / "log"),
    }
    return list(server.probe(request, LIMITS["time_s"])), place


def results(records: list[Any]) -> dict[str, Any]:
    return {r["bucket"]: r for r in records if r["kind"] == "result"}


def seen(place: Path, file: str) -> Any:
    return observe(read_recording((place / file).read_bytes()), PROFILED_REGION, on_device=False)


@pytest.mark.parametrize("mode", ["eager", "compiled"])
def test_each_bucket_leaves_a_trace_of_its_calls(server: Server, folder: Path, mode: str) -> None:
    records, place = profiled(server, folder, "inference", mode, ["n=4", "n=6"])
    assert records[-1]["status"] == "ok", records[-1]
    found = results(records)
    assert {name: one["status"] for name, one in found.items()} == {"n=4": "ok", "n=6": "ok"}
    files = set()
    for one in found.values():
        facts = one["facts"][mode]
        files.add(facts["file"])
        calls = {operator.name: operator.calls for operator in seen(place, facts["file"]).operators}
        # The module has one product and one tanh, and a small call is repeated.
        assert facts["calls"] == 5
        assert calls["aten::addmm"] == calls["aten::tanh"] == 5
        assert ("Torch-Compiled Region" in str(calls)) == (mode == "compiled")
        assert (facts["problem"], facts["compiles_in_batch"]) == (None, 0)
        assert facts["sync_points"] is None
        assert facts["sync_reason"] == "the host does the work itself: there is no device to wait for"
    assert len(files) == 2


def test_what_is_kept_is_a_whole_chrome_trace_without_this_machines_name(
    server: Server, folder: Path
) -> None:
    _, place = profiled(server, folder, "inference", "eager", ["n=4"])
    raw = (place / "0.json").read_bytes()
    # torch writes it from 2.12 on.
    assert json.loads(raw).get("host_name") in (None, os.uname().nodename)
    kept = json.loads(portable(raw, "eager.json"))
    complete = [one for one in kept["traceEvents"] if one["ph"] == "X"]
    assert len(complete) > 10
    for one in complete:
        assert isinstance(one["name"], str)
        assert one["dur"] >= 0
        assert {"ts", "pid", "tid", "cat"} <= set(one)
    assert "host_name" not in kept
    text = json.dumps({**kept, "traceEvents": [one.get("args") for one in kept["traceEvents"]]})
    assert str(folder) not in text
    assert str(Path.home()) + "/" not in text
    assert read_recording(portable(raw, "eager.json")) == read_recording(raw)


@pytest.mark.parametrize("mode", ["eager", "compiled"])
def test_a_training_call_is_recorded_forward_and_backward(server: Server, folder: Path, mode: str) -> None:
    records, place = profiled(server, folder, "training", mode, ["n=4"])
    (one,) = results(records).values()
    assert one["status"] == "ok"
    calls = {operator.name: operator.calls for operator in seen(place, one["facts"][mode]["file"]).operators}
    # Backward of the linear layer, for the weight alone: its input asks for no gradient.
    assert calls["aten::addmm"] == calls["aten::mm"] == one["facts"][mode]["calls"]
    assert calls["aten::tanh_backward"] == one["facts"][mode]["calls"]


def test_what_only_the_profiler_upsets_is_no_failure_of_the_workload(server: Server, folder: Path) -> None:
    records, place = profiled(server, folder, "itself", "eager", ["n=4"])
    (one,) = results(records).values()
    facts = one["facts"]["eager"]
    assert one["status"] == "ok"
    assert facts["file"] is None
    # From 2.12 on in the probe's words, before in torch's.
    assert facts["problem"].startswith("under the profiler it raised RuntimeError: ")
    assert not list(place.glob("*.json"))


def test_a_bucket_that_raises_is_typed_and_the_other_is_recorded(server: Server, folder: Path) -> None:
    records, place = profiled(server, folder, "fails", "eager", ["n=4", "n=5"])
    found = results(records)
    assert (found["n=4"]["status"], found["n=5"]["status"]) == ("ok", "runtime_error")
    assert "five is too much" in found["n=5"]["error"]["message"]
    assert [path.name for path in place.glob("*.json")] == [found["n=4"]["facts"]["eager"]["file"]]


def test_a_process_that_ends_is_told_with_where_it_was(server: Server, folder: Path) -> None:
    records, _ = profiled(server, folder, "ends", "eager", ["n=4"])
    assert results(records) == {}
    assert (records[-1]["status"], records[-1]["bucket"]) == ("crashed", "n=4")


def test_the_profilers_own_lines_are_kept_out_of_the_log(server: Server, folder: Path) -> None:
    _, place = profiled(server, folder, "inference", "eager", ["n=4"])
    assert "profiler_start" not in (place / "log").read_text()
