"""Runs an A/B: a traced process of each side for what differs, then timed processes of both in turns.

The script of `repro --ab` carries the text of this module, so it uses the standard library and what is carried with it.
It needs no torch: the two interpreters do.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from evaluator.ab.report import report

SIDES: Final = ("base", "candidate")
# The least that has an exact 95% interval is 4 a side.
_PROCESSES: Final = 5
_TIMEOUT_S: Final = 900
# Where files are kept and what else would change what is compiled belongs to each process, not to the user's shell.
_UNSET: Final = ("TORCH_TRACE", "TORCH_LOGS", "TORCH_COMPILE_DEBUG", "TORCHINDUCTOR_FORCE_DISABLE_CACHES")
_TAIL_LINES: Final = 5


class Misuse(Exception):
    """What a user can put right, in one sentence."""


def main(spec: dict[str, Any], folder: str, argv: Sequence[str]) -> int:
    """Run the A/B of ``spec`` in ``folder``, where the script has unpacked itself; print the report; exit status."""
    arguments = _parser(spec, argv[0]).parse_args(argv[1:])
    try:
        found = measure(spec, Path(folder), arguments)
    except Misuse as misuse:
        _say(str(misuse))
        return 2
    except KeyboardInterrupt:
        _say("stopped; nothing is left running")
        return 130
    sys.stdout.write(report(spec, found, f"python {Path(argv[0]).name} {' '.join(argv[1:])}".strip()))
    return 0


def _parser(spec: Mapping[str, Any], name: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog=Path(name).name, description=f"A/B of {spec['title']}.")
    for role in SIDES:
        recorded = spec["sides"][role]["interpreter"]
        shown = f"; default {recorded}" if recorded else ""
        parser.add_argument(
            f"--{role}",
            default=recorded,
            required=recorded is None,
            metavar="PYTHON",
            help=f"interpreter (or its venv) of the {role}, recorded with torch {spec['sides'][role]['torch']}{shown}",
        )
    parser.add_argument(
        "--processes",
        type=int,
        default=_PROCESSES,
        metavar="N",
        help=f"timed processes a side, 0 for none; default {_PROCESSES}",
    )
    parser.add_argument(
        "--timeout",
        type=float,
        default=_TIMEOUT_S,
        metavar="SECONDS",
        help=f"longest time of a process; default {_TIMEOUT_S}",
    )
    return parser


def measure(spec: dict[str, Any], folder: Path, arguments: argparse.Namespace) -> dict[str, Any]:
    """What every process found: ``facts`` of each side, ``turns`` with one record a timed process, in order.

    A process that died says so under ``died``. Raises Misuse for an interpreter that is none.
    """
    pythons = {role: interpreter(getattr(arguments, role), role) for role in SIDES}
    runner = Runner(spec, folder, pythons, arguments.timeout)
    facts = {}
    for role in SIDES:
        _say(f"{role}: what it compiles (not timed)")
        facts[role] = runner.run(role, "facts")
    found: dict[str, Any] = {"facts": facts, "turns": [], "untimed": None}
    failing = [role for role in SIDES if failure(facts[role])]
    if failing:
        found["untimed"] = f"{' and '.join(failing)} failed"
        return found
    for number, role in enumerate(turns(arguments.processes)):
        _say(f"{role}: timed process {number + 1} of {2 * arguments.processes}")
        found["turns"].append({"side": role, **runner.times(role, facts[role]["modules"])})
    return found


def turns(processes: int) -> list[str]:
    """A B B A A B ...: who goes first changes each time, so that a machine that drifts does so for both."""
    return [role for number in range(processes) for role in SIDES[:: 1 if number % 2 == 0 else -1]]


def failure(facts: Mapping[str, Any]) -> str | None:
    """How a side failed, None if it did not."""
    if "died" in facts:
        return str(facts["died"])
    errors: dict[str, str | None] = facts["error"]
    return errors["eager"] or errors["compiled"]


def interpreter(given: str, role: str) -> str:
    """The python that is meant: a file, or a venv's. Raises Misuse where there is none."""
    path = Path(given).expanduser()
    path = path / "bin" / "python" if path.is_dir() else path
    if not (path.is_file() and os.access(path, os.X_OK)):
        raise Misuse(f"there is no interpreter {given}: give --{role} a python with torch")
    # Not resolved: a venv is known by its own link.
    return str(path.absolute())


