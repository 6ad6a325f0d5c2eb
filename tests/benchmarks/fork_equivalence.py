"""Does a forked child measure what a fresh interpreter measures?

    python -m tests.benchmarks.fork_equivalence [--pairs 8] [--python PATH]

For each of three workloads, cold compile, warm-cache compile and steady compiled time, alternately in a child
of the process server and in a new interpreter that imports the same modules before the clock. Prints the ratio
fresh / forked with its 95% interval: 1 inside the interval means no difference was found.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path
from typing import Any

from evaluator.control.server_client import Server, interpreter
from evaluator.machine import REPOSITORY
from evaluator.verdicts.ratio import ratio

WORKLOADS = ("pointwise.silu_gate", "reduction.softmax_sum", "training.mlp_step")
METRICS = ("compile.cold_s", "compile.warm_cache_s", "compiled.wall_ms")
TIMING = {"rounds": 7, "round_ms": 50, "warmup_calls": 10, "warmup_ms": 300}

# The server's own steps without the fork: the imports, what a first compile imports, the request.
FRESH = """
import importlib, json, os, sys
from evaluator.worker import child, server
from evaluator.worker.channel import RecordWriter
for name in server.COMPILER_MODULES:
    importlib.import_module(name)
from evaluator.worker import toolchain
toolchain.preload()
child.run(json.loads(sys.argv[1]), RecordWriter(int(sys.argv[2]), "RECORD"))
"""


def fresh(python: Path, request: dict[str, Any], temporary: Path) -> list[dict[str, Any]]:
    """Records of one request answered by a new interpreter."""
    import os

    read_fd, write_fd = os.pipe()
    environment = {
        **os.environ,
        "PYTHONPATH": str(REPOSITORY),
        "TMPDIR": str(temporary),
        "TORCHINDUCTOR_CACHE_DIR": str(temporary / "cache"),
        "HF_HUB_OFFLINE": "1",
    }
    process = subprocess.Popen(
        [str(python), "-c", FRESH, json.dumps(request), str(write_fd)],
        env=environment,
        pass_fds=(write_fd,),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    os.close(write_fd)
    with os.fdopen(read_fd, "rb") as pipe:
        lines = [line[7:] for line in pipe.read().split(b"\n") if line.startswith(b"RECORD ")]
    if process.wait() != 0:
        raise SystemExit(f"the fresh interpreter ended with {process.returncode}")
    return [json.loads(line) for line in lines]


def values(records: list[dict[str, Any]]) -> dict[str, float]:
    """Each metric's value: the median of its rounds."""
    found: dict[str, list[float]] = defaultdict(list)
    for record in records:
        if record.get("kind") == "result" and record["status"] != "ok":
            raise SystemExit(
                f"{record['probe']} of {record['bucket']}: {record['status']}: {record.get('reason')}"
            )
        for sample in record.get("samples", []):
            if sample["value"] is not None:
                found[sample["metric"]].append(sample["value"])
    return {metric: statistics.median(numbers) for metric, numbers in found.items()}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--pairs", type=int, default=8, help="measurements of each kind a side (8)")
    parser.add_argument("--python", default=sys.executable, help="interpreter that has torch")
    arguments = parser.parse_args()
    python = interpreter(arguments.python)
    measured: dict[tuple[str, str, str], list[float]] = defaultdict(list)
    with tempfile.TemporaryDirectory(prefix="fork-equivalence-") as name:
        folder = Path(name)
        temporary = folder / "temporary"
        with Server(python, temporary, folder / "server.log") as server:
            prepared = server.prepare_toolchain()
            if prepared["status"] != "ok":
                raise SystemExit(prepared["reason"])
            described = {entry["name"]: entry for entry in server.describe([], True, "cpu").workloads}
            print(f"{'workload':24} {'metric':22} {'forked':>10} {'fresh':>10}  fresh / forked (95%)")
            for workload in WORKLOADS:
                bucket = described[workload]["buckets"][0]["name"]
                for pair in range(arguments.pairs):
                    sides = ("forked", "fresh") if pair % 2 == 0 else ("fresh", "forked")
                    for side in sides:
                        cache = str(folder / f"{pair}-{workload}-{side}")
                        for step in (
                            {"probe": "compile", "cache": "cold", "cache_dir": cache},
                            {"probe": "compile", "cache": "warm", "cache_dir": cache},
                            {"probe": "walk", "cache_dir": cache + "-walk", "timing": TIMING},
                        ):
                            request = {
                                "op": "probe",
                                "sources": [],
                                "packs": True,
                                "workload": workload,
                                "variant": "default",
                                "target": "cpu",
                                "buckets": [bucket],
                                "seed": 0,
                                "limits": {"time_s": 600, "memory_mb": 16000},
                                "log": str(folder / "child.log"),
                                **step,
                            }
                            if side == "forked":
                                records = list(server.probe(request, 600))
                            else:
                                records = fresh(python, request, temporary)
                            for metric, value in values(records).items():
                                measured[workload, metric, side].append(value)
                    print(f"{workload}: pair {pair + 1} of {arguments.pairs} done", file=sys.stderr)
                show(workload, measured)


def show(workload: str, measured: dict[tuple[str, str, str], list[float]]) -> None:
    """The lines of one workload: both sides' medians and the ratio."""
    for metric in METRICS:
        forked, alone = measured[workload, metric, "forked"], measured[workload, metric, "fresh"]
        print(
            f"{workload:24} {metric:22} {statistics.median(forked):10.4g} {statistics.median(alone):10.4g}"
            f"  {ratio(forked, alone)}",
            flush=True,
        )


if __name__ == "__main__":
    main()
