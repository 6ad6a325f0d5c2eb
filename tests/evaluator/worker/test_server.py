"""The process server for real: under an interpreter that has only torch, and what each probe records on CPU.

The workloads compile with ``aot_eager``, which needs no C++ compiler; what is tested does not depend on the backend.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from evaluator.control.server_client import Server

pytestmark = pytest.mark.slow

LIMITS = {"time_s": 120, "memory_mb": 8000}
TIMING = {"rounds": 7, "round_ms": 5, "warmup_calls": 10, "warmup_ms": 50}

# As sitecustomize, this leaves torch and the standard library, as if nothing else were installed.
ONLY_TORCH = """
from importlib.machinery import PathFinder
absent = {"sqlalchemy", "alembic", "streamlit", "pandas", "altair", "numpy", "transformers", "tlparse", "psycopg"}
find = PathFinder.find_spec
PathFinder.find_spec = lambda name, path=None, target=None: (
    None if name.split(".")[0] in absent else find(name, path, target)
)
"""

STEADY = """
import torch
BUCKETS = [{"n": 4}, {"n": 6}, {"n": 9}]
COMPILE = {"backend": "aot_eager"}
def build():
    return torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.Tanh())
def inputs(bucket):
    return (torch.randn(bucket["n"], 8),), {}
"""
MUTATES = """
import torch
BUCKETS = [{"n": 4}]
COMPILE = {"backend": "aot_eager"}
def build():
    def add_in_place(total, x):
        total.mul_(1.5).add_(x)
        return total.sum()
    return add_in_place
def inputs(bucket):
    return (torch.ones(bucket["n"]), torch.randn(bucket["n"])), {}
"""
LIMIT = """
import torch
BUCKETS = [{"k": k} for k in range(2, 13)]
COMPILE = {"backend": "aot_eager", "dynamic": False}
def build():
    def scale(x, k):
        return torch.sin(x) * k
    return scale
def inputs(bucket):
    return (torch.randn(16), bucket["k"]), {}
"""
WHOLE = LIMIT.replace("range(2, 13)", "range(2, 10)").replace(
    '"dynamic": False', '"dynamic": False, "fullgraph": True'
)
UNSTABLE = """
import torch
BUCKETS = [{"n": 4}]
COMPILE = {"backend": "aot_eager"}
def build():
    class Box:
        step = 0
    box = Box()
    def count(x):
        box.step += 1
        if box.step % 3 == 0:
            return x * box.step
        return x + box.step
    return count
def inputs(bucket):
    return (torch.randn(bucket["n"]),), {}
"""

FAILS_LATER = """
import torch
BUCKETS = [{"n": 4}]
COMPILE = {"backend": "aot_eager"}
made = []
def build():
    return torch.nn.Tanh()
def inputs(bucket):
    made.append(1)
    if len(made) > 2:
        raise OSError("the data ran out")
    return (torch.randn(bucket["n"], 8),), {}
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("server")
    for name, text in {
        "steady": STEADY,
        "mutates": MUTATES,
        "limit": LIMIT,
        "whole": WHOLE,
        "unstable": UNSTABLE,
        "later": FAILS_LATER,
    }.items():
        (made / f"{name}.py").write_text(text)
    (made / "only_torch").mkdir()
    (made / "only_torch" / "sitecustomize.py").write_text(ONLY_TORCH)
    return made


@pytest.fixture(scope="module")
def server(folder: Path) -> Iterator[Server]:
    before = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = str(folder / "only_torch")
    try:
        python = Path(os.environ.get("COMPILEWATCH_TEST_BARE_PYTHON", sys.executable))
        with Server(python, folder / "temporary", folder / "server.log") as started:
            yield started
    finally:
        if before is None:
            del os.environ["PYTHONPATH"]
        else:
            os.environ["PYTHONPATH"] = before


