"""Failure is data: whatever a workload does to its process, its cell gets a typed status, the others their numbers.

One run evaluates all of them and a sound workload after them, through the real command line.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.evaluator.commandline import processes_with

REPOSITORY = Path(__file__).parents[2]
WORKLOADS = Path(__file__).parent / "failures"
# Some 25 s are needed where the C++ compiler works; what hangs costs this once.
LIMIT_S = 90
# No other process sleeps for this long, so a leftover is known by it, beside other runs of these tests too.
SLEEP = str(10_000_000 + os.getpid())

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """`show --json` of one run over every failing workload, by workload name."""
    folder = tmp_path_factory.mktemp("failures")
    sound = folder / "sound.py"
    sound.write_text(
        "import torch\nBUCKETS = [{'n': 4}]\ndef build():\n    return torch.sin\n"
        "def inputs(bucket):\n    return (torch.randn(bucket['n']),), {}\n"
    )
    sources = [*sorted(WORKLOADS.glob("*.py")), sound]
    command = [
        "run",
        "--no-packs",
        "--timeout",
        str(LIMIT_S),
        "--memory-limit",
        "6000",
        "--db",
        str(folder / "r.db"),
    ]
    for source in sources:
        command += ["--workloads", str(source)]
    done = evaluator(*command)
    assert done.returncode == 0, done.stdout + done.stderr
    shown = evaluator("show", "latest", "--json", "--db", str(folder / "r.db"))
    assert shown.returncode == 0, shown.stderr
    document: dict[str, Any] = json.loads(shown.stdout)
    assert document["run"]["status"] == "finished"
    found: dict[str, Any] = {}
    for evaluation in document["evaluations"]:
        found.setdefault(evaluation["workload"], {})[evaluation["bucket"]] = evaluation
    assert len(found) == len(sources)
    return found


def evaluator(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "evaluator", *arguments],
        cwd=REPOSITORY,
        env={**os.environ, "WATCHFAIL_SLEEP": SLEEP},
        capture_output=True,
        text=True,
        timeout=1200,
        check=False,
    )


@pytest.mark.parametrize(
    ("workload", "bucket", "status", "words"),
    [
        ("raises_in_build", "n=4", "setup_error", "weights.bin is not here"),
        ("builds_nothing", "n=4", "setup_error", "returned nothing"),
        ("bucket_raises", "n=-1", "setup_error", "negative dimension"),
        ("raises_in_eager", "n=4", "runtime_error", "EAGER: "),
        ("raises_in_compile", "n=4", "compile_error", "no fake impl registered"),
        ("raises_only_compiled", "n=4", "runtime_error", "the compiled path is broken"),
        ("calls_sys_exit", "n=4", "runtime_error", "sys.exit"),
        ("calls_os_exit", "n=4", "crashed", "exit code 0"),
        ("segfaults", "n=4", "crashed", "signal 11"),
        ("allocates_40_gib", "n=4", "out_of_memory", "6000 MB"),
        ("hangs", "n=4", "timeout", f"{LIMIT_S} s"),
        ("wrong_when_compiled", "n=8", "accuracy_failed", ""),
        ("leaves_a_child", "n=4", "ok", ""),
        ("leaves_a_thread", "n=4", "ok", ""),
        ("writes_everywhere", "n=4", "ok", ""),
        ("sound", "n=4", "ok", ""),
    ],
)
def test_each_failure_has_its_status_and_a_message(
    run: dict[str, Any], workload: str, bucket: str, status: str, words: str
) -> None:
    evaluation = run[workload][bucket]
    assert evaluation["status"] == status
    said = f"{evaluation['reason']} {json.dumps(evaluation['error'])}"
    assert words in said
    if status != "ok":
        assert evaluation["reason"]


def test_a_bucket_that_raises_takes_no_other_with_it(run: dict[str, Any]) -> None:
    others = run["bucket_raises"]
    assert (others["n=4"]["status"], others["n=6"]["status"]) == ("ok", "ok")
    assert others["n=6"]["metrics"]["compiled.wall_ms"]["median"] > 0


def test_a_failed_measurement_is_null_and_never_zero(run: dict[str, Any]) -> None:
    for workload, bucket in [("raises_in_compile", "n=4"), ("segfaults", "n=4"), ("hangs", "n=4")]:
        for metric in run[workload][bucket]["metrics"].values():
            assert all(value is None or value > 0 for value in metric["samples"])
        assert run[workload][bucket]["metrics"].get("compile.cold_s", {}).get("median") is None


def test_wrong_numbers_are_told_with_their_size(run: dict[str, Any]) -> None:
    accuracy = run["wrong_when_compiled"]["n=8"]["accuracy"]
    assert accuracy["verdict"] == "fail"
    # The workload adds a hundredth when compiled: float32 holds it to seven digits.
    assert accuracy["max_abs"] == pytest.approx(0.01, rel=1e-4)


def test_the_log_of_a_crash_is_kept_to_its_last_line(run: dict[str, Any]) -> None:
    assert "about to read address 0" in run["segfaults"]["n=4"]["log_tail"]


def test_megabytes_of_output_are_kept_and_forge_no_result(run: dict[str, Any]) -> None:
    evaluation = run["writes_everywhere"]["n=4"]
    assert any(artifact["kind"] == "log" for artifact in evaluation["artifacts"])
    assert evaluation["facts"]["graphs"] == 1
    assert len(evaluation["log_tail"]) <= 4096


def test_nothing_is_left_running(run: dict[str, Any]) -> None:
    assert run["leaves_a_child"]["n=4"]["status"] == "ok"
    assert processes_with(SLEEP) == []


def test_a_broken_compiler_is_said_once_and_blames_no_workload(tmp_path: Path) -> None:
    workload = WORKLOADS / "leaves_a_thread.py"
    other = WORKLOADS / "wrong_when_compiled.py"
    database = str(tmp_path / "r.db")
    command = ["run", "--no-packs", "--workloads", str(workload), "--workloads", str(other)]
    done = subprocess.run(
        [sys.executable, "-m", "evaluator", *command, "--variants", "*", "--db", database],
        cwd=REPOSITORY,
        # A cache folder of its own: a header built by a working compiler must not be found.
        env={**os.environ, "CXX": "/bin/false", "XDG_CACHE_HOME": str(tmp_path / "cache")},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 2
    said = [
        line
        for line in (done.stdout + done.stderr).splitlines()
        if "compiler" in line and "no code can be" in line
    ]
    assert len(said) == 1
    shown = evaluator("show", "latest", "--json", "--db", database)
    statuses = {
        (e["workload"], e["variant"]): (e["status"], e["reason"])
        for e in json.loads(shown.stdout)["evaluations"]
    }
    assert statuses["leaves_a_thread", "default"][0] == "setup_error"
    assert statuses["leaves_a_thread", "default"][1].startswith("toolchain: ")
    # Capture needs no C++: its evidence is there all the same.
    assert statuses["leaves_a_thread", "eager"][0] == "ok"
