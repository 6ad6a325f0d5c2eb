"""Virtual environments that hold a torch under test: made once with pip below the cache folder, and found again.

A marker is written last, so that one whose making was cut off is made anew; a lock that the kernel gives up with the
process keeps two from making one at the same time.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import re
import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, Final

from evaluator import machine
from evaluator.errors import UserError
from evaluator.estimate import duration
from evaluator.interpreters.installing import (
    Say,
    installed,
    pip_failed,
    refused,
    requirements,
    run_shown,
    would_install,
)
from evaluator.interpreters.versions import canonical, minor, same_version

# Measured, in GB, with Triton, NumPy and Transformers: torch 2.14.1 for CUDA 13 (2.12.0: 5.3), torch 2.13.0+cpu.
CUDA_GB: Final = 6.0
CPU_GB: Final = 2.0
# What pip downloads meanwhile, and may keep in its own cache: the wheels of the same two.
CUDA_DOWNLOAD_GB: Final = 2.7
CPU_DOWNLOAD_GB: Final = 0.5
# Room that is left when an interpreter is made: caches and results of the run that it is made for.
SPARE_GB: Final = 0.5

# The Triton that each torch is released with: a CPU build of torch does not bring it, and without it a side could
# generate no Triton code. Source: the requirement in the CUDA builds' own metadata.
TRITON_OF: Final[Mapping[tuple[int, int], str]] = {
    (2, 11): "3.6.0",
    (2, 12): "3.7.0",
    (2, 13): "3.7.1",
    (2, 14): "3.8.0",
}

_MARKER: Final = "compilewatch.json"
_HELD: Final = "held.txt"


def folder() -> Path:
    """Where the interpreters that were made are."""
    return machine.cache_folder() / "interpreters"


@dataclass(frozen=True)
class Recipe:
    """How an interpreter is made. ``base`` makes the venv; ``torch``: the version, exact once it was looked up.

    ``others``: distribution -> version; ``held``: the same, of what is there only if something needs it; ``triton``:
    the requirement for Triton that torch does not bring itself, None where there is none; ``build``: ``CUDA``,
    ``ROCm``, ``CPU``, None until looked up.
    """

    base: Path
    path: Path
    torch: str
    others: Mapping[str, str]
    held: Mapping[str, str] = field(default_factory=dict)
    triton: str | None = None
    build: str | None = None

    @property
    def python(self) -> Path:
        return self.path / "bin" / "python"

    @property
    def disk_gb(self) -> float:
        return CPU_GB if self.build == "CPU" else CUDA_GB

    @property
    def room_gb(self) -> float:
        """Disk that must be free to make it: what stays, and what is downloaded."""
        return self.disk_gb + (CPU_DOWNLOAD_GB if self.build == "CPU" else CUDA_DOWNLOAD_GB)

    @property
    def sentence(self) -> str:
        """What will be made, and the disk it takes."""
        build = f"{self.build} build" if self.build else "its build is known once pip was asked"
        others = dict(self.others) if self.triton is None else {**self.others, "triton": self.triton}
        beside = ", ".join(f"{name} {version}" for name, version in others.items())
        if beside and self.held:
            beside += " and what they need at the versions it has in the first interpreter"
        return (
            f"torch {self.torch} ({build}){f' with {beside}' if beside else ''} will be made with pip in "
            f"{machine.shorten(str(self.path))}: about {self.disk_gb:.1f} GB of disk, and "
            f"{self.room_gb - self.disk_gb:.1f} GB for downloads"
        )

    def made(self) -> str | None:
        """The version of torch in it, if it was made to its end, still runs and holds what it should; else None."""
        if not (self.path / _MARKER).is_file():
            return None
        wanted = {"torch": self.torch, **self.others}
        try:
            found = installed(self.python, wanted)
        except UserError:
            return None  # the interpreter it was made from is gone
        there = all(same_version(version, found[name] or "") for name, version in wanted.items())
        return found["torch"] if there else None

    def looked_up(self, python: Path | None = None) -> Recipe:
        """The same with what pip would install: the exact torch, its build, and the Triton to add.

        What torch itself needs in another version than the held one is no longer held. ``python``: whose pip is asked,
        ``base``'s by default; without one there nothing more is known. Raises UserError where torch or a pin is not
        to be had.
        """
        pins = {"torch": self.torch, **self.others}
        found = would_install(python or self.base, requirements(pins))
        if found is None:
            return self
        requires = [str(line) for line in found["torch"].get("requires_dist") or ()]
        needs = {canonical(re.split(r"[^A-Za-z0-9._-]", line, maxsplit=1)[0]) for line in requires}
        version = str(found["torch"]["version"])
        if any(name.startswith(("nvidia-", "cuda-")) for name in needs):
            build = "CUDA"
        else:
            build = "ROCm" if "+rocm" in version else "CPU"
        pinned = self.others.get("triton")
        brings = any("triton" in name for name in needs)
        released = None if brings else TRITON_OF.get(minor(version))
        unfit = refused(requires, self.held)
        held = {name: one for name, one in self.held.items() if name not in unfit}
        return replace(self, torch=version, build=build, triton=pinned or released, held=held)


def recipe(
    base: Path, torch: str, others: Mapping[str, str], held: Mapping[str, str] | None = None
) -> Recipe:
    """The recipe for torch with these other distributions, named by all that decides what is in it.

    ``held``: versions of what the others need.
    """
    ordered, kept = dict(sorted(others.items())), dict(sorted((held or {}).items()))
    python = installed(base, ())["python"]
    decides = [python, torch, ordered, *([kept] if kept else [])]
    key = hashlib.sha256(json.dumps(decides).encode()).hexdigest()[:8]
    return Recipe(base, folder() / f"torch-{torch}-{key}", torch, ordered, kept)


def require_room(recipes: Sequence[Recipe]) -> None:
    """Raises UserError where the disk has no room to make all of these."""
    if not recipes:
        return
    needed = sum(one.disk_gb for one in recipes) + max(one.room_gb - one.disk_gb for one in recipes)
    free = _free_gb()
    if free < needed + SPARE_GB:
        raise UserError(
            f"{' and '.join(f'torch {one.torch}' for one in recipes)} need about {needed:.1f} GB to be made and "
            f"{free:.1f} GB are free where {machine.shorten(str(folder()))} is: free some, or set XDG_CACHE_HOME to a "
            "folder with room"
        )


def _free_gb() -> float:
    place = folder()
    while not place.exists():
        place = place.parent
    return shutil.disk_usage(place).free / 1e9


def make(wanted: Recipe, say: Say) -> None:
    """Make it, unless another process did meanwhile. Raises UserError where pip or ``venv`` fails."""
    with _lock(wanted.path, say) as lock:
        if wanted.made() is not None:
            return
        say(f"{wanted.sentence} ({_free_gb():.1f} GB free)")
        begun = time.monotonic()
        shutil.rmtree(wanted.path, ignore_errors=True)
        try:
            torch = _fill(wanted, lock, say)
        except BaseException:
            # What is half made is of no use, and large.
            shutil.rmtree(wanted.path, ignore_errors=True)
            raise
        _mark(wanted, torch)
        say(f"made torch {torch} in {duration(time.monotonic() - begun)}; it stays for next time")


def _fill(wanted: Recipe, lock: IO[str], say: Say) -> str:
    """A venv with all of it; the version of torch that is there."""

    def no_venv(said: str) -> UserError:
        return UserError(
            f"{machine.shorten(str(wanted.base))} makes no venv ({said}): install what it lacks (apt-get install "
            "python3-venv), or give --python an interpreter with that torch"
        )

    run_shown([str(wanted.base), "-m", "venv", str(wanted.path)], lock, say, no_venv)
    if wanted.build is None:
        wanted = wanted.looked_up(wanted.python)
    pinned = {name: version for name, version in wanted.others.items() if name != "triton"}
    held = wanted.path / _HELD
    held.write_text("".join(f"{one}\n" for one in requirements(wanted.held)))
    _install(wanted.python, {"torch": wanted.torch, **pinned}, ("--constraint", str(held)), lock, say)
    if wanted.triton is not None:
        # By itself: a Triton that is asked for may be another than the one torch's build asks for.
        _install(wanted.python, {"triton": wanted.triton}, ("--no-deps",), lock, say)
    torch = installed(wanted.python, ["torch"])["torch"]
    if torch is None:
        raise UserError(f"pip installed no torch in {machine.shorten(str(wanted.path))}: see what it printed")
    return torch


def _install(python: Path, pins: Mapping[str, str], flags: Sequence[str], lock: IO[str], say: Say) -> None:
    wanted = requirements(pins)
    command = [str(python), "-m", "pip", "install", *flags, *wanted]
    run_shown(command, lock, say, lambda said: pip_failed(" ".join(wanted), said))


def _mark(wanted: Recipe, torch: str) -> None:
    marker = wanted.path / _MARKER
    text = json.dumps(
        {"torch": torch, "triton": wanted.triton, "others": dict(wanted.others), "held": dict(wanted.held)},
        indent=2,
    )
    part = marker.with_suffix(".part")
    part.write_text(text + "\n")
    part.replace(marker)


@contextmanager
def _lock(path: Path, say: Say) -> Iterator[IO[str]]:
    """Hold the lock of the interpreter at this path, waiting for whoever makes it now."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        file = path.with_name(path.name + ".lock").open("a+")
    except OSError as error:
        raise UserError(
            f"{machine.shorten(str(path.parent))} can't be used ({error.strerror}): set XDG_CACHE_HOME to a folder with "
            "room"
        ) from None
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say(f"another process is making {machine.shorten(str(path))}: waiting for it")
            fcntl.flock(file, fcntl.LOCK_EX)
        yield file
