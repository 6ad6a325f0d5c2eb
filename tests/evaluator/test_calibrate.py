"""A recorded calibration can be read again."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from db.store import Store
from evaluator.__main__ import main
from tests.db import made
from tests.evaluator.commandline import evaluator, start, write_workload
from tests.evaluator.test_resume import wait_for_units


@pytest.fixture
def database(tmp_path: Path) -> str:
    path = str(tmp_path / "runs.db")
    store = Store(path)
    store.write_many(made.whole_run("noise", replicas=4, purpose="calibrate"))
    store.write_many(made.whole_run("plain", started_at="2026-03-02T10:00:00+00:00"))
    store.close()
    return path


@pytest.mark.parametrize("reference", [[], ["latest"], ["1"], ["label-noise"], [made.run_uuid("noise")[:8]]])
def test_the_table_of_a_calibration_is_shown_again(
    database: str, reference: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["calibrate", "--show", *reference, "--db", database]) == 0
    rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert rows[0][:4] == ["workload", "bucket", "variant", "metric"]
    cold = [row for row in rows if "compile.cold_s" in row]
    assert [row[:3] for row in cold] == [["made.absolute", bucket, "default"] for bucket in made.BUCKETS]


@pytest.mark.parametrize(
    ("reference", "said"), [("label-plain", "belongs to no calibration"), ("999", "no run has the id")]
)
def test_what_is_no_calibration_is_said(
    database: str, reference: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["calibrate", "--show", reference, "--db", database]) == 2
    assert said in capsys.readouterr().err


def test_where_nothing_is_timed_there_is_no_noise(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["calibrate", "--target", "codegen:h100"]) == 2
    assert "nothing is timed on codegen:h100" in capsys.readouterr().err


def test_show_says_how_to_see_the_noise(database: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", "label-noise", "--db", database]) == 0
    hint = f"python -m evaluator calibrate --show {made.run_uuid('noise')[:8]} --db {database}"
    assert hint in capsys.readouterr().out
    assert main(["show", "label-plain", "--db", database]) == 0
    assert "calibrate --show" not in capsys.readouterr().out


@pytest.mark.slow
def test_a_calibration_that_is_resumed_shows_its_table_at_the_end(tmp_path: Path) -> None:
    write_workload(tmp_path, "one", '[{"n": 4}]')
    process = start(tmp_path, "calibrate", "--workloads", "one.py", "--replicas", "4")
    wait_for_units(process, 1)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=120)
    assert process.returncode == 130
    assert "run --resume" in said
    resumed = evaluator(tmp_path, "run", "--resume")
    assert resumed.returncode == 0, resumed.stderr
    shown = evaluator(tmp_path, "calibrate", "--show")
    assert "counts from" in shown.stdout
    assert resumed.stdout.endswith(f"\n{shown.stdout}")
