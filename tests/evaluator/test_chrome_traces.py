"""The option that records what runs: where it is on, what a resumed run keeps of it, and one whole run with it."""

from __future__ import annotations

import argparse
import gzip
import json
import os
from pathlib import Path
from typing import Any

import pytest

from db.session import reading
from db.store import Store
from evaluator import resume, run_options
from evaluator.commands import calibrate, run, upgrade
from evaluator.control.run_records import Settings, run_finished_record, run_record
from evaluator.errors import UserError
from evaluator.interpreters.planning import Interpreter
from evaluator.nights.config import read_config
from evaluator.nights.night import group_of
from evaluator.selection import Selection
from tests.evaluator.commandline import document, evaluator, write_workload


def settings(*given: str) -> Settings:
    """What the command line of a run makes of these options."""
    parser = argparse.ArgumentParser()
    run.add_parser(parser.add_subparsers())
    arguments = parser.parse_args(["run", *given])
    return run_options.settings(arguments, (), "evaluate")


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ((), False),
        (("--chrome-traces",), True),
        (("--no-chrome-traces",), False),
        (("--target", "cuda"), True),
        (("--target", "cuda", "--no-chrome-traces"), False),
        (("--target", "codegen:h100"), False),
        (("--target", "codegen:h100", "--no-chrome-traces"), False),
    ],
)
def test_traces_are_recorded_where_a_device_is_or_where_asked(given: tuple[str, ...], expected: bool) -> None:
    assert settings(*given).chrome_traces is expected


def test_a_card_that_is_not_there_runs_nothing_to_record() -> None:
    with pytest.raises(UserError, match="on a codegen target nothing does"):
        settings("--target", "codegen:h100", "--chrome-traces")


def test_an_upgrade_takes_the_option_and_its_reruns_record_nothing() -> None:
    parser = argparse.ArgumentParser()
    upgrade.add_parser(parser.add_subparsers())
    arguments = parser.parse_args(["upgrade", "2.13.0", "2.14.1", "--chrome-traces"])
    made = run_options.settings(arguments, (), "upgrade")
    assert made.chrome_traces
    assert not made.child("confirm", (), (), 8).chrome_traces


@pytest.mark.parametrize(
    ("given", "expected"),
    [((), False), (("--target", "cuda"), False), (("--target", "cuda", "--chrome-traces"), True)],
)
def test_a_calibration_records_only_where_asked(given: tuple[str, ...], expected: bool) -> None:
    parser = argparse.ArgumentParser()
    calibrate.add_parser(parser.add_subparsers())
    arguments = parser.parse_args(["calibrate", *given])
    assert run_options.settings(arguments, (), "calibrate").chrome_traces is expected


@pytest.mark.parametrize(("target", "expected"), [("cpu", True), ("cuda", True), ("codegen:h100", False)])
def test_a_night_records_where_its_file_says_so_and_something_runs(
    tmp_path: Path, target: str, expected: bool
) -> None:
    file = tmp_path / "nightly.toml"
    one = '[[interpreter]]\nname = "{}"\npython = "p"\nsuite = {{ target = "{}" }}\n'
    for said in (True, False):
        said_so = f"chrome_traces = {str(said).lower()}\n"
        file.write_text(said_so + one.format("asked", target) + one.format("other", "cpu"))
        config = read_config(file)
        (suite, tested), *_ = config.groups()
        made = group_of(config, suite, tested[:1], [Interpreter(Path("p"))]).settings
        assert made.chrome_traces is (said and expected)


