"""``nightly`` as cron runs it: night after night over one small workload, with a crash in between."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from db.store import Store
from evaluator import machine
from evaluator.__main__ import main
from evaluator.commands.nightly import _night
from evaluator.errors import UserError
from evaluator.interpreters.planning import Interpreter
from evaluator.nights.baselines import require_baselines
from evaluator.nights.comparisons import compare_night
from evaluator.nights.config import read_config
from evaluator.nights.night import database_of, group_of, only_one, sides_of
from evaluator.nights.report import night_exit_code
from evaluator.report import Gate, parse_gate
from tests.db import made
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


GONE = """
[[interpreter]]
name = "gone"
python = "no/such/python"
"""


def write(folder: Path, flag: int, more: str = "", also: str = "") -> None:
    (folder / "double.py").write_text(WORKLOAD)
    (folder / "nightly.toml").write_text(CONFIG.format(flag=flag, more=more) + also)


def runs(folder: Path) -> list[Any]:
    return ask(str(folder / "nights.db"), "SELECT uuid, purpose, status, parent_uuid FROM run ORDER BY id")


def log(folder: Path) -> list[str]:
    return (folder / "nightly" / "nightly.log").read_text().splitlines()


@pytest.mark.slow
def test_what_a_night_changed_is_confirmed_and_fails_the_gate(tmp_path: Path) -> None:
    # In a new database: no run has the baseline's label yet, and one interpreter is not there.
    write(tmp_path, 0, 'baseline = "release"', GONE)
    first = evaluator(tmp_path, "nightly", "nightly.toml")
    assert first.returncode == 2, first.stderr
    assert "no night before on this machine" in first.stdout
    assert "no baseline named release yet: `python -m evaluator run ... --label release" in first.stdout
    assert [(purpose, status) for _, purpose, status, _ in runs(tmp_path)] == [("nightly", "finished")]
    (page,) = (tmp_path / "nightly").glob("*/night.md")
    assert "Went wrong: gone: " in page.read_text()

    # The same name and another environment; the first night is pinned as well.
    write(tmp_path, 1, 'baseline = "1"')
    bad = evaluator(tmp_path, "nightly", "nightly.toml")
    assert bad.returncode == 1, bad.stderr
    assert "once more, to confirm exact differences" in bad.stderr
    found = runs(tmp_path)
    assert [purpose for _, purpose, _, _ in found] == ["nightly", "nightly", "confirm"]
    assert found[2][3] == found[1][0]
    lines = log(tmp_path)
    assert [line.split(" exit ")[1][0] for line in lines] == ["2", "1"]
    assert bad.stdout.strip() == lines[-1]
    (page,) = [path for path in (tmp_path / "nightly").glob("*/night.md") if found[1][0][:8] in str(path)]
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
    # However long the other one takes to ask, this one is not done meanwhile.
    process.send_signal(signal.SIGSTOP)
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
    # Nothing changed since the first night, which is the last one that was finished.
    assert "next: the night before and tonight:" in other.stdout
    assert "1 of 1 cells compared" in other.stdout
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
        "import time\nfrom evaluator.nights.night import only_one\n"
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
    for reference, said in (("999", "no run is recorded yet"), ("previous", "changes every night")):
        write(tmp_path, 0, f'baseline = "{reference}"')
        assert main(["nightly", str(tmp_path / "nightly.toml")]) == 2
        assert said in capsys.readouterr().err
    assert not (tmp_path / "nights.db").exists()
    assert " exit 2, " in log(tmp_path)[0]


class Said:
    """Keeps what is said of long work."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def say(self, message: str) -> None:
        self.lines.append(message)


def test_an_interpreter_that_is_not_there_takes_no_other_down(tmp_path: Path) -> None:
    write(tmp_path, 0, also=GONE)
    config = read_config(tmp_path / "nightly.toml")
    sides, problems = sides_of(config, Said())
    assert sides == {"next": Interpreter(Path(sys.executable), (("FLAG", "0"),))}
    (problem,) = problems
    assert problem.startswith("gone: ") and "no/such/python is no interpreter" in problem


def test_one_suite_that_fails_takes_no_other_down(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    write(tmp_path, 0, also='[[interpreter]]\nname = "own"\nspec = "."\nsuite = { sources = ["none.py"] }\n')
    # Neither suite's file of workloads is there, so that both fail before anything starts.
    (tmp_path / "double.py").unlink()
    database = str(tmp_path / "nights.db")
    night = _night(read_config(tmp_path / "nightly.toml"), database, datetime.now(UTC))
    assert [problem.partition(":")[0] for problem in night.problems] == ["next", "own"]
    assert (night.runs, night.comparisons, night_exit_code(night, Gate())) == ((), (), 2)


def test_a_baseline_may_be_a_version_of_tonight_or_a_label_that_comes_later(tmp_path: Path) -> None:
    database = str(tmp_path / "nights.db")
    for reference, missing in ((_torch(), 0), ("release", 1)):
        write(tmp_path, 0, f'baseline = "{reference}"', GONE)
        found = require_baselines(read_config(tmp_path / "nightly.toml"), database)
        assert len(found) == missing
        assert all("no baseline named release yet" in one and "--label release --db" in one for one in found)
    write(tmp_path, 0, 'baseline = "9.9.9"')
    with pytest.raises(UserError, match="no run is recorded yet"):
        require_baselines(read_config(tmp_path / "nightly.toml"), database)


def test_a_recorded_night_is_compared_with_what_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    database = str(tmp_path / "nights.db")
    host = {"id": machine.machine_id(), "cpu_model": None, "cpu_count": 2, "memory_mb": 1, "os": "Linux"}
    store = Store(database)
    for day, name in enumerate(("first", "second"), 1):
        plan = {"replicas": 2, "nightly": {"names": ["next"], "told": "x"}}
        begun = f"2026-03-0{day}T01:30:00+00:00"
        store.write_many(
            made.whole_run(name, purpose="nightly", plan=plan, machine=host, started_at=begun, label=None)
        )
    store.close()

    def compared(baseline: str, night: str) -> list[tuple[str, bool, str | None, bool]]:
        write(tmp_path, 0, f'baseline = "{baseline}"')
        config = read_config(tmp_path / "nightly.toml")
        ((suite, tested),) = config.groups()
        group = group_of(config, suite, tested, [Interpreter(Path(sys.executable))])
        group = replace(group, settings=replace(group.settings, run=made.run_uuid(night)))
        found = compare_night(group, database, False, Said())
        return [(one.title, one.verdicts is not None, one.note, one.broken) for one in found]

    assert compared("1", "second") == [
        ("next: the night before and tonight", True, None, False),
        ("next: 1 and tonight", True, None, False),
    ]
    before, later = compared("release", "first")
    assert before[2] == "no night before on this machine"
    assert later[0] == "next: release and tonight" and not later[3]
    assert later[2] is not None and later[2].startswith("no baseline named release yet: ")


def test_the_file_that_the_readme_shows_starts_in_a_new_database(tmp_path: Path) -> None:
    (shown,) = re.findall(r"```toml\n(.*?)```", (REPOSITORY / "README.md").read_text(), re.DOTALL)
    (tmp_path / "nightly.toml").write_text(shown)
    config = read_config(tmp_path / "nightly.toml")
    (missing,) = require_baselines(config, database_of(config, None))
    assert missing.startswith("no baseline named release yet: ")
    assert parse_gate(config.fail_on or "") == Gate()
