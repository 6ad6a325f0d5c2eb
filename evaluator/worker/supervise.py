"""One forked child, watched: its records, its time and memory limits, its end, and what it leaves behind."""

from __future__ import annotations

import os
import selectors
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from evaluator.worker import processes
from evaluator.worker.channel import Record, RecordReader, RecordWriter, new_word
from evaluator.worker.protocol import Limits, Status

# How often memory is looked at: at 5 GB/s, what a fast allocator fills, this overshoots by half a GB.
_WATCH_S: Final = 0.1
# The child says that its body has begun before it does anything else; the time to it is the start-up.
_STARTED: Final = "started"


@dataclass
class Ending:
    """How a child ended. ``signal`` or ``exit_code`` is None; durations in seconds, memory in MB."""

    status: Status = "ok"
    reason: str | None = None
    signal: int | None = None
    exit_code: int | None = None
    stage: dict[str, Any] = field(default_factory=dict)
    duration_s: float = 0.0
    startup_s: float | None = None
    peak_rss_mb: float = 0.0
    leftovers: int = 0
    noise_bytes: int = 0

    def as_record(self) -> Record:
        return {
            "kind": "done",
            "status": self.status,
            "reason": self.reason,
            "signal": self.signal,
            "exit_code": self.exit_code,
            "stage": self.stage.get("stage"),
            "bucket": self.stage.get("bucket"),
            "stage_probe": self.stage.get("probe"),
            "duration_s": self.duration_s,
            "startup_s": self.startup_s,
            "peak_rss_mb": round(self.peak_rss_mb, 1),
            "leftovers": self.leftovers,
            "noise_bytes": self.noise_bytes,
        }


def run_child(
    body: Callable[[RecordWriter], None],
    limits: Limits,
    log: Path,
    forward: Callable[[Record], None],
    private_fds: list[int],
    interrupted: Callable[[], bool],
) -> Ending:
    """Fork, run ``body`` in the child, pass its records to ``forward``, and return how it ended.

    ``body`` gets a writer for records; it never returns to the caller's frames in the child. ``private_fds``
    are the server's own descriptors, closed in the child. ``interrupted`` asks whether to give up.
    """
    read_fd, write_fd = os.pipe()
    writer = RecordWriter(write_fd, new_word())
    begun = time.monotonic()
    # What is buffered here would be written by the child a second time.
    sys.stdout.flush()
    sys.stderr.flush()
    child = os.fork()
    if child == 0:
        _be_child(body, writer, log, [read_fd, *private_fds])
    os.close(write_fd)
    try:
        return _watch(child, read_fd, RecordReader(writer.word), limits, begun, forward, interrupted)
    finally:
        os.close(read_fd)


def _be_child(
    body: Callable[[RecordWriter], None], writer: RecordWriter, log: Path, close: list[int]
) -> None:
    """The child's whole life; always ends in ``os._exit``, so that no thread of a workload can hold it."""
    code = 0
    try:
        processes.die_with_parent()
        for name in (signal.SIGTERM, signal.SIGINT):
            signal.signal(name, signal.SIG_DFL)
        os.setsid()
        processes.be_first_victim()
        for fd in close:
            os.close(fd)
        out = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        null = os.open(os.devnull, os.O_RDONLY)
        os.dup2(null, 0)
        os.dup2(out, 1)
        os.dup2(out, 2)
        for fd in (out, null):
            if fd > 2:
                os.close(fd)
        writer.write({"kind": _STARTED})
        body(writer)
        writer.write({"kind": "end"})
    except BaseException:  # noqa: BLE001 - nothing may climb out of a forked child into the server's frames
        import traceback

        traceback.print_exc()
        code = 70
    finally:
        try:
            sys.stdout.flush()
            sys.stderr.flush()
        finally:
            os._exit(code)


