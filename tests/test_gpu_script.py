"""The script for a GPU on a machine without one: it starts, names its stages, and each says that it is unsupported."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.gpu.__main__ import one_stage

REPOSITORY = Path(__file__).parents[1]
pytestmark = pytest.mark.slow


def script(*arguments: str) -> subprocess.CompletedProcess[str]:
    # Hidden, should there be one: nothing of this may take ten minutes.
    environment = {**os.environ, "CUDA_VISIBLE_DEVICES": ""}
    command = [sys.executable, "-m", "tests.gpu", *arguments]
    return subprocess.run(
        command, cwd=REPOSITORY, env=environment, capture_output=True, text=True, check=False
    )


def test_its_stages_are_listed_in_the_order_in_which_they_run_and_fit_into_ten_minutes() -> None:
    listed = script("--list")
    assert listed.returncode == 0, listed.stderr
    numbers = [int(line.split()[0]) for line in listed.stdout.splitlines()]
    seconds = [float(line.rsplit("at most ", 1)[1].split()[0]) for line in listed.stdout.splitlines()]
    assert numbers == list(range(1, 11))
    assert sum(seconds) <= 600


def test_without_a_gpu_every_stage_says_unsupported_and_is_written_out(tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    done = script("--out", str(out))
    assert done.returncode == 0, done.stderr
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert [(one["stage"], one["status"]) for one in lines] == [(n, "unsupported") for n in range(1, 11)]
    assert all(one["checks"] == [] and one["numbers"] == {} and one["device"] is None for one in lines)
    assert [json.loads(line) for line in out.read_text().splitlines()] == lines


def test_one_stage_alone() -> None:
    done = script("--only", "7")
    assert [json.loads(line)["stage"] for line in done.stdout.splitlines()] == [7]


@pytest.mark.parametrize(
    ("seconds", "status", "reason"),
    [(120.0, "error", "Traceback"), (0.5, "timeout", "no end within"), (0.0, "timeout", "are over")],
)
def test_a_stage_that_breaks_or_takes_too_long_is_told(
    seconds: float, status: str, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The stage is started as if there were a GPU, and none is."""
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    found = one_stage(8, seconds, {"torch": "2.13.0", "device": "a card that is not there"})
    assert (found["stage"], found["status"]) == (8, status)
    assert reason in found["reason"]
    assert found["device"] == "a card that is not there"
