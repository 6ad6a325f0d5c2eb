"""Runs the evaluator's command line as a user does, on workloads that need no C++ compiler."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).parents[2]

# Captured and run as it is: a compile takes a fraction of a second, and every probe is still the real one.
QUICK_WORKLOAD = """
import torch

BUCKETS = [{"n": 4}, {"n": 8}]
COMPILE = {"backend": "eager"}


def build():
    def double(x):
        return torch.relu(x) * 2

    return double


def inputs(bucket):
    return (torch.ones(bucket["n"]),), {}
"""


def write_workload(folder: Path, name: str, buckets: str | None = None) -> Path:
    """A quick workload of that name; ``buckets`` replaces its two."""
    text = QUICK_WORKLOAD
    if buckets is not None:
        text = text.replace('[{"n": 4}, {"n": 8}]', buckets)
    path = folder / f"{name}.py"
    path.write_text(text)
    return path


def environment(folder: Path) -> dict[str, str]:
    """Variables of a user of their own, whose caches and machine id are in this folder."""
    return {
        **os.environ,
        "PYTHONPATH": str(REPOSITORY),
        "XDG_CACHE_HOME": str(folder / "cache"),
        "XDG_DATA_HOME": str(folder / "data"),
        "COMPILEWATCH_DB": str(folder / "r.db"),
    }


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "evaluator", *arguments]


def evaluator(folder: Path, *arguments: str, timeout: float = 600) -> subprocess.CompletedProcess[str]:
    """Run a command in the folder to its end."""
    return subprocess.run(
        command(*arguments),
        cwd=folder,
        env=environment(folder),
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )


def said(stderr: str) -> list[str]:
    """The lines of stderr without the remark that this machine is busy, which depends on what else it does."""
    return [line for line in stderr.splitlines() if not line.startswith("this machine is busy")]


def start(folder: Path, *arguments: str) -> subprocess.Popen[str]:
    """Start a command in the folder; its progress comes on stderr, a line a finished unit."""
    return subprocess.Popen(
        command(*arguments),
        cwd=folder,
        env=environment(folder),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def document(folder: Path, reference: str = "latest", *more: str) -> dict[str, Any]:
    """``show --json`` of a run."""
    done = evaluator(folder, "show", reference, "--json", *more)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def processes_below(folder: Path) -> list[str]:
    """Command lines of live processes that have this folder in their command line."""
    return processes_with(str(folder))


def processes_with(words: str) -> list[str]:
    """Command lines of live processes that have these words in it, spaces between the arguments."""
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            line = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            state = (entry / "stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            continue
        if words in line and state != "Z":
            found.append(line)
    return found
