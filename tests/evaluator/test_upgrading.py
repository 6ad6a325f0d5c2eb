"""The stages of an upgrade from the command line: several steps, an interruption, a budget, and what is refused."""

from __future__ import annotations

import re
import sqlite3
import sys
import time
from pathlib import Path

import pytest

from tests.evaluator.commandline import evaluator, start, write_workload
from tests.evaluator.test_resume import wait_for_units

# Captured and run as it is, so that a compile takes a fraction of a second. The variable adds a graph break.
STEPS = """
import os

import torch

COMPILE = {"backend": "eager"}
BUCKETS = [{}]
BREAKS = os.environ.get("SEASON") == "winter"


def build():
    def double(x):
        y = torch.relu(x)
        if BREAKS:
            torch._dynamo.graph_break()
        return y * 2

    return double


def inputs(bucket):
    return (torch.ones(4),), {}
"""
SPRING, WINTER = ".,SEASON=spring", ".,SEASON=winter"


def runs(folder: Path) -> list[tuple[str, str, bool]]:
    """(purpose, status, whether it has a parent) of every run, in the order in which they began."""
    connection = sqlite3.connect(folder / "r.db")
    try:
        rows = connection.execute("SELECT purpose, status, parent_uuid FROM run ORDER BY id").fetchall()
    finally:
        connection.close()
    return [(purpose, status, parent is not None) for purpose, status, parent in rows]


@pytest.mark.slow
def test_every_step_is_judged_and_the_first_bad_one_named(tmp_path: Path) -> None:
    (tmp_path / "steps.py").write_text(STEPS)
    done = evaluator(
        tmp_path,
        "upgrade",
        ".",
        SPRING,
        WINTER,
        "--workloads",
        "steps.py",
        "--profile",
        "quick",
        "--no-explain",
    )
    assert done.returncode == 1, done.stdout + done.stderr
    last = done.stdout.strip().splitlines()[-1]
    assert re.fullmatch(r"first bad version: torch \S+ \(SEASON=winter\)", last)
    # One step without a difference, and one whose difference was measured again.
    assert runs(tmp_path) == [("upgrade", "finished", False), ("confirm", "finished", True)]
    assert "graph_breaks" in done.stdout
    assert len(list((tmp_path / "reports").rglob("*.html"))) == 2


@pytest.mark.slow
def test_an_interrupted_upgrade_goes_on_with_its_stages(tmp_path: Path) -> None:
    (tmp_path / "steps.py").write_text(STEPS)
    begun = start(tmp_path, "upgrade", ".", WINTER, "--workloads", "steps.py", "--profile", "quick")
    wait_for_units(begun, 2)
    time.sleep(0.3)  # into the middle of a unit
    begun.terminate()
    _, said = begun.communicate(timeout=60)
    assert begun.returncode == 130
    assert "upgrade --resume" in said
    assert runs(tmp_path) == [("upgrade", "interrupted", False)]
    refused = evaluator(tmp_path, "upgrade", "--resume", "--profile", "thorough")
    assert refused.returncode == 2
    assert "profile" in refused.stderr
    done = evaluator(tmp_path, "upgrade", "--resume")
    assert done.returncode == 1, done.stdout + done.stderr
    # Compiled by Dynamo's own backend, so that the ladder has no rung below.
    stages = [("upgrade", "finished", False), ("confirm", "finished", True)]
    assert runs(tmp_path) == stages
    assert "no rung below" in done.stderr
    # Nothing is left to do, so doing it again measures nothing and says the same.
    again = evaluator(tmp_path, "upgrade", "--resume")
    assert again.returncode == 1
    assert runs(tmp_path) == stages
    assert again.stdout.splitlines()[0] == done.stdout.splitlines()[0]


@pytest.mark.slow
def test_a_budget_takes_what_fits_and_says_what_it_left(tmp_path: Path) -> None:
    write_workload(tmp_path, "one")
    write_workload(tmp_path, "two")
    both = ("--workloads", "one.py", "--workloads", "two.py", "--profile", "quick", "--no-confirm")
    nothing = evaluator(tmp_path, "upgrade", ".", SPRING, *both, "--budget", "30")
    assert nothing.returncode == 2
    assert "nothing fits into 30 s" in nothing.stderr
    # By the guesses: 2 starts of 8 s, 2 toolchains of 20 s, and 24 s a side for the first bucket of either workload; 70%
    # of 3 minutes hold one of them (104 s) and not both (152 s).
    done = evaluator(tmp_path, "upgrade", ".", SPRING, *both, "--budget", "3m")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "takes 1 of 2 workloads" in done.stdout
    assert "left out: two" in done.stdout
    assert "1 of 1 cells compared" in done.stdout


def test_without_sides_it_says_what_to_give(tmp_path: Path) -> None:
    done = evaluator(tmp_path, "upgrade")
    assert done.returncode == 2
    assert "upgrade 2.13.0 2.14.1" in done.stderr
    assert done.stderr.count("\n") == 1


def test_one_side_is_no_comparison(tmp_path: Path) -> None:
    done = evaluator(tmp_path, "upgrade", ".", "--python", sys.executable)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1


def test_resuming_without_an_upgrade_says_so(tmp_path: Path) -> None:
    write_workload(tmp_path, "one")
    done = evaluator(tmp_path, "upgrade", "--resume")
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
