"""A run's folder of caches, traces and logs, and the lock that says its run is alive.

Everything in it may be deleted: what is worth keeping goes into records. The lock is one the kernel gives up
when its process ends, however it ends, so a killed run never looks alive and its folder is swept away later.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import time
from pathlib import Path
from typing import IO, Final

from evaluator.errors import UserError
from evaluator.machine import cache_folder

_LOCK: Final = "lock"
# Long enough for another run's sweep to pass, short enough not to be noticed.
_TRIES: Final = 10
_PAUSE_S: Final = 0.1


def runs_folder() -> Path:
    """Where every run of this user has its folder."""
    return cache_folder() / "runs"


class Scratch:
    """The folder of one run. Use as a context manager: it is removed when the block ends.

    Raises UserError where the run is alive already, or the folder can't be made.
    """

    def __init__(self, run: str) -> None:
        self.run = run
        self.path = runs_folder() / run
        try:
            lock = _lock(self.path)
        except OSError as error:
            raise UserError(
                f"{runs_folder()} can't be used ({error.strerror}): set XDG_CACHE_HOME to a folder with room"
            ) from None
        if lock is None:
            raise UserError(
                f"run {run[:8]} is still going on (process {_owner(self.path)}): wait for it, or end it before "
                "resuming it"
            )
        self._lock = lock
        self._clear()
        self._lock.truncate(0)
        self._lock.write(f"{os.getpid()}\n")
        self._lock.flush()

    def __enter__(self) -> Scratch:
        return self

    def __exit__(self, *_: object) -> None:
        self.remove()

    def folder(self, name: str) -> Path:
        """A folder below the run's, made if absent."""
        path = self.path / name
        path.mkdir(parents=True, exist_ok=True)
        return path

    def free(self, name: str) -> None:
        """Remove a folder; harmless if it is not there."""
        shutil.rmtree(self.path / name, ignore_errors=True)

    def remove(self) -> None:
        """Remove the run's folder and give up the lock."""
        # The lock goes last: a folder without its lock would be swept while files are still being removed.
        self._clear()
        shutil.rmtree(self.path, ignore_errors=True)
        self._lock.close()

    def _clear(self) -> None:
        for child in self.path.iterdir():
            if child.is_dir():
                shutil.rmtree(child, ignore_errors=True)
            elif child.name != _LOCK:
                child.unlink(missing_ok=True)


def is_alive(run: str) -> bool:
    """Whether a process on this machine is evaluating this run now."""
    path = runs_folder() / run
    if not path.is_dir():
        return False
    lock = _try_lock(path)
    if lock is None:
        return True
    lock.close()
    return False


def sweep() -> list[str]:
    """Remove the folders that dead runs left; their run ids."""
    swept = []
    for path in sorted(runs_folder().glob("*/")):
        try:
            lock = _try_lock(path)
        except OSError:
            continue  # its own run removed it meanwhile
        if lock is None:
            continue
        shutil.rmtree(path, ignore_errors=True)
        lock.close()
        swept.append(path.name)
    return swept


def _lock(path: Path) -> IO[str] | None:
    """Make the folder and hold its lock; None if another process keeps it.

    A sweep may hold the lock of a folder that is just being made, and remove it: then it is made again.
    """
    for _ in range(_TRIES):
        path.mkdir(parents=True, exist_ok=True)
        try:
            lock = _try_lock(path)
            if lock is not None:
                if (path / _LOCK).stat().st_ino == os.fstat(lock.fileno()).st_ino:
                    return lock
                lock.close()
        except FileNotFoundError:
            continue  # swept between two lines
        time.sleep(_PAUSE_S)
    return None


def _try_lock(path: Path) -> IO[str] | None:
    """The folder's lock, held; None if another process holds it."""
    file = (path / _LOCK).open("a+")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.close()
        return None
    return file


def _owner(path: Path) -> str:
    try:
        return (path / _LOCK).read_text().strip() or "unknown"
    except OSError:
        return "unknown"
