"""A process server's process seen from the controller: started under an interpreter, asked and answering by lines of JSON."""

from __future__ import annotations

import importlib.util
import json
import os
import select
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from evaluator.errors import UserError
from evaluator.interpreters.variables import UNSET, is_reserved
from evaluator.machine import REPOSITORY, shorten

Record = dict[str, Any]

_CLOSE_PATIENCE_S: Final = 10.0


class ServerDied(Exception):
    """The process server ended, hung, or answered what makes no sense; the message says which."""


class ServerProcess:
    """One running server: a request goes in as a line, its records come out as lines until one is ``done``.

    Must be started from the main thread: the kernel ends the server with the thread that started it.
    """

    def __init__(self, python: Path, temporary: Path, log: Path, variables: Mapping[str, str]) -> None:
        """Start ``python`` with ``temporary`` as its temp directory and ``variables`` set; what it prints goes to ``log``.

        Raises UserError where ``python`` can't be started.
        """
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
                    env=environment(temporary, variables),
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

    def ask(self, request: Record, limit_s: float) -> Iterator[Record]:
        """The records that answer ``request``, ``done`` last. Raises ServerDied, also after ``limit_s`` of silence."""
        self._next_id += 1
        identity = self._next_id
        line = (json.dumps({"id": identity, **request}) + "\n").encode()
        try:
            while line:
                line = line[os.write(self._requests, line) :]
        except OSError as error:
            raise ServerDied(f"the process server has ended ({error.strerror}); {self.log_tail()}") from None
        while True:
            # Each record says that the server is at work; the limit is for its silence.
            record = self.next_record(time.monotonic() + limit_s)
            if record.get("id") != identity:
                continue  # what an interrupted request left in the pipe
            yield record
            if record.get("kind") == "done":
                return

    def next_record(self, deadline: float) -> Record:
        """The next record, waited for until ``time.monotonic()`` is ``deadline``. Raises ServerDied."""
        while b"\n" not in self._buffer:
            left = deadline - time.monotonic()
            if left <= 0:
                raise ServerDied("the process server does not answer")
            ready, _, _ = select.select([self._records], [], [], left)
            if not ready:
                continue
            chunk = os.read(self._records, 1 << 16)
            if not chunk:
                raise ServerDied(f"the process server has ended; {self.log_tail()}")
            self._buffer += chunk
        line, _, self._buffer = self._buffer.partition(b"\n")
        try:
            record = json.loads(line)
        except ValueError:
            raise ServerDied(f"the process server wrote what is no record: {line[:80]!r}") from None
        if not isinstance(record, dict):
            raise ServerDied(f"the process server wrote what is no record: {line[:80]!r}")
        return record

    def log_tail(self) -> str:
        """The last line that the server printed, as a part of a sentence."""
        try:
            lines = self._log.read_text(errors="replace").strip().splitlines()
        except OSError:
            lines = []
        return f"its last words: {shorten(lines[-1])}" if lines else "it left no log"

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


def environment(temporary: Path, own: Mapping[str, str]) -> dict[str, str]:
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
