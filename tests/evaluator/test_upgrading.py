"""The stages of an upgrade from the command line: several steps, an interruption, a budget, and what is refused."""

from __future__ import annotations

import re
import sqlite3
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from evaluator.__main__ import build_parser, main
from evaluator.commands.upgrade import _report, _settings
from evaluator.interpreters.planning import Interpreter
from evaluator.report import Gate, parse_gate
from evaluator.selection import Selection
from evaluator.upgrading import last_line
from evaluator.verdicts.findings import Verdicts
from tests.db.made import run_uuid
from tests.evaluator.commandline import evaluator, start, write_workload
from tests.evaluator.report import made, recorded
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
    # With one replica no time of the first step is settled.
    assert re.fullmatch(
        r"first bad version: torch \S+ \(SEASON=winter\); not enough evidence before it, from torch .*SEASON.*",
        last,
    )
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


UPGRADE, HOLD, UNKNOWN = "Upgrade", "Hold", "Not enough evidence"


def step(number: int, answer: str, *excepted: str) -> Verdicts:
    return made.verdicts(
        base=f"torch {number}", candidate=f"torch {number + 1}", answer=answer, excepted=excepted
    )


@pytest.mark.parametrize(
    ("steps", "said"),
    [
        ((step(1, UPGRADE), step(2, UPGRADE)), "no step has a confirmed regression"),
        ((step(1, UPGRADE), step(2, HOLD, "a"), step(3, HOLD, "a")), "first bad version: torch 3"),
        # Bad by what is confirmed, although the rest is not known well enough for an exception.
        ((step(1, UNKNOWN, "a"), step(2, UPGRADE)), "first bad version: torch 2"),
        (
            (step(1, UNKNOWN), step(2, UPGRADE), step(3, HOLD, "a"), step(4, UNKNOWN)),
            "first bad version: torch 4; not enough evidence before it, from torch 1 to torch 2",
        ),
        (
            (step(1, UNKNOWN), step(2, UNKNOWN)),
            "no step has a confirmed regression; not enough evidence, from torch 1 to torch 2 and from torch 2 to "
            "torch 3",
        ),
    ],
)
def test_the_last_line_of_several_steps(steps: tuple[Verdicts, ...], said: str) -> None:
    assert last_line(steps) == said


def resumable(folder: Path, **told: Any) -> str:
    """A database with an upgrade that has every stage behind it; ``told``: what it was told when it began."""
    database = str(folder / "runs.db")
    plan = {
        "selection": Selection().as_json(),
        "profile": "standard",
        "sources": [],
        "packs": True,
        "interpreters": [
            {"python": sys.executable, "variables": {}, "copy": 1},
            {"python": sys.executable, "variables": {"SEASON": "winter"}, "copy": 1},
        ],
        "limits": {"time_s": 300.0, "memory_mb": 8000.0},
        "upgrade": {"confirm": True, "explain": False, "notes": [], **told},
    }
    recorded.store_upgrade(database, {"compiled.wall_ms": 1.2}, plan=plan)
    return database


def test_a_resumed_upgrade_is_as_it_was_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    database = resumable(tmp_path, fail_on="none", report=str(tmp_path / "kept"))
    assert main(["upgrade", "--resume", "--db", database]) == 0
    assert capsys.readouterr().out.startswith("Hold: ")
    assert {path.suffix for path in (tmp_path / "kept").iterdir()} == {".md", ".html"}
    assert main(["upgrade", "--resume", "--db", database, "--fail-on", "regressed,flaky"]) == 2
    assert "leave out fail_on" in capsys.readouterr().err


def test_a_resumed_upgrade_that_was_told_nothing_has_the_defaults(tmp_path: Path) -> None:
    database = resumable(tmp_path)
    assert main(["upgrade", "--resume", "--db", database]) == 1
    assert len(list((tmp_path / "reports").rglob("*.html"))) == 1


def test_what_an_upgrade_is_told_goes_into_its_plan(tmp_path: Path) -> None:
    parser, _ = build_parser(["upgrade"])
    given = ["upgrade", ".", ".", "--fail-on", "none", "--report", str(tmp_path / "kept")]
    told = _settings(parser.parse_args(given), (Interpreter(Path(sys.executable)),)).extra["upgrade"]
    assert (told["fail_on"], told["report"]) == ("none", str(tmp_path / "kept"))
    told = _settings(parser.parse_args(given[:3]), ()).extra["upgrade"]
    assert (parse_gate(told["fail_on"]), told["report"]) == (Gate(), None)


def test_steps_that_are_called_the_same_have_reports_of_their_own(tmp_path: Path) -> None:
    database = resumable(tmp_path)
    parser, _ = build_parser(["upgrade"])
    arguments = parser.parse_args(["upgrade", "--db", database, "--report", str(tmp_path / "kept")])
    settings = replace(_settings(arguments, ()), run=run_uuid("upgrade"))
    _report(arguments, settings, [made.verdicts(made.SAME), made.verdicts(made.SAME)], (), None)
    assert sorted(path.name for path in (tmp_path / "kept").glob("*.md")) == [
        f"{number}-torch-2.13.0+cpu-to-torch-2.14.1+cpu.md" for number in (1, 2)
    ]


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
