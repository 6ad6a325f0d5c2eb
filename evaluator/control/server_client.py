"""What the controller asks of a process server: its environment, the workloads, the toolchain, probes."""

from __future__ import annotations

import os
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from evaluator.control.server_process import Record, ServerDied, ServerProcess
from evaluator.errors import UserError
from evaluator.machine import shorten
from evaluator.worker.protocol import PROTOCOL_VERSION

# Importing torch and its compiler takes 4 to 20 s on a busy machine with cold disks; beyond this it hangs.
START_LIMIT_S: Final = 180.0
# The server ends a probe at the probe's own limit and then cleans up; beyond this it is the server that hangs.
GRACE_S: Final = 90.0
# Describing and preparing the toolchain are limited by the server itself; this is above both limits.
OTHER_LIMIT_S: Final = 900.0


@dataclass(frozen=True)
class Hello:
    """What a server says when it is ready: its environment, the host, conditions, and what the imports took.

    ``no_gpu``: why its environment has no GPU; None where it has one.
    """

    environment: Record
    environment_hash: str
    host: Record
    conditions: Record
    samples: list[Record]
    no_gpu: str | None = None


@dataclass(frozen=True)
class Described:
    """What a server's workloads are, and the environment with the versions of the libraries they use."""

    workloads: list[Record]
    problems: list[Record]
    environment: Record
    environment_hash: str


def interpreter(path: str) -> Path:
    """The interpreter at `path`, not resolved: a venv is known by its link. Raises UserError if there is none."""
    found = Path(path).expanduser().absolute()
    if found.is_dir():
        found = found / "bin" / "python"
    if not os.access(found, os.X_OK):
        raise UserError(f"{path} is no interpreter: give --python the path of a python that has torch")
    return found


class Server:
    """One running process server. Use as a context manager: it ends, with all it started, when the block does.

    Must be started from the main thread: the kernel ends the server with the thread that started it.
    """

    def __init__(
        self, python: Path, temporary: Path, log: Path, variables: Mapping[str, str] | None = None
    ) -> None:
        """Start ``python`` with ``temporary`` as its temp directory and ``variables`` set, and wait until it is ready.

        Raises UserError where this interpreter can't import torch, ServerDied for anything else.
        """
        self.python = python
        self.id = str(uuid.uuid4())
        self.started_at = datetime.now(UTC).isoformat()
        self._process = ServerProcess(python, temporary, log, variables or {})
        try:
            self.hello = self._await_hello()
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def describe(
        self,
        sources: list[str],
        packs: bool,
        target: str,
        *,
        declared: Sequence[str] = (),
        copy: int = 1,
    ) -> Described:
        """The workloads of these sources, and the environment. Raises ServerDied where the server can't say.

        A source that ends the process that loads it is a problem of that source alone. ``declared``: environment
        variables that count besides those the workloads declare; ``copy``: which of equal environments this is.
        """
        asked = {"packs": packs, "target": target, "declared": list(declared), "copy": copy}
        try:
            return self._describe({**asked, "sources": sources})
        except ServerDied:
            sound, problems = [], []
            for source in sources:
                try:
                    self._describe({**asked, "sources": [source], "packs": False})
                    sound.append(source)
                except ServerDied as error:
                    name = Path(source).stem
                    problems.append({"name": name, "source": Path(source).name, "problem": str(error)})
            if not problems:
                raise
            described = self._describe({**asked, "sources": sound})
            return replace(described, problems=[*described.problems, *problems])

    def _describe(self, asked: Record) -> Described:
        answer = self._single({"op": "describe", **asked})
        return Described(
            workloads=answer.get("workloads", []),
            problems=answer.get("problems", []),
            environment=answer.get("environment", self.hello.environment),
            environment_hash=answer.get("environment_hash", self.hello.environment_hash),
        )

    def prepare_toolchain(self) -> Record:
        """Build the environment's C++ header: the result record, ``setup_error`` where the compiler is broken."""
        return self._single({"op": "toolchain"})

    def prepare_codegen(self) -> str | None:
        """Have the server ready for ``codegen`` targets; why this torch can't be used for them, or None."""
        answer = self._single({"op": "codegen"})
        return None if answer["status"] == "ok" else str(answer["reason"])

    def probe(self, request: Record, time_s: float) -> Iterator[Record]:
        """Run one probe process; its records as they come, ``done`` last. Raises ServerDied."""
        return self._process.ask({"op": "probe", **request}, time_s + GRACE_S)

    def close(self) -> None:
        """End the server and all it started; harmless on one that has ended."""
        self._process.close()

    def _await_hello(self) -> Hello:
        record = self._process.next_record(time.monotonic() + START_LIMIT_S)
        if record.get("kind") == "failed":
            raise UserError(
                f"{shorten(str(self.python))} can't import torch ({record.get('message')}): install it there, or "
                "give --python the path of a python that has torch"
            )
        if record.get("kind") != "hello" or record.get("protocol") != PROTOCOL_VERSION:
            raise ServerDied(f"the server said {record.get('kind')!r} of protocol {record.get('protocol')!r}")
        return Hello(
            environment=record["environment"],
            environment_hash=record["environment_hash"],
            host=record.get("host", {}),
            conditions=record.get("conditions", {}),
            samples=record.get("samples", []),
            no_gpu=record.get("no_gpu"),
        )

    def _single(self, request: Record) -> Record:
        result: Record | None = None
        done: Record = {}
        for record in self._process.ask(request, OTHER_LIMIT_S):
            if record.get("kind") == "result":
                result = record
            elif record.get("kind") == "done":
                done = record
        if result is None:
            reason = done.get("reason") or "it gave no answer"
            if request["op"] == "toolchain":
                return {"kind": "result", "status": "setup_error", "reason": reason, "samples": []}
            raise ServerDied(f"the workloads could not be read: {reason}; {self._process.log_tail()}")
        return result