class Runner:
    """Starts the processes, each with caches of its own."""

    def __init__(
        self, spec: dict[str, Any], folder: Path, pythons: Mapping[str, str], timeout: float
    ) -> None:
        self.spec = spec
        self.folder = folder
        self.pythons = pythons
        self.timeout = timeout

    def times(self, role: str, modules: Sequence[str]) -> dict[str, Any]:
        """The times of one turn. Where other buckets come first, the cold compile is a process of its own.

        ``modules``: what is imported before the clock starts.
        """
        if self.spec["graph"] or len(self.spec["buckets"]) == 1:
            return self.run(role, "cold and warm", modules)
        return {**self.run(role, "cold", modules), **self.run(role, "warm", modules)}

    def run(self, role: str, do: str, modules: Sequence[str] = ()) -> dict[str, Any]:
        """What one process found, or how it died."""
        with tempfile.TemporaryDirectory(dir=self.folder, ignore_cleanup_errors=True) as own:
            given, result = Path(own, "spec.json"), Path(own, "result.json")
            given.write_text(
                json.dumps(
                    {
                        **self.spec,
                        **self._of_side(role),
                        "do": do,
                        "modules": list(modules),
                        "trace_dir": f"{own}/trace",
                    }
                )
            )
            command = [self.pythons[role], "-m", self.spec["child"], str(given), str(result)]
            died = self._wait(command, self._environment(role, own, traced=do == "facts"), Path(own, "log"))
            if result.is_file() and died is None:
                return dict(json.loads(result.read_text()))
            return {"died": died or "it ended without a result"}

    def _of_side(self, role: str) -> dict[str, Any]:
        graph = self.spec["graph"]
        if not graph:
            return {}
        return {
            "graph": f"graph_{role}",
            "origin": graph["origin"],
            "symbolic": graph["symbolic"][role],
        }

    def _environment(self, role: str, own: str, traced: bool) -> dict[str, str]:
        variables = {name: value for name, value in os.environ.items() if name not in _UNSET}
        for name in {name for side in self.spec["sides"].values() for name in side["variables"]}:
            variables.pop(name, None)
        for name, value in self.spec["sides"][role]["variables"].items():
            variables[name] = str(Path(value).expanduser()) if value.startswith("~/") else value
        if self.spec["target"] != "cuda":
            variables["CUDA_VISIBLE_DEVICES"] = ""
        variables["PYTHONPATH"] = os.pathsep.join(
            [str(self.folder), *filter(None, [variables.get("PYTHONPATH")])]
        )
        variables |= {"TORCHINDUCTOR_CACHE_DIR": f"{own}/cache", "TRITON_CACHE_DIR": f"{own}/triton"}
        return {**variables, "HF_HUB_OFFLINE": "1", **({"TORCH_TRACE": f"{own}/trace"} if traced else {})}

    def _wait(self, command: list[str], environment: dict[str, str], log: Path) -> str | None:
        """Run a process to its end; how it died, None if it ended well. Its compile workers end with it."""
        with log.open("w") as output:
            process = subprocess.Popen(
                command,
                cwd=self.folder,
                env=environment,
                stdout=output,
                stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL,
                start_new_session=True,
            )
            try:
                status: int | None = process.wait(self.timeout)
            except subprocess.TimeoutExpired:
                status = None
            finally:
                _end_group(process)
        if status == 0:
            return None
        tail = " | ".join(log.read_text(errors="replace").strip().splitlines()[-_TAIL_LINES:])
        if status is None:
            return f"took longer than {self.timeout:g} s"
        how = f"was ended by {signal.Signals(-status).name}" if status < 0 else f"exited with {status}"
        return f"{how}: {tail}" if tail else how


def _end_group(process: subprocess.Popen[Any]) -> None:
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass  # all of it has ended
    process.wait()


def _say(text: str) -> None:
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()
