"""Runs ``upgrade`` over workloads whose sides differ in one variable, and reads what it found as a program would."""

from __future__ import annotations

import importlib.metadata
import json
import os
import sqlite3
import subprocess
import sys
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from tests.evaluator.commandline import REPOSITORY, command

HERE = Path(__file__).parent
# What the workloads of this folder declare; a test file can't import them where there is no torch.
VARIABLE, CHANGED = "COMPILEWATCH_TEST_SEASON", "autumn"

# Verdicts that claim a difference for the better or the worse, or a measurement that does not repeat.
CLAIMS = frozenset({"regressed", "newly_failing", "flaky", "improved", "fixed"})


@dataclass(frozen=True)
class Upgraded:
    """A finished upgrade: how the command ended and where it wrote."""

    done: subprocess.CompletedProcess[str]
    database: Path
    reports: Path

    @cached_property
    def run(self) -> str:
        """The uuid of the first stage."""
        connection = sqlite3.connect(self.database)
        try:
            ((uuid,),) = connection.execute("SELECT uuid FROM run WHERE purpose = 'upgrade'").fetchall()
        finally:
            connection.close()
        return str(uuid)

    @cached_property
    def recorded(self) -> dict[bool, dict[tuple[str, str], dict[str, Any]]]:
        """``show --json`` of the first stage: whether the variable was set -> (workload, bucket) -> evaluation."""
        document = self._json("show", self.run, "--json")
        found: dict[bool, dict[tuple[str, str], dict[str, Any]]] = {False: {}, True: {}}
        for one in document["evaluations"]:
            variables = one["environment"]["variables"]
            found[VARIABLE in variables][one["workload"], one["bucket"]] = one
        return found

    @cached_property
    def verdicts(self) -> dict[str, Any]:
        """The verdicts as ``compare --format json`` gives them from the database, reruns and ladder included."""
        # Exit code 1 is what confirmed regressions mean.
        document = self._json("compare", f"{self.run}@1", f"{self.run}@2", "--format", "json", codes=(0, 1))
        found: dict[str, Any] = document["verdicts"]
        return found

    def cell(self, workload: str, bucket: str = "-") -> dict[str, Any]:
        """The verdict of one cell."""
        (found,) = [
            one
            for one in self.verdicts["cells"]
            if (one["cell"]["workload"], one["cell"]["bucket"]) == (workload, bucket)
        ]
        return dict(found)

    def findings(self, workload: str, bucket: str = "-", *kinds: str) -> list[dict[str, Any]]:
        """The findings of a cell, of these kinds if any are named."""
        return [one for one in self.cell(workload, bucket)["findings"] if not kinds or one["kind"] in kinds]

    def finding(self, metric: str, workload: str, bucket: str = "-") -> dict[str, Any]:
        """The finding of a cell about one metric."""
        (found,) = [one for one in self.findings(workload, bucket) if one["metric"] == metric]
        return found

    def _json(self, *arguments: str, codes: tuple[int, ...] = (0,)) -> dict[str, Any]:
        done = _evaluator(self.database.parent, *arguments, "--db", str(self.database))
        assert done.returncode in codes, done.stdout + done.stderr
        found: dict[str, Any] = json.loads(done.stdout)
        return found


def upgrade(folder: Path, *arguments: str, timeout: float | None, quiet: bool = True) -> Upgraded:
    """Compare this interpreter's torch with itself, the variable set for the second; ``arguments``: further options.

    ``quiet``: keep what is said on the way, rather than let it through. ``timeout``: in seconds.
    """
    torch = importlib.metadata.version("torch").partition("+")[0]
    database, reports = folder / "r.db", folder / "reports"
    done = _evaluator(
        folder,
        *("upgrade", torch, f"{torch},{VARIABLE}={CHANGED}", "--python", sys.executable),
        *("--db", str(database), "--report", str(reports), *arguments),
        timeout=timeout,
        quiet=quiet,
    )
    return Upgraded(done, database, reports)


def _evaluator(
    folder: Path, *arguments: str, timeout: float | None = 300, quiet: bool = True
) -> subprocess.CompletedProcess[str]:
    # The user's own caches: the C++ header takes 20 s to build and changes nothing that is asked here.
    environment = {name: value for name, value in os.environ.items() if name != VARIABLE}
    return subprocess.run(
        command(*arguments),
        cwd=folder,
        env={**environment, "PYTHONPATH": str(REPOSITORY)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE if quiet else None,
        text=True,
        timeout=timeout,
        check=False,
    )
