"""``nightly`` as cron runs it: night after night over one small workload, with a crash in between."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from evaluator.__main__ import main
from evaluator.errors import UserError
from evaluator.nightly import only_one
from tests.db.asking import ask
from tests.evaluator.commandline import REPOSITORY, document, environment, evaluator, start
from tests.evaluator.test_resume import gone, probes_of, wait_for_units

# Captured and run as it is, so that a night takes seconds. With FLAG=1 it has a graph break more.
WORKLOAD = """
import os

import torch

BUCKETS = [{"n": 4}]
COMPILE = {"backend": "eager"}


def build():
    def double(x):
        y = torch.relu(x)
        if os.environ.get("FLAG") == "1":
            torch._dynamo.graph_break()
        return y * 2

    return double


def inputs(bucket):
    return (torch.ones(bucket["n"]),), {}
"""
CONFIG = """
database = "nights.db"
profile = "quick"
{more}
[suite]
sources = ["double.py"]
packs = false

[[interpreter]]
name = "next"
spec = ".,FLAG={flag}"
"""


def write(folder: Path, flag: int, more: str = "") -> None:
    (folder / "double.py").write_text(WORKLOAD)
    (folder / "nightly.toml").write_text(CONFIG.format(flag=flag, more=more))


def runs(folder: Path) -> list[Any]:
    return ask(str(folder / "nights.db"), "SELECT uuid, purpose, status, parent_uuid FROM run ORDER BY id")


def log(folder: Path) -> list[str]:
    return (folder / "nightly" / "nightly.log").read_text().splitlines()


@pytest.mark.slow
def test_what_a_night_changed_is_confirmed_and_fails_the_gate(tmp_path: Path) -> None:
    write(tmp_path, 0)
    first = evaluator(tmp_path, "nightly", "nightly.toml")
    assert first.returncode == 0, first.stderr
    assert "no night before on this machine" in first.stdout
    assert [(purpose, status) for _, purpose, status, _ in runs(tmp_path)] == [("nightly", "finished")]

    # Nothing changed.
    quiet = evaluator(tmp_path, "nightly", "nightly.toml")
    assert quiet.returncode == 0, quiet.stderr
    assert "next: the night before and tonight:" in quiet.stdout
    assert "1 of 1 cells compared" in quiet.stdout
    assert len(runs(tmp_path)) == 2

    # The same name and another environment; the first night is pinned as well.
    write(tmp_path, 1, 'baseline = "1"')
    bad = evaluator(tmp_path, "nightly", "nightly.toml")
    assert bad.returncode == 1, bad.stderr
    assert "once more, to confirm exact differences" in bad.stderr
    found = runs(tmp_path)
    assert [purpose for _, purpose, _, _ in found] == ["nightly", "nightly", "nightly", "confirm"]
    assert found[3][3] == found[2][0]
    lines = log(tmp_path)
    assert [line.split(" exit ")[1][0] for line in lines] == ["0", "0", "1"]
    assert bad.stdout.strip() == lines[-1]
    (page,) = [path for path in (tmp_path / "nightly").glob("*/night.md") if found[2][0][:8] in str(path)]
    text = page.read_text()
    assert "**2 of 2 comparisons fail the gate**" in text
    # Of the night before and of the baseline, with one rerun for both.
    assert text.count(r"graph\_breaks regressed (0 → 1)") == 2
    assert "next: 1 and tonight" in text
    assert len(list(page.parent.glob("*.html"))) == 2


@pytest.mark.slow
def test_a_night_that_was_killed_goes_on_and_another_one_waits_its_turn(tmp_path: Path) -> None:
    write(tmp_path, 0)
    process = start(tmp_path, "nightly", "nightly.toml")
    wait_for_units(process, 2)
    refused = evaluator(tmp_path, "nightly", "nightly.toml")
    assert refused.returncode == 2
    assert f"another night is going on (process {process.pid})" in refused.stderr
    process.kill()
    process.communicate()
    assert gone(tmp_path / "cache")
    ((uuid, _, status, _),) = runs(tmp_path)
    assert status == "running"
    database = ("--db", str(tmp_path / "nights.db"))
    kept = probes_of(document(tmp_path, uuid, *database))

    again = evaluator(tmp_path, "nightly", "nightly.toml")
    assert again.returncode == 0, again.stderr
    assert f"going on with run {uuid[:8]}, which was cut off" in again.stderr
    assert [(one, status) for one, _, status, _ in runs(tmp_path)] == [(uuid, "finished")]
    stored = probes_of(document(tmp_path, uuid, *database))
    assert len(stored) == 6
    assert {key: stored[key] for key in kept} == kept
    assert [line.split(" exit ")[1][0] for line in log(tmp_path)] == ["2", "0"]

    # A page was written, so the next one is a night of its own; cut off and told otherwise, it is closed.
    process = start(tmp_path, "nightly", "nightly.toml")
    wait_for_units(process, 1)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert gone(tmp_path / "cache")
    write(tmp_path, 0, "timeout_s = 200")
    other = evaluator(tmp_path, "nightly", "nightly.toml")
    assert other.returncode == 0, other.stderr
    left = runs(tmp_path)[1][0]
    assert f"closed run {left[:8]}, which a crash had left open" in other.stderr
    assert [status for _, _, status, _ in runs(tmp_path)] == ["finished", "interrupted", "finished"]


@pytest.mark.slow
def test_what_a_night_would_do_is_said_without_doing_it(tmp_path: Path) -> None:
    write(tmp_path, 0)
    said = evaluator(tmp_path, "nightly", "nightly.toml", "--dry-run")
    assert said.returncode == 0, said.stderr
    assert "next: 1 cell(s) each, 1 replica(s), about " in said.stdout
    assert f"torch {_torch()} is in" in said.stdout
    assert not (tmp_path / "nights.db").exists()
    assert not (tmp_path / "nightly").exists()


def _torch() -> str:
    from importlib.metadata import version

    return version("torch")


def test_a_lock_is_not_held_by_a_dead_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    code = (
        "import time\nfrom evaluator.nightly import only_one\n"
        "with only_one():\n    print('held', flush=True)\n    time.sleep(600)\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code],
        cwd=REPOSITORY,
        env=environment(tmp_path),
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    with pytest.raises(UserError, match=rf"another night is going on \(process {process.pid}\)"), only_one():
        raise AssertionError
    process.kill()
    process.communicate()
    with only_one():
        pass


def test_a_mistake_in_the_file_is_said_before_anything_is_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    write(tmp_path, 0, 'fail_on = "everything"')
    assert main(["nightly", str(tmp_path / "nightly.toml")]) == 2
    assert "nightly.toml: fail_on everything" in capsys.readouterr().err
    write(tmp_path, 0, 'baseline = "release"')
    assert main(["nightly", str(tmp_path / "nightly.toml")]) == 2
    # There is no database yet, so nothing can be pinned.
    assert "nights.db" in capsys.readouterr().err
    assert not (tmp_path / "nights.db").exists()
    assert " exit 2, " in log(tmp_path)[0]