def probe(
    server: Server, folder: Path, workload: str, probe: str, buckets: list[str], **more: Any
) -> list[Any]:
    request = {
        "probe": probe,
        "sources": [str(file) for file in sorted(folder.glob("*.py"))],
        "packs": False,
        "workload": workload,
        "variant": "default",
        "target": "cpu",
        "buckets": buckets,
        "seed": 0,
        "cache_dir": str(folder / f"{workload}-{probe}-caches"),
        "limits": LIMITS,
        "log": str(folder / "probe.log"),
        **more,
    }
    return list(server.probe(request, LIMITS["time_s"]))


def results(records: list[Any], probe: str) -> dict[str, Any]:
    assert records[-1]["status"] == "ok", records[-1]
    return {r["bucket"]: r for r in records if r["kind"] == "result" and r["probe"] == probe}


def values(result: Any, metric: str) -> list[float | None]:
    return [sample["value"] for sample in result["samples"] if sample["metric"] == metric]


def test_a_server_says_its_environment_and_keeps_off_the_device(server: Server) -> None:
    environment = server.hello.environment
    assert environment["torch"].startswith("2.")
    assert environment["libraries"] == {"numpy": None} or "numpy" in environment["libraries"]
    assert environment["gpu"] is None
    assert {sample["metric"] for sample in server.hello.samples} == {"import.torch_s", "import.compiler_s"}
    for secret in (os.uname().nodename, str(Path.home())):
        assert secret not in str(environment)


def test_built_in_workloads_are_described_with_torch_alone(server: Server) -> None:
    described = server.describe([], True, "cpu")
    assert described.problems == []
    names = {entry["name"] for entry in described.workloads}
    assert {"pointwise.silu_gate", "models.llama", "training.mlp_step"} <= names
    # The libraries that workloads use are part of the environment; one that is absent is None.
    assert "transformers" in described.environment["libraries"]


def test_cold_and_warm_compile_are_samples_of_fresh_processes(server: Server, folder: Path) -> None:
    metrics = {
        "cold": "compile.cold_s",
        "warm": "compile.warm_cache_s",
        "cold_serial": "compile.cold_serial_s",
    }
    for cache, metric in metrics.items():
        result = results(probe(server, folder, "steady", "compile", ["n=4"], cache=cache), "compile")["n=4"]
        assert result["status"] == "ok"
        (value,) = values(result, metric)
        assert value is not None
        assert value > 0
        # A new process each: nothing of the first is left in the second's counters.
        assert result["facts"]["compiled_graphs"] == 1


def test_a_walk_visits_all_buckets_twice_and_times_them(server: Server, folder: Path) -> None:
    buckets = ["n=4", "n=6", "n=9"]
    records = probe(server, folder, "steady", "walk", buckets, timing=TIMING, trace_dir=str(folder / "trace"))
    visits = [(r["walk"], r["bucket"], r["call"]) for r in records if r["kind"] == "segment"]
    walks = [(walk, bucket, call) for walk in (1, 2) for bucket in buckets for call in (0, 1)]
    # After both, one call each is looked at by the profiler.
    assert visits == [*walks, *((3, bucket, 0) for bucket in buckets)]
    walked = results(records, "walk")
    # Static, then dynamic, then the dynamic code again: torch's documented behaviour for a size that varies.
    assert [walked[bucket]["facts"]["compile_starts"] for bucket in buckets] == [1, 1, 0]
    assert all(walked[bucket]["facts"]["second_walk_compile_starts"] == 0 for bucket in buckets)
    assert walked["n=9"]["samples"][0]["flags"] == ["reused_code"]
    timed = results(records, "timing")
    for bucket in buckets:
        for mode in ("eager", "compiled"):
            wall = values(timed[bucket], f"{mode}.wall_ms")
            assert len(wall) == TIMING["rounds"]
            assert all(value is not None and value > 0 for value in wall)
            # A CPU has no stream: absent, and neither zero nor the host's time once more.
            assert values(timed[bucket], f"{mode}.stream_ms") == [None]
        protocol = timed[bucket]["timing_protocol"]
        assert protocol["inputs"][0]["shape"] == [int(bucket[2:]), 8]
        assert protocol["warmup"] >= TIMING["warmup_calls"]


