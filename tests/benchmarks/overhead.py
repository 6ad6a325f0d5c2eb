"""What a standard run costs over what its probes themselves need, and how fast a probe's process starts.

    python -m tests.benchmarks.overhead [--profile standard] [GLOB ...]

Runs the evaluator for real into a temporary database, from a toolchain that is ready, and prints wall time over
the sum of the probes' processes (aim: 1.1 or less) and the start-up of each process (aim: under 0.5 s).
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from evaluator.machine import REPOSITORY

WORKLOADS = ("pointwise.silu_gate", "training.mlp_step")


def evaluator(*arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "evaluator", *arguments],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise SystemExit(done.stdout + done.stderr)
    return done.stdout


def processes(document: dict[str, Any]) -> list[dict[str, Any]]:
    """Every probe process of a run; one that served several buckets or probes has a share in each."""
    return [
        process
        for evaluation in document["evaluations"]
        for probe in evaluation["probes"].values()
        for process in probe["processes"]
        if process["duration_s"] is not None
    ]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("workload", nargs="*", default=list(WORKLOADS), metavar="GLOB")
    parser.add_argument("--profile", default="standard")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="overhead-") as name:
        database = str(Path(name) / "r.db")
        # The toolchain's own cost is paid once an environment and is no overhead of a run.
        evaluator("run", arguments.workload[0], "--max-buckets", "1", "--db", database)
        started = time.monotonic()
        evaluator(
            "run", *arguments.workload, "--max-buckets", "1", "--profile", arguments.profile, "--db", database
        )
        wall = time.monotonic() - started
        document = json.loads(evaluator("show", "latest", "--json", "--db", database))
    ran = processes(document)
    needed = sum(process["duration_s"] for process in ran)
    startups = [s for process in ran if (s := (process["conditions"] or {}).get("startup_s")) is not None]
    print(f"wall {wall:.1f} s, probes {needed:.1f} s, ratio {wall / needed:.3f}")
    servers = sum(len(environment["replicas"]) for environment in document["run"]["environments"])
    print(f"{len(ran)} probe records, {servers} server starts")
    print(f"start-up of a process: median {statistics.median(startups):.4f} s, longest {max(startups):.4f} s")


if __name__ == "__main__":
    main()
