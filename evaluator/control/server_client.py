"""The controller's end of a process server: starts one under an interpreter, asks it, and ends it."""

from __future__ import annotations

import importlib.util
import json
import os
import select
import signal
import subprocess
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from evaluator.errors import UserError
from evaluator.interpreters.variables import UNSET, is_reserved
from evaluator.machine import REPOSITORY, shorten
from evaluator.worker.protocol import PROTOCOL_VERSION

Record = dict[str, Any]

# Importing torch and its compiler takes 4 to 20 s on a busy machine with cold disks; beyond this it hangs.
START_LIMIT_S: Final = 180.0
# The server ends a probe at the probe's own limit and then cleans up; beyond this it is the server that hangs.
GRACE_S: Final = 90.0
# Describing and preparing the toolchain are limited by the server itself; this is above both limits.
OTHER_LIMIT_S: Final = 900.0
_CLOSE_PATIENCE_S: Final = 10.0


class ServerDied(Exception):
    """The process server ended, hung, or answered what makes no sense; the message says which."""


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
        self._log = log
        self._buffer = b""
        self._next_id = 0
        temporary.mkdir(parents=True, exist_ok=True)
        requests_read, self._requests = os.pipe()
        self._records, records_write = os.pipe()
        command = [str(python), "-m", "evaluator.worker", "--serve"]
        command += [
            "--requests-fd",
            str(requests_read),
            "--records-fd",
            str(records_write),
            "--log",
            str(log),
        ]
        reads_gpus = importlib.util.find_spec("pynvml")
        if reads_gpus is not None and reads_gpus.origin is not None:
            # The interpreter under test has torch and need not have this.
            command += ["--nvml", reads_gpus.origin]
        try:
            with log.open("ab") as output:
                self._process = subprocess.Popen(
                    command,
                    env=_environment(temporary, variables or {}),
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=output,
                    pass_fds=(requests_read, records_write),
                    # Ctrl-C in a terminal is for the controller, which then ends the server in order.
                    start_new_session=True,
                )
        except OSError as error:
            self._close_pipes()
            raise UserError(f"{python} can't be started: {error.strerror}") from None
        finally:
            os.close(requests_read)
            os.close(records_write)
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
        return self._ask({"op": "probe", **request}, time_s + GRACE_S)

    def close(self) -> None:
        """End the server and all it started; harmless on one that has ended."""
        self._close_pipes()
        try:
            self._process.wait(_CLOSE_PATIENCE_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        finally:
            self._end_group()

    def _end_group(self) -> None:
        # The server is its group's leader and has ended; what may be left there is what it did not get to end.
        try:
            os.killpg(self._process.pid, signal.SIGKILL)
        except ProcessLookupError:
            return

    def _close_pipes(self) -> None:
        for name in ("_requests", "_records"):
            fd = getattr(self, name)
            if fd >= 0:
                os.close(fd)
                setattr(self, name, -1)

    def _await_hello(self) -> Hello:
        record = self._next_record(time.monotonic() + START_LIMIT_S)
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
        for record in self._ask(request, OTHER_LIMIT_S):
            if record.get("kind") == "result":
                result = record
            elif record.get("kind") == "done":
                done = record
        if result is None:
            reason = done.get("reason") or "it gave no answer"
            if request["op"] == "toolchain":
                return {"kind": "result", "status": "setup_error", "reason": reason, "samples": []}
            raise ServerDied(f"the workloads could not be read: {reason}; {self._log_tail()}")
        return result

    def _ask(self, request: Record, limit_s: float) -> Iterator[Record]:
        self._next_id += 1
        identity = self._next_id
        line = (json.dumps({"id": identity, **request}) + "\n").encode()
        try:
            while line:
                line = line[os.write(self._requests, line) :]
        except OSError as error:
            raise ServerDied(f"the process server has ended ({error.strerror}); {self._log_tail()}") from None
        while True:
            # Each record says that the server is at work; the limit is for its silence.
            record = self._next_record(time.monotonic() + limit_s)
            if record.get("id") != identity:
                continue  # what an interrupted request left in the pipe
            yield record
            if record.get("kind") == "done":
                return

    def _next_record(self, deadline: float) -> Record:
        while b"\n" not in self._buffer:
            left = deadline - time.monotonic()
            if left <= 0:
                raise ServerDied("the process server does not answer")
            ready, _, _ = select.select([self._records], [], [], left)
            if not ready:
                continue
            chunk = os.read(self._records, 1 << 16)
            if not chunk:
                raise ServerDied(f"the process server has ended; {self._log_tail()}")
            self._buffer += chunk
        line, _, self._buffer = self._buffer.partition(b"\n")
        try:
            record = json.loads(line)
        except ValueError:
            raise ServerDied(f"the process server wrote what is no record: {line[:80]!r}") from None
        if not isinstance(record, dict):
            raise ServerDied(f"the process server wrote what is no record: {line[:80]!r}")
        return record

    def _log_tail(self) -> str:
        try:
            lines = self._log.read_text(errors="replace").strip().splitlines()
        except OSError:
            lines = []
        return f"its last words: {shorten(lines[-1])}" if lines else "it left no log"


def _environment(temporary: Path, own: Mapping[str, str]) -> dict[str, str]:
    """Environment variables of a server: the user's, those of this side, our package on the path, and places of the
    run's own, which nothing overrides."""
    given = {**os.environ, **{name: value for name, value in own.items() if not is_reserved(name)}}
    variables = {name: value for name, value in given.items() if name not in UNSET}
    paths = [str(REPOSITORY), *filter(None, [os.environ.get("PYTHONPATH")])]
    variables["PYTHONPATH"] = os.pathsep.join(paths)
    # The C++ header is kept below the temp directory whatever the cache variable says.
    variables["TMPDIR"] = str(temporary)
    variables["TORCHINDUCTOR_CACHE_DIR"] = str(temporary / "cache")
    variables["HF_HUB_OFFLINE"] = "1"
    return variables
