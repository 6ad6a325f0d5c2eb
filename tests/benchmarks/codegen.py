"""Every workload of the registry for one card that is not there: how long it takes, and a table of what was generated.

    python -m tests.benchmarks.codegen --card h100 --table evaluator/measured/codegen-h100.md

The time depends on the machine; the table does not.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).parents[2]


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--card", default="h100", help="a card that the evaluator knows; default h100")
    parser.add_argument("--python", default=sys.executable, help="interpreter whose torch generates")
    parser.add_argument("--table", type=Path, help="where the table goes; default it is printed")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="compilewatch-codegen-") as folder:
        # Builds of an earlier run would be found in the user's own cache folder.
        own = {**os.environ, "XDG_CACHE_HOME": f"{folder}/cache", "COMPILEWATCH_DB": f"{folder}/r.db"}
        run = [
            "run",
            "--target",
            f"codegen:{arguments.card}",
            "--profile",
            "quick",
            "--python",
            arguments.python,
        ]
        started = time.monotonic()
        evaluator(run, own, stdout=None)
        took = time.monotonic() - started
        document = json.loads(evaluator(["show", "latest", "--json"], own, stdout=subprocess.PIPE))
    text = "\n".join(page(document, arguments.card, took)) + "\n"
    if arguments.table is None:
        print(text)
    else:
        arguments.table.write_text(text)
    return 0


def evaluator(words: list[str], environment: dict[str, str], stdout: int | None) -> str:
    command = [sys.executable, "-m", "evaluator", *words]
    done = subprocess.run(command, cwd=REPOSITORY, env=environment, stdout=stdout, text=True, check=True)
    return done.stdout or ""


def page(document: dict[str, Any], card: str, took: float) -> Iterator[str]:
    """The table as Markdown: a row a workload, over all of its shape buckets."""
    fields = document["run"]["environments"][0]
    workloads: dict[str, list[dict[str, Any]]] = {}
    for one in document["evaluations"]:
        workloads.setdefault(one["workload"], []).append(one)
    cells = len(document["evaluations"])
    yield f"# What is generated for {card}\n"
    yield (
        f"{len(workloads)} workloads, {cells} cells, torch {fields['torch']}, Triton {fields['triton']}, "
        f"{datetime.now(UTC):%Y-%m-%d}: {took:.0f} s on {os.cpu_count()} CPUs without a GPU, every kernel built.\n"
    )
    yield "| workload | buckets | Triton kernels | built | largest registers | spills | library calls | not there, and why |"
    yield "|---|---:|---:|---:|---:|---:|---|---|"
    for name, cells_of in sorted(workloads.items()):
        yield "| " + " | ".join(row(name, cells_of)) + " |"


def row(name: str, cells: list[dict[str, Any]]) -> list[str]:
    kernels = {
        (k["name"], k["source_sha256"]) for one in cells for k in one["kernels"] if k["kind"] != "extern"
    }
    calls = {
        k["name"].rpartition(".ops.")[2] for one in cells for k in one["kernels"] if k["kind"] == "extern"
    }
    builds = {(b["name"], b["source_sha256"]): b for one in cells for b in one["builds"]}
    good = [build for build in builds.values() if build["error"] is None]
    registers = [build["registers"] for build in good if build["registers"] is not None]
    spilled = [build for build in good if build["spill_stores"] or build["spill_loads"]]
    missing = [f"{one['bucket']}: {one['status']}, {why(one)}" for one in cells if one["status"] != "ok"]
    missing += [
        f"{build['name']}: {build['error']}" for build in builds.values() if build["error"] is not None
    ]
    said = "; ".join(dict.fromkeys(missing)).replace("|", "\\|").replace("\n", " ")
    # Where every cell was refused before it had a graph, nobody counted.
    known = any(one["facts"].get("graphs") is not None for one in cells)
    return [
        f"`{name}`",
        str(len(cells)),
        str(len(kernels)) if known else "",
        str(len(good)) if known else "",
        str(max(registers)) if registers else "",
        str(len(spilled)) if good else "",
        ", ".join(f"`{call}`" for call in sorted(calls)),
        said,
    ]


def why(cell: dict[str, Any]) -> str:
    """The recorded reason, with the first line of what first went wrong where that does not say it."""
    reason, error = cell["reason"] or "no reason was recorded", cell["error"] or {}
    first = (error.get("chain") or [""])[-1].strip().partition("\n")[0]
    # Without the exception's type, which a reason may call otherwise.
    return reason if first.partition(": ")[2] in reason else f"{reason}: {first}"


if __name__ == "__main__":
    raise SystemExit(main())
