"""What goes on after a process died, and what is no longer claimed then."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from evaluator.control.walk_records import whole_graph

REPOSITORY = Path(__file__).parents[2]

DIES_WHILE_TIMED = """
import os
import torch
BUCKETS = [{"n": 4}, {"n": 6}]
COMPILE = {"backend": "aot_eager"}
made = {4: 0, 6: 0}
def build():
    return torch.nn.Tanh()
def inputs(bucket):
    made[bucket["n"]] += 1
    # Two walks of two calls and one more take five; the warm-up of the timing takes at least ten.
    if bucket["n"] == 4 and made[4] > 10:
        os._exit(1)
    return (torch.randn(bucket["n"], 8),), {}
"""
SOUND = """
import torch
BUCKETS = [{"n": 4}]
COMPILE = {"backend": "aot_eager"}
def build():
    return torch.nn.Tanh()
def inputs(bucket):
    return (torch.randn(bucket["n"], 8),), {}
"""


def evaluated(folder: Path, **sources: str) -> dict[tuple[str, str], Any]:
    command = [sys.executable, "-m", "evaluator", "run", "--no-packs", "--db", str(folder / "r.db")]
    for name, text in sources.items():
        (folder / f"{name}.py").write_text(text)
        command += ["--workloads", str(folder / f"{name}.py")]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    shown = subprocess.run(
        [sys.executable, "-m", "evaluator", "show", "latest", "--json", "--db", str(folder / "r.db")],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=True,
    )
    return {(e["workload"], e["bucket"]): e for e in json.loads(shown.stdout)["evaluations"]}


@pytest.mark.slow
def test_a_timing_of_another_process_than_the_walk_is_kept_and_claims_nothing(tmp_path: Path) -> None:
    found = evaluated(tmp_path, dies=DIES_WHILE_TIMED)
    assert found["dies", "n=4"]["probes"]["timing"]["status"] == "crashed"
    other = found["dies", "n=6"]
    assert other["probes"]["walk"]["status"] == "ok"
    assert other["probes"]["timing"]["status"] == "not_comparable"
    assert "new process" in other["probes"]["timing"]["reason"]
    # The second bucket's facts are those of the walk that had the first one before it.
    assert other["facts"]["recompiles"] == 1


@pytest.mark.slow
def test_a_source_that_ends_the_process_that_loads_it_takes_no_other_with_it(tmp_path: Path) -> None:
    found = evaluated(tmp_path, sound=SOUND, deadly="import os\nos._exit(3)\n")
    assert found["sound", "n=4"]["status"] == "ok"
    (deadly,) = [evaluation for (name, _), evaluation in found.items() if name == "deadly"]
    assert deadly["status"] == "setup_error"
    assert "exit code 3" in deadly["reason"]


@pytest.mark.parametrize(
    ("facts", "fullgraph", "status", "answer"),
    [
        ({"graph_breaks": 0}, True, "ok", "yes"),
        ({"graph_breaks": 0}, True, "compile_error", "no"),
        ({}, True, "timeout", "untested"),
        ({"graph_breaks": 1}, False, "ok", "no"),
        ({"graph_breaks": 0, "nothing_compiled": True}, False, "ok", "no"),
        # A backend that refused the one graph there was, or never came back, says nothing of the rest.
        ({"graph_breaks": 0, "nothing_compiled": True}, False, "compile_error", "untested"),
        ({"graph_breaks": 0, "nothing_compiled": True}, False, "timeout", "untested"),
        ({"graph_breaks": 1, "nothing_compiled": True}, False, "compile_error", "no"),
        # One graph and no break: nothing refused it, and nothing tested it.
        ({"graph_breaks": 0, "graphs": 1}, False, "ok", "untested"),
    ],
)
def test_whether_the_whole_is_one_graph(
    facts: dict[str, Any], fullgraph: bool, status: str, answer: str
) -> None:
    assert whole_graph(facts, fullgraph, status) == answer
