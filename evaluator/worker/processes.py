"""Process trees on Linux: who belongs to a probe, what it uses, and how all of it is ended.

A workload may fork, start a new session, or leave children behind. The server is a *subreaper*, so that
whatever loses its parent comes back to the server instead of to init, and everything below the server but
itself belongs to the probe that runs.
"""

from __future__ import annotations

import ctypes
import os
import signal
import time
from pathlib import Path
from typing import Final

_PR_SET_PDEATHSIG: Final = 1
_PR_SET_CHILD_SUBREAPER: Final = 36
_PAGE_MB: Final = os.sysconf("SC_PAGE_SIZE") / 1e6

# Inductor keeps a pool of compile workers beside a process; they are the compiler's, not the workload's.
_COMPILER_POOL: Final = b"torch/_inductor/compile_worker"


def _prctl(option: int, value: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(option, value, 0, 0, 0) != 0:
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error))


def become_subreaper() -> None:
    """Adopt every orphan below this process. Raises OSError where the kernel refuses."""
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def die_with_parent(signum: int = signal.SIGKILL) -> None:
    """Have the kernel send ``signum`` to this process when its parent ends."""
    _prctl(_PR_SET_PDEATHSIG, signum)


def be_first_victim() -> None:
    """Ask the kernel to end this process before others when the machine runs out of memory."""
    try:
        Path("/proc/self/oom_score_adj").write_text("1000")
    except OSError:
        # A container may forbid it; the memory watch still ends the probe.
        return


def _parents() -> dict[int, int]:
    parents: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        parent = _parent(int(entry.name))
        if parent is not None:
            parents[int(entry.name)] = parent
    return parents


def _parent(pid: int) -> int | None:
    """The parent of a process; None of one that has ended."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    # The name may hold spaces and brackets; the fields after the last bracket are state, ppid, ...
    return int(stat.rpartition(")")[2].split()[1])


def is_below(pid: int, root: int) -> bool:
    """Whether a process is ``root`` or one of its descendants; not so of one that has ended."""
    seen: int | None = pid
    while seen is not None and seen > 1 and seen != root:
        seen = _parent(seen)
    return seen == root


def descendants(root: int) -> list[int]:
    """Process ids below ``root``, itself left out, parents before children."""
    children: dict[int, list[int]] = {}
    for pid, parent in _parents().items():
        children.setdefault(parent, []).append(pid)
    found: list[int] = []
    queue = [root]
    while queue:
        below = children.get(queue.pop(0), [])
        found.extend(below)
        queue.extend(below)
    return found


def resident_mb(pids: list[int]) -> float:
    """Resident memory of these processes together, in MB; shared pages count once a process."""
    total = 0.0
    for pid in pids:
        try:
            total += int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * _PAGE_MB
        except (OSError, IndexError):
            continue  # it ended meanwhile
    return total


def private_mb(pids: list[int]) -> float:
    """Memory that ending these processes would free, in MB.

    A forked child shares its parent's pages, so resident memory charges the imports to every child of a
    probe; what counts against a limit is what is its own (RssAnon includes shared anonymous pages, so
    the kernel's own sum of private pages is read).
    """
    total = 0.0
    for pid in pids:
        try:
            for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
                if line.startswith(("Private_Clean:", "Private_Dirty:")):
                    total += int(line.split()[1]) / 1e3
        except OSError:
            continue
    return total


def is_compiler_pool(pid: int) -> bool:
    """Whether this process is one of Inductor's own compile workers."""
    try:
        return _COMPILER_POOL in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False


def is_zombie(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def kill_all_below(root: int, patience_s: float = 5.0) -> int:
    """End and reap every process below ``root`` (this process); how many of them were the workload's own.

    Killing and looking again until none is left catches what a process forks while it is being ended.
    """
    seen: set[int] = set()
    deadline = time.monotonic() + patience_s
    while True:
        _reap()
        alive = [pid for pid in descendants(root) if not is_zombie(pid)]
        if not alive or time.monotonic() > deadline:
            return len(seen)
        for pid in alive:
            if not is_compiler_pool(pid):
                seen.add(pid)
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        time.sleep(0.01)


def _reap() -> None:
    while True:
        try:
            pid, _ = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if pid == 0:
            return


def reset_peak() -> None:
    """Start the process's peak resident memory (VmHWM) anew from what it holds now.

    A forked child would otherwise report its parent's peak as its own. Raises OSError where /proc forbids it.
    """
    Path("/proc/self/clear_refs").write_text("5")


class Growth:
    """How far the process's resident memory rises over what it holds when this is made."""

    def __init__(self) -> None:
        self._held: float | None = None
        try:
            memory_mb("VmHWM")
            held = memory_mb("VmRSS")
            reset_peak()
        except OSError:
            return  # a sandbox's /proc may lack any of them
        self._held = held

    def mb(self) -> float | None:
        """MB at most so far; None where /proc does not tell."""
        return None if self._held is None else memory_mb("VmHWM") - self._held


def memory_mb(field: str) -> float:
    """One field of /proc/self/status in MB: ``VmRSS`` (now) or ``VmHWM`` (peak since the last reset)."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field + ":"):
            return int(line.split()[1]) / 1e3 * 1.024
    raise OSError(f"/proc/self/status has no {field}")
