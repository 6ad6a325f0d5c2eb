"""The script of `repro --ab` stands alone, runs both interpreters in turns, and reports what the evaluations recorded."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from evaluator.ab.changed_graph import NoGraph
from evaluator.ab.reproduction import ab_script, check_cell
from evaluator.errors import UserError

REPOSITORY = Path(__file__).parents[3]

# What differs between the sides is decided by a declared variable, as it may be between two environments.
WORKLOADS = """
import os

import torch
from workloads.registry import Variant, workload


def inputs(bucket, target):
    return (torch.randn(bucket["n"], 64),), {}


@workload(
    "pointwise",
    inputs=inputs,
    buckets=[{"n": 64}],
    variants=[Variant("default", {})],
    environment=["AB_TEST_SIDE"],
)
def build_pointwise(target):
    if os.environ.get("AB_TEST_SIDE"):
        # Scalar code.
        torch._inductor.config.cpp.simdlen = 1

    def call(x):
        return torch.sin(x) * 2 + 1

    return call


@workload(
    "captured",
    inputs=inputs,
    buckets=[{"n": 2}, {"n": 4}],
    variants=[Variant("default", {"backend": "aot_eager"})],
    environment=["AB_TEST_SIDE"],
    training=True,
)
def build_captured(target):
    speaks = bool(os.environ.get("AB_TEST_SIDE"))

    class Layer(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.line = torch.nn.Linear(64, 8)

        def forward(self, x):
            y = torch.sin(self.line(x))
            if speaks:
                print("between")
            return torch.cos(y)

    return Layer()
"""


def evaluator(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "evaluator", *arguments],
        cwd=REPOSITORY,
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Two runs of both workloads, the second in the other environment."""
    folder = tmp_path_factory.mktemp("ab")
    (folder / "two.py").write_text(WORKLOADS)
    command = ["run", "--no-packs", "--workloads", str(folder / "two.py"), "--db", str(folder / "ab.db")]
    for label, variables in (("base", {}), ("candidate", {"AB_TEST_SIDE": "1"})):
        done = evaluator(*command, "--label", label, **variables)
        assert done.returncode == 0, done.stdout + done.stderr
    return str(folder / "ab.db")


def evaluations(database: str, workload: str, bucket: str) -> list[dict[str, Any]]:
    """The evaluation of each side."""
    found = []
    for label in ("base", "candidate"):
        shown = evaluator("show", label, "--json", "--db", database)
        listed = json.loads(shown.stdout)["evaluations"]
        found += [e for e in listed if (e["workload"], e["bucket"]) == (workload, bucket)]
    assert len(found) == 2
    return found


def run_script(script: Path, *arguments: str) -> str:
    """What the script prints, run by an interpreter that can't see this project, for two that can't either."""
    candidate = os.environ.get("COMPILEWATCH_TEST_BARE_PYTHON", sys.executable)
    clean = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        [sys.executable, "-I", str(script), "--base", sys.executable, "--candidate", candidate, *arguments],
        cwd=script.parent,
        env=clean,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
def test_the_graph_whose_kernels_changed_runs_alone_under_both(database: str, tmp_path: Path) -> None:
    base, candidate = evaluations(database, "pointwise", "n=64")
    script = tmp_path / "ab.py"
    done = evaluator(
        "repro", "--ab", str(base["id"]), str(candidate["id"]), "--db", database, "--output", str(script)
    )
    assert done.returncode == 0, done.stderr
    assert "It runs graph 0/0 alone" in script.read_text()
    # Both interpreters were recorded, so none has to be given.
    assert "    python ab.py\n" in script.read_text()
    report = run_script(script, "--processes", "1")
    (name,) = [kernel["name"] for kernel in base["kernels"]]
    assert f"- kernel of another source: `{name}` (cpp)" in report
    # Vectors on one side alone.
    (diff,) = report.split("<details>")[1:]
    assert any(line.startswith("-") and "Vectorized" in line for line in diff.splitlines())
    assert "| `AB_TEST_SIDE` | - | 1 |" in report
    rows = [line.split(" | ")[:2] for line in report.splitlines() if line.startswith(("| 1 |", "| 2 |"))]
    assert rows == [["| 1", "base"], ["| 2", "candidate"]]
    assert report.count("too few processes for an interval") == 3


@pytest.mark.slow
def test_a_new_break_is_shown_by_the_workload_itself(database: str, tmp_path: Path) -> None:
    base, candidate = evaluations(database, "captured", "n=4")
    script = tmp_path / "ab.py"
    done = evaluator(
        "repro", "--ab", str(base["id"]), str(candidate["id"]), "--db", database, "--output", str(script)
    )
    assert done.returncode == 0, done.stderr
    assert "It runs the workload itself" in script.read_text()
    report = run_script(script, "--processes", "1")
    assert "- graph break only in candidate" in report
    assert "print" in report.partition("graph break only in candidate")[2].partition("\n")[0]
    assert "| 2 | candidate |" in report


@pytest.mark.slow
def test_misuse_is_one_sentence(database: str) -> None:
    base, candidate = evaluations(database, "captured", "n=4")
    other, _ = evaluations(database, "captured", "n=2")
    ids = [str(one["id"]) for one in (base, candidate, other)]
    for arguments, words in (
        ([], "give the id of an evaluation, or --ab"),
        ([ids[0], "--ab", *ids[:2]], "give the id of an evaluation, or --ab"),
        ([ids[0], "--graph", "0/0"], "give --ab"),
        (["--ab", ids[0], ids[0]], "given twice"),
        (["--ab", ids[0], ids[2]], "different cells (bucket n=4 and n=2)"),
        (["--ab", *ids[:2], "--graph", "7/7"], "no graph '7/7'"),
    ):
        done = evaluator("repro", *arguments, "--db", database)
        assert done.returncode == 2, arguments
        assert words in done.stderr
        assert len(done.stderr.splitlines()) == 1


def document(**changes: Any) -> dict[str, Any]:
    """The least of an evaluation that a script is made of."""
    workload = {"name": 'odd """name', "source": "def build():\n    return '''x'''\n", "variables": []}
    workload |= {"training": False, "grad": False, "calls": 2}
    made = {"id": 1, "bucket": r"n=\8", "variant": "default", "target": "cpu", "definition_hash": "d"}
    made |= {"workload": workload, "environment": {"torch": "2.0", "variables": {}}, "status": "ok"}
    made |= {
        "precision": {"set": None},
        "error": None,
        "metrics": {},
        "facts": {},
        "libraries": {},
        "interpreter": None,
    }
    return {**made, "seed": 0, "options": {}, "buckets": [{"name": "n", "params": {}}], **changes}


def test_the_script_is_python_whatever_the_texts_in_it_hold(tmp_path: Path) -> None:
    text = ab_script(document(), document(id=2), NoGraph('why """ not'))
    names: dict[str, Any] = {"__name__": "script"}
    exec(compile(text, "ab.py", "exec"), names)
    names["unpack"](str(tmp_path))
    sys.path.remove(str(tmp_path))
    assert (tmp_path / "workload.py").read_text() == "def build():\n    return '''x'''\n"
    for carried in (
        "evaluator/ab/driver.py",
        "evaluator/trace/kernels.py",
        "evaluator/worker/ab_workload.py",
    ):
        assert (tmp_path / carried).read_text() == (REPOSITORY / carried).read_text()


def test_the_processes_are_told_the_precision_that_the_cell_was_measured_under() -> None:
    asked = {"set": "tf32", "variant": "tf32", "workload": "ieee"}
    names: dict[str, Any] = {"__name__": "script"}
    exec(ab_script(document(precision=asked), document(id=2, precision=asked), NoGraph("so")), names)
    assert names["SPEC"]["precision"] == "tf32"


def test_what_a_terminal_shows_of_a_script_steers_it_not() -> None:
    odd = "\x1b[2J\x07"
    sides = []
    for number in (1, 2):
        one = document(id=number, bucket=f"n{odd}", status=f"ok{odd}", libraries={f"lib{odd}": "1"})
        one["environment"] = {"torch": f"2.0{odd}", "variables": {}}
        one["workload"] |= {"name": f"odd{odd}"}
        sides.append(one)
    text = ab_script(sides[0], sides[1], NoGraph(f"so{odd}"), f"ab{odd}.py")
    assert "odd [2J" in text
    assert all(sign.isprintable() or sign == "\n" for sign in text)


def test_recorded_interpreters_are_the_defaults_and_unknown_ones_are_asked_for() -> None:
    known = document(id=2, interpreter="~/venv/bin/python")
    assert "python ab.py --base PYTHON\n" in ab_script(document(), known, NoGraph("so"))
    assert "python ab.py\n" in ab_script({**known, "id": 1}, known, NoGraph("so"))


def test_two_definitions_are_no_pair() -> None:
    with pytest.raises(UserError, match="two definitions"):
        check_cell(document(), document(id=2, definition_hash="e"))
    with pytest.raises(UserError, match="kept no source"):
        bare = document(id=2)
        bare["workload"] = {**bare["workload"], "source": None}
        ab_script(document(), bare, NoGraph("so"))
