"""The report of an A/B and the driver that fills it, on made-up records and processes without torch."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

import pytest

from evaluator.ab.driver import Misuse, Runner, failure, interpreter, turns
from evaluator.ab.report import report

VERSIONS = {"torch": "2.0", "git": "abc", "Python": "3.11"}


def code(**sources: str) -> str:
    return "".join(
        f"{name} = async_compile.cpp_pybinding(['x'], '''{source}''')\n" for name, source in sources.items()
    )


def side(**changes: Any) -> dict[str, Any]:
    recorded = {"evaluation": 12, "torch": "2.0", "status": "ok", "error": None, "medians": {}}
    return {**recorded, "interpreter": None, "variables": {}, "libraries": {}, **changes}


def spec(**changes: Any) -> dict[str, Any]:
    sides = {"base": side(), "candidate": side(evaluation=57, torch="2.1")}
    made = {"title": "mlp", "why": "its kernels differ", "graph": None, "sides": sides, "target": "cpu"}
    return {**made, "buckets": [{"name": "-", "params": {}}], "child": "child", **changes}


def facts(**changes: Any) -> dict[str, Any]:
    return {"versions": VERSIONS, "error": {"eager": None, "compiled": None}, "code": [], **changes}


def found(base: dict[str, Any], candidate: dict[str, Any], *rows: tuple[str, float]) -> dict[str, Any]:
    timed = [{"side": role, "compiled_ms": value} for role, value in rows]
    return {"facts": {"base": base, "candidate": candidate}, "turns": timed, "untimed": None}


def bullets(text: str, heading: str) -> list[str]:
    section = text.partition(f"## {heading}\n")[2].partition("\n## ")[0]
    return [line for line in section.splitlines() if line.startswith("- ")]


def test_the_ratio_is_the_middle_of_all_pairwise_ratios_and_its_interval_exact() -> None:
    # Ratios of 16, 32, 64, 128 to 1, 2, 4, 8 are powers of 2 from 2 to 128, the middle one 16. Of the 70 orders of 4
    # and 4 one is most extreme on each side, so all 16 ratios are needed for 95%: 1 - 2/70 = 97.1%.
    rows = [("base", 1.0), ("candidate", 16.0), ("candidate", 32.0), ("base", 2.0)]
    rows += [("base", 4.0), ("candidate", 64.0), ("candidate", 128.0), ("base", 8.0)]
    (line,) = bullets(report(spec(), found(facts(), facts(), *rows), "python ab.py"), "Times")
    assert line == (
        "- warm compiled (ms): 3 in base, 48 in candidate; ratio 16.000 [2.000, 128.000] at 95%, a difference"
    )


def test_three_a_side_have_no_interval_and_none_is_made_up() -> None:
    rows = [("base", 1.0), ("candidate", 1.5)] * 3
    (line,) = bullets(report(spec(), found(facts(), facts(), *rows), "python ab.py"), "Times")
    assert line.endswith("1 in base, 1.5 in candidate; too few processes for an interval")


def test_kernels_are_matched_by_what_they_are_and_then_by_name() -> None:
    base = facts(code=[code(same="int a;", moved="int m;", changed="int b;", gone="int c;")])
    candidate = facts(code=[code(same="int a;", renamed="int m;", changed="long b;", new="int d;")])
    text = report(spec(), found(base, candidate), "python ab.py")
    assert bullets(text, "What differs") == [
        "- kernel of another source: `changed` (cpp)",
        "- kernel only in base: `gone` (cpp)",
        "- kernel only in candidate: `new` (cpp)",
    ]
    assert "-int b;\n+long b;" in text


def test_breaks_and_recompiles_that_differ_are_listed_once() -> None:
    same = {"graphs": 2, "recompiles": 1, "recompile_limit_hit": False}
    base = {**same, "break_events": 1, "breaks": {"0/0": "print"}, "recompile_reasons": ["n == 2"]}
    more = {"0/0": "print", "1/0": "item `x`", "2/0": "item `x`"}
    candidate = {**same, "break_events": 3, "breaks": more, "recompile_reasons": ["n == 3"]}
    text = report(
        spec(),
        found(
            facts(facts=base, accuracy={"max_abs": 1e-7, "rmse_fp64": 1.0}),
            facts(facts=candidate, accuracy={"max_abs": 1e-2, "rmse_fp64": 1.0}),
        ),
        "python ab.py",
    )
    assert bullets(text, "What differs") == [
        "- break events: 1 in base, 3 in candidate",
        "- graph break only in candidate, 2 times: `item 'x'`",
        "- recompile only in base: `n == 2`",
        "- recompile only in candidate: `n == 3`",
    ]
    assert "| largest difference to eager | 1e-07 | 0.01 |" in text
    assert "relative" not in text


def test_an_error_and_a_death_are_said_and_nothing_is_timed() -> None:
    failed = facts(error={"eager": None, "compiled": "InductorError: no"}, ignored=["a.b = 1"])
    assert failure(failed) == "InductorError: no"
    assert failure({"died": "was ended by SIGSEGV"}) == "was ended by SIGSEGV"
    assert failure(facts()) is None
    results = {**found(failed, {"died": "was ended by SIGSEGV"}), "untimed": "base and candidate failed"}
    text = report(spec(), results, "python ab.py")
    assert bullets(text, "What differs") == [
        "- base, compiled: `InductorError: no`",
        "- base lacks settings that were in force: `a.b = 1`",
        "- candidate was ended by SIGSEGV",
    ]
    assert "Not timed: base and candidate failed." in text


def test_the_report_shows_variables_that_differ_and_no_home_folder() -> None:
    home = str(Path.home())
    sides = {"base": side(), "candidate": side(variables={"PIPE": "a|b", "WHERE": f"{home}/x"})}
    text = report(spec(sides=sides), found(facts(), facts()), f"python ab.py --base {home}/venv")
    assert "| `PIPE` | - | a\\|b |" in text
    assert "python ab.py --base ~/venv" in text
    assert f"{home}/" not in text


def test_a_graph_of_their_own_is_told_apart_from_one_graph() -> None:
    graph = {"name": "0/0", "same": False, "bodies": {"base": "add = 1", "candidate": "add = 2"}}
    text = report(spec(graph=graph), found(facts(), facts()), "python ab.py")
    assert "each side its own" in text
    assert "-add = 1\n+add = 2" in text


def test_sides_take_turns_at_going_first() -> None:
    base, candidate = "base", "candidate"
    assert turns(3) == [base, candidate, candidate, base, base, candidate]
    assert turns(0) == []


def test_an_interpreter_that_is_none_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(Misuse, match="give --base a python with torch"):
        interpreter(str(tmp_path / "python"), "base")
    # A venv is known by its folder.
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "python").symlink_to(sys.executable)
    assert interpreter(str(tmp_path), "base") == str(tmp_path / "bin" / "python")


def runner(folder: Path, child: str, timeout: float = 60, **changes: Any) -> Runner:
    (folder / "child.py").write_text("import json, os, pathlib, subprocess, sys, time\n" + child)
    python = {"base": sys.executable, "candidate": sys.executable}
    return Runner(spec(**changes), folder, python, timeout)


def test_each_side_has_its_own_variables_and_empty_caches(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ONLY_CANDIDATE", "of the shell")
    names = ["ONLY_CANDIDATE", "TORCHINDUCTOR_CACHE_DIR", "TORCH_TRACE", "CUDA_VISIBLE_DEVICES"]
    child = f"found = {{n: os.environ.get(n) for n in {names}}}\n"
    child += "pathlib.Path(sys.argv[2]).write_text(json.dumps(found))"
    sides = {"base": side(), "candidate": side(variables={"ONLY_CANDIDATE": "1"})}
    started = runner(tmp_path, child, sides=sides)
    base, candidate = started.run("base", "warm"), started.run("candidate", "facts")
    assert (base["ONLY_CANDIDATE"], candidate["ONLY_CANDIDATE"]) == (None, "1")
    assert base["TORCHINDUCTOR_CACHE_DIR"] != candidate["TORCHINDUCTOR_CACHE_DIR"]
    # A trace slows what is timed.
    assert base["TORCH_TRACE"] is None
    assert candidate["TORCH_TRACE"]
    assert base["CUDA_VISIBLE_DEVICES"] == ""


def test_a_process_that_dies_says_how(tmp_path: Path) -> None:
    assert runner(tmp_path, "sys.exit('no torch here')").run("base", "warm") == {
        "died": "exited with 1: no torch here"
    }
    assert runner(tmp_path, "os.kill(os.getpid(), 11)").run("base", "warm") == {
        "died": "was ended by SIGSEGV"
    }
    assert runner(tmp_path, "").run("base", "warm") == {"died": "it ended without a result"}


def test_a_process_that_hangs_is_ended_with_those_it_started(tmp_path: Path) -> None:
    note = tmp_path / "note"
    child = f"""
subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
pathlib.Path({str(note)!r}).write_text("started")
time.sleep(600)
"""
    assert runner(tmp_path, child, timeout=5).run("base", "warm") == {"died": "took longer than 5 s"}
    assert note.read_text() == "started"
    deadline = time.monotonic() + 10
    while _sleepers() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert _sleepers() == []


def _sleepers() -> list[str]:
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                line = (entry / "cmdline").read_bytes()
            except OSError:
                continue
            if b"import time; time.sleep(600)" in line and str(sys.executable).encode() in line:
                found.append(entry.name)
    return found


def test_where_other_buckets_come_first_cold_and_warm_are_two_processes(tmp_path: Path) -> None:
    child = "spec = json.loads(pathlib.Path(sys.argv[1]).read_text())\n"
    child += "pathlib.Path(sys.argv[2]).write_text(json.dumps({spec['do']: spec['modules']}))"
    two = [{"name": "a", "params": {}}, {"name": "b", "params": {}}]
    assert runner(tmp_path, child, buckets=two).times("base", ["m"]) == {"cold": ["m"], "warm": ["m"]}
    assert runner(tmp_path, child).times("base", ["m"]) == {"cold and warm": ["m"]}