@pytest.mark.parametrize("asked", [True, False])
def test_a_resumed_run_records_as_it_was_told(tmp_path: Path, asked: bool) -> None:
    python = tmp_path / "python"
    python.write_text("#!/bin/sh\n")
    python.chmod(0o755)
    made = Settings(
        run="6f1c9c5e-8f1d-4c57-9f0a-0a4b8c1d2e3f",
        selection=Selection(),
        profile="quick",
        sources=(),
        packs=True,
        interpreters=(Interpreter(python),),
        time_s=300,
        memory_mb=1000,
        chrome_traces=asked,
    )
    store = Store(str(tmp_path / "runs.db"))
    host = {"cpu_model": "Some CPU", "cpu_count": 2, "memory_mb": 8000, "os": "Linux 6.1"}
    store.write_many([run_record(made, host, {}), run_finished_record(made.run, "interrupted")])
    store.close()
    with reading(str(tmp_path / "runs.db")) as reads:
        assert resume.settings_of(reads, made.run).chrome_traces is asked


def test_beside_resume_the_option_is_refused_either_way() -> None:
    parser = argparse.ArgumentParser()
    run.add_parser(parser.add_subparsers())
    for word in ("--chrome-traces", "--no-chrome-traces"):
        arguments = parser.parse_args(["run", "--resume", word])
        with pytest.raises(UserError, match="leave out chrome_traces"):
            resume.refuse_other_options(arguments, arguments.default_of)
    # And nothing is where nothing was said.
    arguments = parser.parse_args(["run", "--resume"])
    resume.refuse_other_options(arguments, arguments.default_of)


@pytest.fixture(scope="module")
def profiled(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """A run of a quick workload into a records file, imported."""
    folder = tmp_path_factory.mktemp("traces")
    write_workload(folder, "quick")
    done = evaluator(folder, "run", "--workloads", "quick.py", "--chrome-traces", "--records", "r.jsonl")
    assert done.returncode == 0, done.stderr
    imported = evaluator(folder, "import", "r.jsonl")
    assert imported.returncode == 0, imported.stderr
    shown = evaluator(folder, "show", "latest").stdout
    return {"shown": shown, "progress": done.stderr, **document(folder)}


@pytest.mark.slow
def test_a_run_keeps_a_trace_of_each_mode_of_each_bucket(profiled: dict[str, Any]) -> None:
    for one in profiled["evaluations"]:
        assert one["status"] == "ok"
        assert one["probes"]["profile"]["status"] == "ok"
        assert len(one["probes"]["profile"]["processes"]) == 1
        files = {file["sha256"]: file["path"] for file in one["artifacts"] if file["kind"] == "chrome_trace"}
        said = one["facts"]["profile"]
        assert {said[mode]["trace"] for mode in ("eager", "compiled")} == set(files)
        for mode in ("eager", "compiled"):
            content = gzip.decompress(Path(files[said[mode]["trace"]]).read_bytes())
            assert len(content) == said[mode]["trace_bytes"]
            events = json.loads(content)["traceEvents"]
            assert "compilewatch.batch" in {event["name"] for event in events if event["ph"] == "X"}
            assert f'"{os.uname().nodename}"' not in content.decode()
            # On the CPU nothing is launched: unknown, with the reason, and no zero.
            assert said[mode]["batch"] == {}
            assert said[mode]["reason"] == "nothing is launched on this target: the host does the work itself"
            assert said[mode]["sync_points"] is None
    assert profiled["run"]["plan"]["chrome_traces"] is True


@pytest.mark.slow
def test_operators_are_counted_and_kernels_are_not_made_up(profiled: dict[str, Any]) -> None:
    one = profiled["evaluations"][0]
    assert one["observed"]["kernels"] == []
    calls = {(row["mode"], row["name"]): row["calls"] for row in one["observed"]["operators"]}
    # relu(x) * 2: one of each a call.
    for mode in ("eager", "compiled"):
        assert calls[mode, "aten::relu"] == one["facts"]["profile"][mode]["calls"]
    assert {row["kernels"] for row in one["observed"]["operators"]} == {None}
    assert one["facts"]["profile"]["compiled"]["regions"]
    assert one["facts"]["profile"]["eager"]["regions"] == []


@pytest.mark.slow
def test_a_reader_is_told(profiled: dict[str, Any]) -> None:
    assert "2 buckets: profile: ok" in profiled["progress"]
    assert "profiled eager, kernels not known: nothing is launched on this target" in profiled["shown"]
