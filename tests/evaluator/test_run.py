"""A whole run through the command line: what is recorded, shown, written to a file and imported again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from evaluator.sink import read_records
from tests.evaluator.commandline import (
    document,
    evaluator,
    processes_below,
    said,
    write_workload,
)

pytestmark = pytest.mark.slow

# What differs between two runs of the same thing: ids, moments, places, and every measured number.
VOLATILE = {
    "id", "uuid", "server", "sha256", "source_sha256", "path", "argv", "started_at", "finished_at", "conditions",
    "log_tail", "late_imports", "duration_s", "traced_phases", "samples", "flags", "median", "interval",
    "replica_medians", "eager_medians", "median_of_batch_means", "repeats", "warmup", "timing",
}  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("run")


@pytest.fixture(scope="module")
def recorded(folder: Path) -> dict[str, Any]:
    """One run of a quick workload and one that does not load, and what it printed."""
    write_workload(folder, "quick")
    (folder / "broken.py").write_text("def build(:\n")
    done = evaluator(folder, "run", "--workloads", "quick.py", "--workloads", "broken.py", "--label", "first")
    assert done.returncode == 0, done.stderr
    return {"stdout": done.stdout, "stderr": done.stderr, **document(folder)}


def test_the_table_and_the_next_command_are_printed(recorded: dict[str, Any]) -> None:
    lines = recorded["stdout"].splitlines()
    assert [line.split()[:4] for line in lines[1:4]] == [
        ["quick", "n=4", "default", "ok"],
        ["quick", "n=8", "default", "ok"],
        ["broken", "-", "default", "setup_error"],
    ]
    assert f"python -m evaluator show {recorded['run']['uuid'][:8]}" in lines[-1]
    assert "streamlit run app" in lines[-1]


def test_progress_is_one_plain_line_a_unit(recorded: dict[str, Any]) -> None:
    # By hand: two compiles, a walk, an accuracy probe, two memory probes.
    problem, *lines = said(recorded["stderr"])
    assert problem.startswith("broken can't be loaded under ")
    assert [line.split("]")[0] for line in lines] == [f"[{n}/6" for n in range(1, 7)]
    assert lines[-1].endswith("done")


def test_what_the_compiler_did_is_recorded(recorded: dict[str, Any]) -> None:
    first, second, _ = recorded["evaluations"]
    # relu and mul; a second size is one recompile, with the size now a symbol.
    assert [first["facts"][name] for name in ("graphs", "ops", "compiles", "recompiles")] == [1, 2, 1, 0]
    assert [second["facts"][name] for name in ("graphs", "ops", "compiles", "recompiles")] == [1, 2, 1, 1]
    assert second["facts"]["dynamic_symbols"] == 1
    assert second["facts"]["second_walk_compiles"] == 0
    (reason,) = second["recompile_reasons"]
    assert "expected 4, actual 8" in reason["reason"]
    assert reason["file"] == "quick.py"
    assert first["accuracy"]["verdict"] == "pass"
    assert first["accuracy"]["max_abs"] == 0.0


def test_every_probe_ran_in_its_cache_state(recorded: dict[str, Any]) -> None:
    probes = recorded["evaluations"][0]["probes"]
    found = {
        (name, one["cache"], one["status"]) for name, probe in probes.items() for one in probe["processes"]
    }
    assert found == {
        ("compile", "cold", "ok"),
        ("compile", "warm", "ok"),
        ("walk", None, "ok"),
        ("timing", None, "ok"),
        ("accuracy", None, "ok"),
        ("memory", None, "ok"),
    }
    metrics = recorded["evaluations"][0]["metrics"]
    for name in ("compile.cold_s", "compile.warm_cache_s", "eager.wall_ms", "compiled.wall_ms"):
        assert metrics[name]["median"] > 0
    assert len(metrics["eager.wall_ms"]["samples"]) == 7
    # Two processes, one record: neither mode's number is lost.
    assert {"eager.host_peak_mb", "compiled.host_peak_mb"} <= set(metrics)


@pytest.mark.parametrize("source", ["broken.py", "nothing/"])
def test_a_run_that_can_load_nothing_says_why_and_fails(tmp_path: Path, source: str) -> None:
    (tmp_path / "broken.py").write_text("def build(:\n")
    (tmp_path / "nothing").mkdir()
    done = evaluator(tmp_path, "run", "--workloads", source)
    assert done.returncode == 2
    name = source.partition(".")[0].strip("/")
    assert f"{name} can't be loaded under" in done.stderr
    assert ("SyntaxError" if name == "broken" else "no file and no folder with one") in done.stderr


def test_a_workload_that_does_not_load_is_seen(recorded: dict[str, Any]) -> None:
    broken = recorded["evaluations"][-1]
    assert (broken["workload"], broken["bucket"], broken["status"]) == ("broken", "-", "setup_error")
    assert "SyntaxError" in broken["reason"]


def test_no_header_is_built_where_nothing_is_generated(recorded: dict[str, Any]) -> None:
    (environment_,) = recorded["run"]["environments"]
    assert set(environment_["metrics"]) == {"import.torch_s", "import.compiler_s"}
    assert all(value > 0 for metric in environment_["metrics"].values() for value in metric["samples"])


def test_the_trace_and_the_source_are_kept(folder: Path, recorded: dict[str, Any]) -> None:
    kinds = {artifact["kind"]: artifact for artifact in recorded["evaluations"][0]["artifacts"]}
    assert {"trace", "workload_source"} <= set(kinds)
    for artifact in kinds.values():
        assert Path(artifact["path"]).exists()


def test_nothing_of_the_user_is_stored(folder: Path, recorded: dict[str, Any]) -> None:
    import socket

    text = json.dumps({key: recorded[key] for key in ("run", "evaluations")})
    assert socket.gethostname() not in text
    assert f"{Path.home()}/" not in text


def test_nothing_is_left_behind(folder: Path, recorded: dict[str, Any]) -> None:
    assert list((folder / "cache/compilewatch/runs").iterdir()) == []
    assert processes_below(folder / "cache") == []


def test_show_tells_the_same_to_a_reader(folder: Path, recorded: dict[str, Any]) -> None:
    shown = evaluator(folder, "show", "first").stdout
    assert recorded["run"]["uuid"] in shown
    assert "quick     n=8     default  ok" in shown
    assert "recompile of double at quick.py:9: " in shown
    assert "setup_error: " in shown


def test_a_records_file_imports_to_what_a_run_into_the_database_holds(
    folder: Path, recorded: dict[str, Any], tmp_path: Path
) -> None:
    records = tmp_path / "r.jsonl"
    done = evaluator(
        folder, "run", "--workloads", "quick.py", "--workloads", "broken.py", "--label", "first",
        "--records", str(records),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "python -m evaluator import" in done.stdout
    database = ["--db", str(tmp_path / "other.db")]
    first = evaluator(folder, "import", str(records), *database)
    assert first.returncode == 0, first.stderr
    count = sum(1 for _ in read_records(records))
    assert f"{count} records imported, 0 were there already" in first.stdout
    again = evaluator(folder, "import", str(records), *database)
    assert f"0 records imported, {count} were there already" in again.stdout
    imported = document(folder, "latest", *database)
    assert steady(imported["evaluations"]) == steady(recorded["evaluations"])
    assert steady(imported["run"]) == steady(recorded["run"])


def steady(value: Any) -> Any:
    """A document without what differs between two runs."""
    if isinstance(value, dict):
        return {key: steady(item) for key, item in value.items() if key not in VOLATILE}
    if isinstance(value, list):
        return [steady(item) for item in value]
    return value


def test_an_interrupted_records_file_imports_what_is_whole(
    folder: Path, recorded: dict[str, Any], tmp_path: Path
) -> None:
    records = tmp_path / "r.jsonl"
    evaluator(folder, "run", "--workloads", "quick.py", "--records", str(records))
    lines = records.read_bytes().splitlines(keepends=True)
    cut = tmp_path / "cut.jsonl"
    cut.write_bytes(b"".join(lines[:-3]) + lines[-3][: len(lines[-3]) // 2])
    done = evaluator(folder, "import", str(cut), "--db", str(tmp_path / "cut.db"))
    assert done.returncode == 0, done.stderr
    assert "its last line was cut short" in done.stdout
    assert "its run was not finished" in done.stdout
    assert document(folder, "latest", "--db", str(tmp_path / "cut.db"))["run"]["status"] == "running"
    # The whole file, once it is there, completes what the cut one began.
    done = evaluator(folder, "import", str(records), "--db", str(tmp_path / "cut.db"))
    assert document(folder, "latest", "--db", str(tmp_path / "cut.db"))["run"]["status"] == "finished"
    damaged = tmp_path / "damaged.jsonl"
    damaged.write_bytes(lines[0] + lines[1] + b"{half a line\n" + b"".join(lines[3:]))
    done = evaluator(folder, "import", str(damaged), "--db", str(tmp_path / "damaged.db"))
    assert (done.returncode, "line 3" in done.stderr) == (2, True)
    assert not (tmp_path / "damaged.db").exists()


def test_a_dry_run_says_what_it_would_do_and_leaves_nothing(folder: Path, recorded: dict[str, Any]) -> None:
    before = document(folder)["run"]["uuid"]
    done = evaluator(folder, "run", "--workloads", "quick.py", "--profile", "standard", "--dry-run")
    assert done.returncode == 0, done.stderr
    assert "2 cells, 5 replica(s), 18 units of work" in done.stdout
    # By hand: 6 units in the first replica, 3 in each of the other four; the recorded run knows all of them.
    assert "(from earlier runs on this machine)" in done.stdout
    assert "disk: about" in done.stdout
    assert document(folder)["run"]["uuid"] == before
    unknown = evaluator(
        folder, "run", "--workloads", "quick.py", "--dry-run", "--db", str(folder / "none.db")
    )
    assert "(a guess: nothing like it was run on this machine before)" in unknown.stdout
    assert not (folder / "none.db").exists()


def test_a_selection_of_nothing_is_misuse_with_near_names(folder: Path, recorded: dict[str, Any]) -> None:
    done = evaluator(folder, "run", "qiuck", "--no-packs", "--workloads", "quick.py")
    assert done.returncode == 2
    assert said(done.stderr) == ["error: no workload matches 'qiuck'; did you mean quick?"]


def test_list_describes_without_running(folder: Path, recorded: dict[str, Any]) -> None:
    done = evaluator(
        folder, "list", "--no-packs", "--workloads", "quick.py", "--workloads", "broken.py", "--json"
    )
    listed = json.loads(done.stdout)
    (workload,) = listed["workloads"]
    assert [bucket["name"] for bucket in workload["buckets"]] == ["n=4", "n=8"]
    assert [problem["name"] for problem in listed["problems"]] == ["broken"]
    packs = evaluator(folder, "list", "pointwise*")
    assert "unsupported here: reduce-overhead, max-autotune: requires cuda" in packs.stdout
