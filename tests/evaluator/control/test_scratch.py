"""A run's folder, and the lock that tells a live run from a dead one."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from evaluator.control.scratch import Scratch, is_alive, runs_folder, sweep
from evaluator.errors import UserError

HOLDER = """
import sys
from evaluator.control.scratch import Scratch
scratch = Scratch(sys.argv[1])
scratch.folder("caches/a").joinpath("x").write_text("x")
print("held", flush=True)
sys.stdin.read()
"""


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path


def holder(run: str) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, run],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[3],
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    return process


def test_a_folder_lasts_as_long_as_its_run() -> None:
    with Scratch("r1") as scratch:
        scratch.folder("caches/a").joinpath("x").write_text("x")
        scratch.free("caches/a")
        scratch.free("caches/never")
        assert not (scratch.path / "caches/a").exists()
        assert is_alive("r1")
    assert not scratch.path.exists()
    assert not is_alive("r1")


def test_a_live_run_is_not_resumed_and_a_killed_one_is() -> None:
    process = holder("r2")
    try:
        assert is_alive("r2")
        with pytest.raises(UserError, match=f"still going on .process {process.pid}"):
            Scratch("r2")
        assert sweep() == []
    finally:
        process.kill()
        process.wait()
    assert not is_alive("r2")
    # What the dead one left is of no use: its caches may be half written.
    with Scratch("r2") as scratch:
        assert not (scratch.path / "caches").exists()


def test_what_dead_runs_left_is_swept_and_live_ones_stay() -> None:
    dead, live = holder("dead"), holder("live")
    dead.kill()
    dead.wait()
    try:
        assert sweep() == ["dead"]
        assert not (runs_folder() / "dead").exists()
        assert (runs_folder() / "live/caches/a/x").exists()
    finally:
        live.kill()
        live.wait()


def test_a_cache_folder_that_cant_be_used_is_one_sentence(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (cache / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache / "file"))
    with pytest.raises(UserError, match="set XDG_CACHE_HOME"):
        Scratch("r3")
