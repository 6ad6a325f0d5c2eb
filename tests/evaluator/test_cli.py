"""The command line as a user meets it: real processes, their exit codes and what they print."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from evaluator.__main__ import command_modules
from workloads import catalog

REPOSITORY = Path(__file__).parents[2]


def evaluator(
    *arguments: str, folder: Path | None = None, **variables: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "evaluator", *arguments],
        cwd=folder or REPOSITORY,
        env={**os.environ, "PYTHONPATH": str(REPOSITORY), **variables},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def misuse(*arguments: str, folder: Path | None = None, **variables: str) -> str:
    """What a command that must be refused says on stderr: one sentence, no traceback, exit 2."""
    done = evaluator(*arguments, folder=folder, **variables)
    assert done.returncode == 2, done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""
    return done.stderr


def test_the_overview_names_every_command() -> None:
    done = evaluator("--help")
    assert done.returncode == 0
    for name in command_modules():
        # A long name has a line of its own above its purpose.
        assert re.search(rf"^    {name}\s", done.stdout, re.MULTILINE)


def test_commands_are_the_modules_that_are_there() -> None:
    modules = {path.stem for path in (REPOSITORY / "evaluator/commands").glob("[!_]*.py")}
    assert {name.rpartition(".")[2] for name in command_modules().values()} == modules
    assert {"list", "run", "show", "import", "doctor"} <= set(command_modules())


@pytest.mark.parametrize("command", sorted(command_modules()))
def test_every_command_has_help_with_an_example(command: str) -> None:
    done = evaluator(command, "--help")
    assert done.returncode == 0
    said = " ".join(done.stdout.split())
    assert f"example: python -m evaluator {command}" in said
    tags = {tag for workload in catalog.load().workloads.values() for tag in workload.tags}
    assert set(re.findall(r"example: [^;]* --tag (\w+)", said)) <= tags


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "COMMAND"),
        (["explode"], "invalid choice: 'explode'"),
        (["run", "--explode"], "unrecognized arguments: --explode"),
        (["run", "--prof", "quick"], "unrecognized arguments: --prof"),
        (["run", "--profile", "slow"], "invalid choice: 'slow'"),
        (["run", "--timeout", "0"], "number above zero"),
        (["run", "--timeout", "nan"], "number above zero"),
        (["run", "--max-buckets", "1.5"], "whole number above zero"),
        (["show"], "RUN"),
    ],
)
def test_what_no_command_knows_is_misuse(arguments: list[str], words: str) -> None:
    assert words in misuse(*arguments)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["run", "--records", "r.jsonl", "--db", "x.db"], "exclude each other"),
        (["run", "--workloads", "missing.py"], "there is no missing.py"),
        (["run", "--workloads", "some/folder"], "there is no some/folder"),
        (["list", "--workloads", "missing.py"], "there is no missing.py"),
        (["run", "--python", "/nowhere/python"], "/nowhere/python is no interpreter"),
        (["show", "latest"], "does not exist"),
        (["run", "--resume"], "does not exist"),
        (["run", "--resume", "--profile", "quick", "--label", "x"], "leave out label"),
        (["run", "mlp", "--resume"], "leave out workload"),
        (["import", "missing.jsonl"], "missing.jsonl can't be read: No such file"),
    ],
)
def test_what_a_user_can_put_right_is_one_sentence(tmp_path: Path, arguments: list[str], words: str) -> None:
    said = misuse(*arguments, folder=tmp_path)
    assert words in said
    assert said.startswith("error: ")
    assert len(said.splitlines()) == 1
    assert list(tmp_path.iterdir()) == []


def test_a_python_without_torch_is_told_apart(tmp_path: Path) -> None:
    fake = tmp_path / "python"
    fake.write_text(f'#!/bin/sh\nexec "{sys.executable}" -S -E -s "$@"\n')
    fake.chmod(0o755)
    said = misuse("list", "--python", str(fake), folder=tmp_path)
    assert "error: " in said
    assert str(fake) in said


def test_what_is_no_python_does_not_hang(tmp_path: Path) -> None:
    said = misuse("list", "--python", "/bin/true", folder=tmp_path)
    assert "no process server starts under /bin/true" in said


def test_the_database_may_come_from_a_variable(tmp_path: Path) -> None:
    said = misuse("show", "latest", folder=tmp_path, COMPILEWATCH_DB="mine.db")
    assert "mine.db does not exist" in said
    said = misuse("show", "latest", "--db", "other.db", folder=tmp_path, COMPILEWATCH_DB="mine.db")
    assert "other.db does not exist" in said


@pytest.mark.parametrize("command", ["run", "show", "import"])
def test_a_file_that_is_no_database_is_left_as_it_is(tmp_path: Path, command: str) -> None:
    precious = tmp_path / "thesis.db"
    precious.write_text("not a database, but years of work " * 100)
    records = tmp_path / "r.jsonl"
    records.write_text(
        '{"type": "header", "format": "compilewatch-records", "version": 1}\n{"type": "run", "uuid": "u"}\n'
    )
    before = precious.read_bytes()
    extra = {"run": [], "show": ["latest"], "import": ["r.jsonl"]}[command]
    assert "not a database" in misuse(command, *extra, "--db", "thesis.db", folder=tmp_path)
    assert precious.read_bytes() == before


def test_records_need_no_library_but_torch() -> None:
    # What `run --records` imports, with everything that is no part of Python or of us refused.
    program = (
        "import sys\n"
        "class Refuse:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name.split('.')[0] not in {*sys.stdlib_module_names, 'evaluator'}: raise ImportError(name)\n"
        "sys.meta_path.insert(0, Refuse())\n"
        "from evaluator.__main__ import build_parser\n"
        "build_parser(['run', 'list'])\n"
        "print('fine')\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=REPOSITORY, capture_output=True, text=True, check=False
    )
    assert done.stdout == "fine\n", done.stderr
