"""The environments of a run: an interpreter each, what its server said, its cells, and whether it can compile."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evaluator import machine
from evaluator.control.run_records import Settings
from evaluator.control.scratch import Scratch
from evaluator.control.server_client import Described, Server
from evaluator.control.server_process import ServerDied
from evaluator.errors import BrokenSetUp, UserError
from evaluator.interpreters.planning import Interpreter
from evaluator.selection import Cell, problem_description, select

Record = dict[str, Any]


@dataclass
class Environment:
    """One interpreter under test. ``server`` is the one that runs now; ``cells`` are all that were selected.

    ``toolchain_problem`` says why nothing can be compiled in it, once that is known. ``card_ready``: its server
    was made ready for a card that is not there.
    """

    index: int
    interpreter: Interpreter
    temporary: Path
    described: Described
    host: Record
    cells: list[Cell]
    server: Server | None = None
    toolchain_ready: bool = False
    toolchain_problem: str | None = None
    card_ready: bool = False

    @property
    def hash(self) -> str:
        return self.described.environment_hash

    @property
    def name(self) -> str:
        """The interpreter, with what was set for it alone, as it may be shown and stored."""
        return name_of(self.interpreter)

    @property
    def descriptions(self) -> list[Record]:
        """Everything that can be selected: the workloads, and those that could not be loaded."""
        return selectable(self.described)

    @property
    def broken(self) -> str | None:
        """Why nothing at all could be measured in it: nothing compiles, or nothing of what was selected was loaded."""
        if self.cells and all(cell.problem for cell in self.cells):
            return f"nothing could be loaded: {self.cells[0].problem}"
        return self.toolchain_problem

    @property
    def supported(self) -> list[Cell]:
        """The cells that are worth a probe."""
        return [cell for cell in self.cells if cell.measurable]

    def close(self) -> None:
        """End the server that runs; harmless where none does."""
        if self.server is not None:
            self.server.close()
            self.server = None


def name_of(interpreter: Interpreter) -> str:
    """An interpreter as it is named to the reader: its path, its variables, and which copy of equal ones it is."""
    parts = [str(interpreter.python), *(f"{name}={value}" for name, value in interpreter.variables)]
    if interpreter.copy > 1:
        parts.append(f"(copy {interpreter.copy})")
    return machine.shorten(" ".join(parts))


def start_server(interpreter: Interpreter, temporary: Path, log: Path) -> Server:
    """A process server, tried twice. Raises UserError (no torch there) and BrokenSetUp (it does not come up)."""
    variables = dict(interpreter.variables)
    try:
        return Server(interpreter.python, temporary, log, variables)
    except ServerDied:
        try:
            return Server(interpreter.python, temporary, log, variables)
        except ServerDied as error:
            raise BrokenSetUp(f"no process server starts under {name_of(interpreter)}: {error}") from None


def open_environments(settings: Settings, scratch: Scratch) -> list[Environment]:
    """Start a server for each interpreter, and select the cells of each from what it describes.

    The servers go on to be the first replica's. Raises UserError for a selection that matches nothing, or two
    interpreters that are one environment.
    """
    opened: list[Environment] = []
    try:
        for index, interpreter in enumerate(settings.interpreters):
            opened.append(_open(settings, scratch, index, interpreter))
            _refuse_twins(opened)
    except BaseException:
        close_all(opened)
        raise
    return opened


def close_all(environments: Iterable[Environment]) -> None:
    for environment in environments:
        environment.close()


def toolchain_folder(python: Path) -> Path:
    """Where an interpreter's C++ header and vector-instruction probe stay from run to run.

    torch names the header after the compiler, its flags and the headers' own text, so another torch under the same
    path finds nothing stale there.
    """
    key = hashlib.sha256(str(python).encode()).hexdigest()[:16]
    return machine.cache_folder() / "toolchains" / key


def server_log(scratch: Scratch, index: int) -> Path:
    return scratch.folder("logs") / f"server-{index}.log"


def _open(settings: Settings, scratch: Scratch, index: int, interpreter: Interpreter) -> Environment:
    temporary = toolchain_folder(interpreter.python)
    server = start_server(interpreter, temporary, server_log(scratch, index))
    try:
        target = settings.selection.target
        if target == "cuda" and not server.hello.environment.get("gpu"):
            raise UserError(
                f"{name_of(interpreter)} has no CUDA device to run on: {server.hello.no_gpu}; run where there is one, "
                "or with --target cpu"
            )
        described = server.describe(
            list(settings.sources),
            settings.packs,
            target,
            declared=[name for name, _ in interpreter.variables],
            copy=interpreter.copy,
        )
        cells = select(selectable(described), settings.selection)
    except BaseException:
        server.close()
        raise
    return Environment(index, interpreter, temporary, described, server.hello.host, cells, server)


def selectable(described: Described) -> list[Record]:
    """The workloads, with ``unsupported`` for one whose library is missing, and those that could not be loaded."""
    versions = described.environment.get("libraries") or {}
    return [
        *(
            {**workload, "unsupported": _missing_library(workload, versions)}
            for workload in described.workloads
        ),
        *(problem_description(problem) for problem in described.problems),
    ]


def _missing_library(workload: Record, versions: Record) -> str | None:
    missing = [name for name in workload.get("libraries", ()) if name in versions and versions[name] is None]
    if not missing:
        return None
    return f"needs {' and '.join(missing)}: install it there with pip install {' '.join(missing)}"


def _refuse_twins(opened: Sequence[Environment]) -> None:
    *others, last = opened
    for other in others:
        if other.hash == last.hash:
            raise UserError(
                f"{other.name} and {last.name} are the same "
                "environment: give one of them, or interpreters that differ in torch or what it uses"
            )