def test_a_mutated_input_is_named_and_timed_with_fresh_sets(server: Server, folder: Path) -> None:
    records = probe(server, folder, "mutates", "walk", ["n=4"], timing=TIMING)
    assert results(records, "walk")["n=4"]["facts"]["mutates"] == ["args[0]"]
    assert results(records, "timing")["n=4"]["timing_protocol"]["fresh_inputs"] is True


def test_code_beyond_the_recompile_limit_has_no_compiled_time(server: Server, folder: Path) -> None:
    buckets = [f"k={k}" for k in range(2, 13)]
    records = probe(server, folder, "limit", "walk", buckets, timing=TIMING)
    walked, timed = results(records, "walk"), results(records, "timing")
    # Eight values compile (the default limit), the last three run eager in silence.
    assert [bool(walked[bucket]["facts"]["regions"]) for bucket in buckets] == [True] * 8 + [False] * 3
    assert timed["k=9"]["status"] == "ok"
    assert timed["k=12"]["status"] == "not_comparable"
    assert set(values(timed["k=12"], "compiled.wall_ms")) == {None}
    assert all(value is not None for value in values(timed["k=12"], "eager.wall_ms"))


def test_code_up_to_the_recompile_limit_is_timed_as_it_was_walked(server: Server, folder: Path) -> None:
    # Eight graphs of one function are what torch allows; a ninth, of whatever a timing does otherwise, is an error here.
    buckets = [f"k={k}" for k in range(2, 10)]
    records = probe(server, folder, "whole", "walk", buckets, timing=TIMING)
    assert {(one["status"], one.get("reason")) for one in records if one["kind"] == "result"} == {
        ("ok", None)
    }
    for timed in results(records, "timing").values():
        assert all(value is not None for value in values(timed, "compiled.wall_ms"))


def test_what_compiles_again_in_the_second_walk_is_not_timed(server: Server, folder: Path) -> None:
    records = probe(server, folder, "unstable", "walk", ["n=4"], timing=TIMING)
    assert results(records, "walk")["n=4"]["facts"]["second_walk_compile_starts"] > 0
    timed = results(records, "timing")["n=4"]
    assert timed["status"] == "not_comparable"
    assert "no steady state" in timed["reason"]
    assert {sample["value"] for sample in timed["samples"]} == {None}


def test_a_bucket_that_fails_in_the_second_walk_says_why(server: Server, folder: Path) -> None:
    records = probe(server, folder, "later", "walk", ["n=4"], timing=TIMING)
    walked = [record for record in records if record["kind"] == "result"]
    assert [(record["probe"], record["status"]) for record in walked] == [("walk", "setup_error")]
    assert "the data ran out" in walked[0]["error"]["message"]


def test_accuracy_and_memory_work_with_torch_alone(server: Server, folder: Path) -> None:
    judged = results(probe(server, folder, "steady", "accuracy", ["n=4", "n=6"]), "accuracy")
    assert {result["accuracy"]["verdict"] for result in judged.values()} == {"pass"}
    for mode in ("eager", "compiled"):
        result = results(probe(server, folder, "steady", "memory", ["n=4"], mode=mode), "memory")["n=4"]
        (value,) = values(result, f"{mode}.host_peak_mb")
        assert value is not None
        assert value >= 0


def test_a_workload_that_is_gone_is_a_set_up_error_for_each_bucket(server: Server, folder: Path) -> None:
    records = probe(server, folder, "renamed", "compile", ["n=4"], cache="cold")
    (result,) = [record for record in records if record["kind"] == "result"]
    assert result["status"] == "setup_error"
    assert "renamed" in result["reason"]
