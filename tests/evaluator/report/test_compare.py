"""``compare`` as a user runs it, over databases that hold what an upgrade leaves."""

from __future__ import annotations

import json
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from collections.abc import Sequence
from pathlib import Path

import pytest

from evaluator.__main__ import main
from evaluator.report.files import FORMATS
from evaluator.verdicts.policy import DIAGNOSTIC_MEMORY
from tests.db import made
from tests.evaluator.report import recorded

SLOWER = {"compiled.wall_ms": 1.2}
REPOSITORY = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def confirmed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return recorded.upgrade(tmp_path_factory.mktemp("confirmed") / "runs.db", SLOWER)


@pytest.fixture(scope="module")
def unconfirmed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return recorded.upgrade(tmp_path_factory.mktemp("unconfirmed") / "runs.db", SLOWER, confirmed=False)


@pytest.fixture(scope="module")
def faster(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return recorded.upgrade(tmp_path_factory.mktemp("faster") / "runs.db", {"compiled.wall_ms": 0.7})


def compare(database: Path, *arguments: str, sides: Sequence[str] = ("2.13.0", "2.14.1")) -> int:
    return main(["compare", *sides, "--db", str(database), *arguments])


def test_a_confirmed_regression_fails(confirmed: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert compare(confirmed) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("Hold: ") and "2 of 2 cells compared" in lines[0]
    assert "  torch 2.13.0+cpu → 2.14.1+cpu" in lines
    (command,) = {line.strip() for line in lines if "repro --ab" in line and "--ab 1 " in line}
    assert command == f"to see it: python -m evaluator repro --ab 1 3 --db {confirmed}"
    assert any("compiled.wall_ms regressed" in line and "+20.0%" in line for line in lines)
    assert f"again: python -m evaluator compare 1@1 1@2 --db {confirmed}" in lines


def test_what_is_unconfirmed_is_shown_and_gates_only_where_asked(
    unconfirmed: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert compare(unconfirmed) == 0
    assert "regressions, unconfirmed" in capsys.readouterr().out
    assert compare(unconfirmed, "--fail-on", "unconfirmed") == 1
    assert compare(unconfirmed, "--fail-on", "unconfirmed,compile.*") == 0


@pytest.mark.parametrize(
    "fail_on",
    [None, "regressed,newly_failing,flaky,inconclusive,not_compared,unconfirmed", "unconfirmed,compiled.*"],
)
def test_an_improvement_never_fails(faster: Path, fail_on: str | None) -> None:
    assert compare(faster, *(("--fail-on", fail_on) if fail_on else ())) == 0
    # The other way round the same numbers are a regression.
    assert compare(faster, *(("--fail-on", fail_on) if fail_on else ()), sides=("2.14.1", "2.13.0")) == 1


def test_a_margin_decides_what_counts(confirmed: Path) -> None:
    assert compare(confirmed, "--margin", "compiled.wall_ms=25") == 0
    assert compare(confirmed, "--margin", "compiled.wall_ms=15%") == 1


@pytest.mark.parametrize("metric", sorted(DIAGNOSTIC_MEMORY))
def test_memory_has_a_margin_as_times_have(tmp_path: Path, metric: str) -> None:
    # A half more: by default it counts, and with another margin not.
    database = recorded.upgrade(tmp_path / "runs.db", {metric: 1.5}, confirmed=False)
    gate = ("--fail-on", f"{metric},unconfirmed")
    recorded_here = metric == "compile.host_peak_mb"
    assert compare(database, *gate) == int(recorded_here)
    assert compare(database, *gate, "--margin", f"{metric}=60") == 0


@pytest.mark.parametrize(
    ("status", "said"), [("interrupted", "was interrupted"), (None, "has not ended"), ("finished", None)]
)
def test_a_run_that_did_not_end_is_told(
    tmp_path: Path, status: str | None, said: str | None, capsys: pytest.CaptureFixture[str]
) -> None:
    recorded.store_upgrade(str(tmp_path / "runs.db"), {}, confirmed=False, status=status)
    assert compare(tmp_path / "runs.db", sides=("1@1", "1@2")) == 0
    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith("! Run 1 (upgrade)")]
    assert len(lines) == (said is not None)
    assert said is None or said in lines[0]


def test_what_is_printed_beside_a_file_steers_no_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    database = tmp_path / "runs.db"
    recorded.store_upgrade(str(database), SLOWER, workload="made\x1b[2Jabsolute")
    assert compare(database, "--output", str(tmp_path / "report.txt")) == 1
    said = capsys.readouterr().out
    assert "\x1b" not in said
    assert said.splitlines()[0].startswith("Hold: ") and "made [2Jabsolute" in said


@pytest.mark.parametrize("form", FORMATS)
def test_every_format_can_be_written_to_a_file(
    confirmed: Path, tmp_path: Path, form: str, capsys: pytest.CaptureFixture[str]
) -> None:
    output = tmp_path / "reports" / f"report.{form}"
    assert compare(confirmed, "--format", form, "--output", str(output)) == 1
    assert capsys.readouterr().out.splitlines()[1] == f"report: {output}"
    text = output.read_text()
    if form == "json":
        document = json.loads(text)
        assert document["gate"]["exit_code"] == 1
        assert [run["purpose"] for run in document["runs"]] == ["upgrade", "confirm"]
        assert document["machine"] == "Some CPU, 2 CPUs, 8 GB, Linux 6.1"
    elif form == "junit":
        assert len(list(ElementTree.fromstring(text).iter("failure"))) == 2
    else:
        assert "+20.0%" in text
    if form in ("markdown", "html"):
        # The sources come from the artifacts beside the database.
        assert "out0[0] = 1;" in text


def test_nothing_comparable_is_one_sentence_and_exit_2(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    database = recorded.upgrade(tmp_path / "runs.db", {}, confirmed=False)
    other = made.whole_run("other", buckets=("n=4",))
    for record in other:
        if record["type"] == "run":
            record["started_at"] = "2026-03-02T10:00:00+00:00"
        if record["type"] in ("workload", "evaluation"):
            record["definition_hash"] = "f" * 64
    store = recorded.Store(str(database))
    store.write_many(other)
    store.close()
    assert compare(database, sides=("1@1", "label-other")) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("error: nothing of ") and len(captured.err.splitlines()) == 1
    assert "the workload's definition differs between the sides" in captured.err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--fail-on", "regresed"], "no verdict and no metric is called so"),
        (["--fail-on", "improved"], "no reason to fail"),
        (["--margin", "compiled.wall_ms"], "is no METRIC=PERCENT"),
        (["--margin", "graph_breaks=5"], "graph_breaks has no margin"),
        (["--margin", "compiled.wall_ms=-1"], "-1 is no percentage above zero"),
        (["--margin", "compiled.wall_ms=much"], "much is no percentage above zero"),
        (["--format", "pdf"], "invalid choice"),
    ],
)
def test_misuse_is_told_before_anything_is_read(
    tmp_path: Path, arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stopped:
        compare(tmp_path / "absent.db", *arguments)
    assert stopped.value.code == 2
    assert words in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize(
    ("sides", "words"),
    [
        (("2.13.0", "2.99.0"), "no run has torch 2.99.0"),
        (("1@1", "1@1"), "both mean"),
        (("1@9", "1@2"), "no environment 9"),
    ],
)
def test_sides_that_mean_nothing(
    confirmed: Path, sides: tuple[str, str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert compare(confirmed, sides=sides) == 2
    captured = capsys.readouterr()
    assert words in captured.err and len(captured.err.splitlines()) == 1 and captured.out == ""


def test_an_absent_database_is_not_made(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert compare(tmp_path / "absent.db") == 2
    assert "does not exist" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_from_the_shell(confirmed: Path) -> None:
    """As a gate runs it: the exit code of the process, the report on stdout."""
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "evaluator",
            "compare",
            "upgrade@1",
            "label-upgrade@2",
            "--db",
            str(confirmed),
        ],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 2 and "upgrade" in done.stderr
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "evaluator",
            "compare",
            "label-upgrade@1",
            "label-upgrade@2",
            "--db",
            str(confirmed),
        ],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 1 and done.stdout.startswith("Hold: ") and done.stderr == ""
