"""What doctor finds, and the self-test: its arithmetic by hand, and the whole of it on this machine."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from pathlib import Path

import pytest

from evaluator.inspection import compiler_finding
from evaluator.self_test import PLANTED, WORKLOADS, Noise, noise, replica_values
from tests.evaluator.commandline import REPOSITORY, evaluator


def test_the_detectable_effect_by_hand() -> None:
    # 2.8 x 0.02 x sqrt(2 / (5 - 2)) = 0.0457238 in logarithms: below 20 replicas two are taken off.
    found = Noise("compiled.wall_ms", 8, sd=0.02, difference=0.0)
    assert math.log1p(found.detectable(5)) == pytest.approx(0.0457238, abs=1e-6)
    # 2.8 x 0.02 x sqrt(2 / 32) = 0.014.
    assert math.log1p(found.detectable(32)) == pytest.approx(0.014)


def test_the_spread_is_that_within_the_halves() -> None:
    # First half 1, 1, e^0.2, e^0.2 and the second e^0.5 higher: the shift is the difference, not spread.
    first, second = [0.0, 0.0, 0.2, 0.2], [0.5, 0.5, 0.7, 0.7]
    values = dict(zip([0, 3, 4, 7, 1, 2, 5, 6], map(math.exp, first + second), strict=True))
    found = noise("m", values)
    assert found is not None
    # Variance of 0, 0, .2, .2 is .04/3 in both halves.
    assert found.sd == pytest.approx(math.sqrt(0.04 / 3))
    assert math.log1p(found.difference) == pytest.approx(0.5)


def test_too_few_replicas_show_no_noise() -> None:
    assert noise("m", {0: 1.0, 1: 1.0, 3: 1.0}) is None


def test_a_replicas_value_is_the_median_of_its_rounds() -> None:
    def probe(replica: int, *values: float | None) -> dict[str, object]:
        return {
            "type": "probe",
            "replica": replica,
            "samples": [{"metric": "m", "value": value} for value in values],
        }

    records = [{"type": "run"}, probe(0, 1.0, 100.0, 3.0), probe(1, None, 7.0), probe(2, None)]
    assert replica_values(records, "m") == {0: 3.0, 1: 7.0}


def test_every_planted_workload_is_asked_about() -> None:
    planted = {path.stem for path in WORKLOADS.glob("[!_]*.py")} - {"steady"}
    text = (REPOSITORY / "evaluator/self_test.py").read_text()
    assert all(f'"{name}"' in text for name in planted)
    assert len(PLANTED) >= len(planted)


@pytest.mark.parametrize(
    ("compiler", "words"),
    [
        ("no-such-compiler", "is not found"),
        ("/bin/false", "builds no shared library"),
        ("/bin/true", "builds no"),
    ],
)
def test_a_compiler_that_does_not_work_is_missing(
    monkeypatch: pytest.MonkeyPatch, compiler: str, words: str
) -> None:
    monkeypatch.setenv("CXX", compiler)
    found = compiler_finding()
    assert found.state == "missing"
    assert words in found.detail
    assert "apt-get install g++" in found.fix


def test_the_compiler_of_this_machine_works() -> None:
    assert compiler_finding().state == "ok"


@pytest.mark.slow
def test_doctor_says_what_is_there_and_what_is_missing(tmp_path: Path) -> None:
    done = evaluator(tmp_path, "doctor")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "is not there yet: the first run makes it" in done.stdout
    assert "limited  GPU" in done.stdout
    (tmp_path / "r.db").write_text("no database")
    bare = evaluator(tmp_path, "doctor", "--python", "/bin/true")
    assert bare.returncode == 2
    assert "missing" in bare.stdout
    assert "not a database" in bare.stdout
    refused = evaluator(tmp_path, "doctor", "--selftest", "--python", "/bin/true")
    assert "the self-test needs what is missing above" in refused.stderr


@pytest.mark.slow
def test_what_is_planted_is_measured(tmp_path: Path) -> None:
    done = evaluator(tmp_path, "doctor", "--selftest", timeout=850)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "WRONG" not in done.stdout
    assert done.stdout.count("with 5 replicas a side") == 2
    assert list((tmp_path / "cache/compilewatch/runs").iterdir()) == []


@pytest.mark.slow
def test_records_are_written_under_an_interpreter_that_has_only_torch(tmp_path: Path) -> None:
    bare = os.environ.get("COMPILEWATCH_TEST_BARE_PYTHON")
    if not bare:
        pytest.skip("set COMPILEWATCH_TEST_BARE_PYTHON to an interpreter with torch and nothing else")
    records = tmp_path / "r.jsonl"
    source = WORKLOADS / "breaks.py"
    done = subprocess.run(
        [bare, "-m", "evaluator", "run", "--workloads", str(source), "--records", str(records)],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    database = str(tmp_path / "r.db")
    imported = subprocess.run(
        [sys.executable, "-m", "evaluator", "import", str(records), "--db", database],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=False,
    )
    assert imported.returncode == 0, imported.stderr
