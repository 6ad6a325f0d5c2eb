"""The script for a GPU on a machine without one: it starts, names its stages, and each says that it is unsupported."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.gpu import harness
from tests.gpu.__main__ import one_stage, part
from tests.gpu.harness import Stage, told_in
from tests.gpu.stages import STAGES

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
    seconds = [float(line.rsplit(" (", 1)[1].split()[0]) for line in listed.stdout.splitlines()]
    assert numbers == list(range(1, 11))
    assert sum(seconds) <= 600


def test_what_a_stage_leaves_is_shared_by_those_after_it_and_all_together_keep_to_their_time() -> None:
    def run(taken: dict[int, float], seconds: float) -> tuple[list[float], float]:
        left, given = seconds, []
        for place, number in enumerate(STAGES):
            given.append(part(list(STAGES)[place:], left))
            left -= min(taken.get(number, given[-1]), given[-1])
        return given, seconds - left

    limits = [limit_s for _, limit_s, _ in STAGES.values()]
    whole = sum(limits)
    # Nobody ends before its time: each has its own limit.
    assert run({}, whole)[0] == pytest.approx(limits)
    # Half of the time is half a limit for each.
    assert run({}, whole / 2)[0] == pytest.approx([one / 2 for one in limits])
    given, spent = run({1: 5.0, 4: 1.0}, whole)
    assert all(more > limit for more, limit in zip(given[1:], limits[1:], strict=True))
    assert spent == pytest.approx(whole)


def test_a_line_that_was_cut_short_takes_no_other_with_it(tmp_path: Path) -> None:
    told = tmp_path / "told.jsonl"
    assert told_in(told) == []
    told.write_text('{"check": "a", "good": true}\n{"number": "b", "val')
    assert told_in(told) == [{"check": "a", "good": True}]


def test_a_part_that_breaks_is_a_check_and_the_next_one_runs(tmp_path: Path) -> None:
    told: list[dict[str, object]] = []
    stage = Stage(tmp_path, told.append)

    def breaks() -> None:
        raise RuntimeError("device-side assert triggered")

    stage.part("first", breaks)
    stage.part("second", lambda: stage.check("it holds", True))
    assert [(one["check"], one["good"]) for one in told] == [
        ("first: it ran to its end", False),
        ("it holds", True),
    ]
    assert "device-side assert" in str(told[0]["value"])


def test_a_run_that_does_not_end_when_it_is_interrupted_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    deaf = (
        "import signal, time; signal.signal(signal.SIGINT, signal.SIG_IGN); print(flush=True); time.sleep(60)"
    )
    for program, code in ((deaf, -signal.SIGKILL), ("print(flush=True); import time; time.sleep(60)", None)):
        process = subprocess.Popen(
            [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        assert process.stdout is not None
        process.stdout.readline()
        monkeypatch.setattr(harness, "_LAST_WORDS_S", 0.3 if code else 30.0)
        assert harness.waited(process, 0.1) is False
        assert process.returncode == code if code else process.returncode not in (0, -signal.SIGKILL)
        process.stdout.close()
    quick = subprocess.Popen([sys.executable, "-c", ""])
    assert harness.waited(quick, 60.0) is True


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
    [
        (120.0, "error", "Traceback"),
        (0.5, "timeout", "no end within"),
        (0.0, "timeout", "seconds of all stages"),
    ],
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
