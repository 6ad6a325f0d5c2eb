"""Runs that are cut off: nothing that was recorded is lost, nothing is measured twice, nothing is left running."""

from __future__ import annotations

import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from tests.evaluator.commandline import document, evaluator, processes_below, start, write_workload

pytestmark = pytest.mark.slow


def wait_for_units(process: subprocess.Popen[str], count: int) -> list[str]:
    """Read progress until that many units are finished."""
    assert process.stderr is not None
    lines: list[str] = []
    while sum(line.startswith("[") for line in lines) < count:
        line = process.stderr.readline()
        assert line, f"the run ended early: {lines}"
        lines.append(line)
    return lines


def probes_of(found: dict[str, Any]) -> dict[tuple[Any, ...], str]:
    """(workload, bucket, probe, replica, cache) -> when it started, for every stored probe."""
    stored: dict[tuple[Any, ...], str] = {}
    for evaluation in found["evaluations"]:
        for name, probe in evaluation["probes"].items():
            for one in probe["processes"]:
                key = (evaluation["workload"], evaluation["bucket"], name, one["replica"], one["cache"])
                assert key not in stored, f"{key} was measured twice"
                stored[key] = one["started_at"]
    return stored


def gone(folder: Path, patience_s: float = 15.0) -> bool:
    """Whether every process of a run ended."""
    deadline = time.monotonic() + patience_s
    while processes_below(folder):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.2)
    return True


def test_a_killed_run_is_resumed_and_no_cell_is_measured_twice(tmp_path: Path) -> None:
    for name in ("one", "two"):
        write_workload(tmp_path, name)
    process = start(tmp_path, "run", "--workloads", "one.py", "--workloads", "two.py")
    wait_for_units(process, 4)
    refused = evaluator(tmp_path, "run", "--resume")
    assert refused.returncode == 2
    assert "is still going on" in refused.stderr
    time.sleep(0.5)  # into the middle of a unit
    process.kill()
    process.communicate()
    # The server, its children and what they started end with the controller.
    assert gone(tmp_path / "cache")
    before = document(tmp_path)
    assert before["run"]["status"] == "running"
    kept = probes_of(before)
    assert len(kept) >= 4

    resumed = evaluator(tmp_path, "run", "--resume", before["run"]["uuid"][:8])
    assert resumed.returncode == 0, resumed.stderr
    after = document(tmp_path)
    assert after["run"]["uuid"] == before["run"]["uuid"]
    assert after["run"]["status"] == "finished"
    assert [evaluation["status"] for evaluation in after["evaluations"]] == ["ok"] * 4
    stored = probes_of(after)
    # By hand: cold, warm, walk, timing, accuracy and memory of two buckets of two workloads.
    assert len(stored) == 6 * 2 * 2
    assert {key: stored[key] for key in kept} == kept
    assert list((tmp_path / "cache/compilewatch/runs").iterdir()) == []

    again = evaluator(tmp_path, "run", "--resume")
    assert again.returncode == 2
    assert "nothing is left to resume" in again.stderr


def test_ctrl_c_closes_the_run_and_says_how_to_go_on(tmp_path: Path) -> None:
    write_workload(tmp_path, "one", '[{"n": 4}]')
    process = start(tmp_path, "run", "--workloads", "one.py")
    wait_for_units(process, 1)
    process.send_signal(signal.SIGINT)
    printed, said = process.communicate(timeout=60)
    assert process.returncode == 130
    found = document(tmp_path)
    assert found["run"]["status"] == "interrupted"
    assert f"python -m evaluator run --resume {found['run']['uuid'][:8]}" in said
    assert "Traceback" not in said
    assert " unfinished " in printed
    assert gone(tmp_path / "cache")
    resumed = evaluator(tmp_path, "run", "--resume")
    assert resumed.returncode == 0, resumed.stderr
    assert document(tmp_path)["run"]["status"] == "finished"


def test_a_changed_workload_is_not_passed_off_as_the_one_the_run_began_with(tmp_path: Path) -> None:
    path = write_workload(tmp_path, "one", '[{"n": 4}]')
    process = start(tmp_path, "run", "--workloads", "one.py")
    wait_for_units(process, 1)
    process.terminate()
    process.communicate(timeout=60)
    assert process.returncode == 130
    path.write_text(path.read_text().replace("* 2", "* 3"))
    refused = evaluator(tmp_path, "run", "--resume")
    assert refused.returncode == 2
    assert "workload one changed since the run began" in refused.stderr
    assert document(tmp_path)["run"]["status"] == "interrupted"


def test_two_controllers_into_one_new_file_lose_nothing(tmp_path: Path) -> None:
    for name in ("one", "two"):
        write_workload(tmp_path, name, '[{"n": 4}]')
    both = [start(tmp_path, "run", "--workloads", f"{name}.py", "--label", name) for name in ("one", "two")]
    for process in both:
        _, said = process.communicate(timeout=600)
        assert process.returncode == 0, said
    for name in ("one", "two"):
        found = document(tmp_path, name)
        assert found["run"]["status"] == "finished"
        assert [evaluation["workload"] for evaluation in found["evaluations"]] == [name]
        assert len(probes_of(found)) == 6
        assert found["evaluations"][0]["status"] == "ok"


def test_a_server_that_is_killed_is_started_again(tmp_path: Path) -> None:
    write_workload(tmp_path, "one", '[{"n": 4}]')
    process = start(tmp_path, "run", "--workloads", "one.py")
    wait_for_units(process, 1)
    killed = subprocess.run(
        ["pgrep", "-f", f"evaluator.worker.*{tmp_path}", "-P", str(process.pid)],
        capture_output=True,
        text=True,
        check=False,
    ).stdout.split()
    for pid in killed:
        subprocess.run(["kill", "-9", pid], check=False)
    assert len(killed) == 1
    _, said = process.communicate(timeout=300)
    assert process.returncode == 0, said
    assert "starting another one" in said
    found = document(tmp_path)
    assert found["evaluations"][0]["status"] == "ok"
    assert len(probes_of(found)) == 6
    (environment,) = found["run"]["environments"]
    assert len(environment["replicas"]) == 2


def test_five_replicas_are_five_servers(tmp_path: Path) -> None:
    write_workload(tmp_path, "one", '[{"n": 4}]')
    done = evaluator(tmp_path, "run", "--workloads", "one.py", "--profile", "standard")
    assert done.returncode == 0, done.stderr
    found = document(tmp_path)
    (environment,) = found["run"]["environments"]
    assert [replica["number"] for replica in environment["replicas"]] == [0, 1, 2, 3, 4]
    assert len({replica["server"] for replica in environment["replicas"]}) == 5
    metrics = found["evaluations"][0]["metrics"]
    assert len(metrics["compile.cold_s"]["samples"]) == 5
    assert len(metrics["compiled.wall_ms"]["samples"]) == 5 * 7
    # As many calls a round in every replica: the number is chosen once for all that is compared.
    protocols = found["evaluations"][0]["timing"]["protocols"]
    assert len(protocols) == 5
    assert len({protocol["repeats"] for protocol in protocols}) == 1