def _watch(
    child: int,
    read_fd: int,
    reader: RecordReader,
    limits: Limits,
    begun: float,
    forward: Callable[[Record], None],
    interrupted: Callable[[], bool],
) -> Ending:
    ending = Ending()
    finished = False
    # The limit is for one bucket's part of a probe: a walk of ten buckets may take ten times as long as one.
    part_begun = begun
    wait_status: int | None = None
    os.set_blocking(read_fd, False)

    def take(chunk: bytes) -> None:
        nonlocal finished, part_begun
        for record in reader.feed(chunk):
            kind = record.get("kind")
            if kind == _STARTED:
                ending.startup_s = round(time.monotonic() - begun, 4)
            elif kind == "end":
                finished = True
            else:
                if kind == "stage":
                    if _part(record) != _part(ending.stage):
                        part_begun = time.monotonic()
                    ending.stage = record
                forward(record)

    with selectors.DefaultSelector() as selector:
        selector.register(read_fd, selectors.EVENT_READ)
        open_pipe = True
        while wait_status is None:
            if open_pipe and selector.select(_WATCH_S):
                chunk = _read(read_fd)
                if chunk == b"":
                    open_pipe = False
                elif chunk:
                    take(chunk)
            elif not open_pipe:
                time.sleep(_WATCH_S / 10)
            pid, status = os.waitpid(child, os.WNOHANG)
            if pid == child:
                wait_status = status
                break
            _apply_limits(child, limits, part_begun, ending, interrupted)
            if ending.status != "ok":
                os.kill(child, signal.SIGKILL)
                _, wait_status = os.waitpid(child, 0)
    ending.duration_s = round(time.monotonic() - begun, 4)
    ending.leftovers = processes.kill_all_below(os.getpid())
    while chunk := _read(read_fd):
        take(chunk)
    ending.noise_bytes = reader.noise_bytes
    _judge(ending, wait_status, finished)
    return ending


def _part(stage: dict[str, Any]) -> tuple[Any, Any]:
    return stage.get("probe"), stage.get("bucket")


def _read(fd: int) -> bytes | None:
    """What is there; b"" at the end of the pipe, None where nothing is there now."""
    try:
        return os.read(fd, 1 << 16)
    except BlockingIOError:
        return None


def _apply_limits(
    child: int, limits: Limits, begun: float, ending: Ending, interrupted: Callable[[], bool]
) -> None:
    if interrupted():
        ending.status, ending.reason = "skipped", "the run was interrupted"
        return
    elapsed = time.monotonic() - begun
    if elapsed > limits["time_s"]:
        ending.status = "timeout"
        ending.reason = f"no end within {limits['time_s']:g} s"
        return
    tree = [child, *processes.descendants(child)]
    # Resident memory is cheap to read and never below what is private: ask the exact sum only when it matters.
    resident = processes.resident_mb(tree)
    ending.peak_rss_mb = max(ending.peak_rss_mb, resident)
    if resident > limits["memory_mb"] and processes.private_mb(tree) > limits["memory_mb"]:
        ending.status = "out_of_memory"
        ending.reason = f"took more than {limits['memory_mb']:.0f} MB of memory"


def _judge(ending: Ending, wait_status: int, finished: bool) -> None:
    """Fill in how the child ended, where no limit ended it."""
    if os.WIFSIGNALED(wait_status):
        ending.signal = os.WTERMSIG(wait_status)
    else:
        ending.exit_code = os.WEXITSTATUS(wait_status)
    if ending.status != "ok":
        _say_where(ending)
        return
    if finished:
        return
    ending.status = "crashed"
    if ending.signal is not None:
        try:
            name = signal.Signals(ending.signal).name
        except ValueError:
            name = "unknown"
        ending.reason = f"ended by signal {ending.signal} ({name})"
        if ending.signal == signal.SIGKILL:
            ending.status = "out_of_memory"
            ending.reason += ": ended by the kernel, most likely for want of memory"
    else:
        ending.reason = f"the process ended with exit code {ending.exit_code} before it had reported"
    _say_where(ending)


def _say_where(ending: Ending) -> None:
    stage = ending.stage.get("stage")
    if stage:
        ending.reason = f"{ending.reason}; last stage reached: {stage}"
