"""Stage 1: the process server has no device file open, its child compiles, and measures what a new interpreter does."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

from evaluator.environments import toolchain_folder
from evaluator.worker.processes import descendants
from tests.gpu.harness import REPOSITORY, Stage, described, request, results, served, values

PAIRS = 3
WORKLOAD = "pointwise.silu_gate"
# The server's own steps without its fork.
FRESH = """
import importlib, json, sys
from evaluator.worker import child, server, toolchain
from evaluator.worker.channel import RecordWriter
for name in server.COMPILER_MODULES:
    importlib.import_module(name)
toolchain.preload()
child.run(json.loads(sys.argv[1]), RecordWriter(int(sys.argv[2]), "RECORD"))
"""


def fork_server(stage: Stage) -> None:
    with served(stage.folder) as server:
        stage.check(
            "the server knows the GPU", server.hello.no_gpu is None, server.hello.environment.get("gpu")
        )
        stage.number("environment", server.hello.environment)
        stage.number("conditions", server.hello.conditions)
        stage.part("before anything was asked", partial(no_device_file, stage, "as it has just started"))
        # What runs of later stages need too, and find then.
        made = server.prepare_toolchain()
        stage.check("the C++ toolchain works", made["status"] == "ok", made.get("reason") or made["samples"])
        stage.part("compiles of both", partial(like_a_new_interpreter, stage, server))
        stage.part("after children that used the GPU", partial(no_device_file, stage, "after its children"))


def no_device_file(stage: Stage, when: str) -> None:
    open_files = [name for pid in descendants(os.getpid()) for name in device_files(pid)]
    stage.check(f"no process of the server has a device file open, {when}", not open_files, open_files)


def like_a_new_interpreter(stage: Stage, server: Any) -> None:
    """With one thread: the default ones are a race with the pool that starts them, in both alike."""
    bucket = described(server)[WORKLOAD]["buckets"][0]["name"]
    measured: dict[str, list[float]] = {"forked": [], "fresh": []}
    begun = time.monotonic()
    for pair in range(PAIRS):
        if pair and stage.left() < 1.2 * (time.monotonic() - begun) / pair:
            break
        for side in ("forked", "fresh") if pair % 2 == 0 else ("fresh", "forked"):
            asked = request(stage.folder, WORKLOAD, bucket, probe="compile", cache="cold_serial")
            asked["cache_dir"] = str(stage.folder / f"caches-{pair}-{side}")
            told = results(server.probe(asked, 60) if side == "forked" else fresh(asked))
            measured[side] += values(told, "compile.cold_serial_s")
            if pair == 0:
                stage.number(f"first {side} compile", told[0]["facts"])
        stage.number("compile.cold_serial_s", measured)
    forked, alone = (statistics.median(measured[side]) for side in ("forked", "fresh"))
    # Three a side tell no more than that neither is another kind of measurement.
    stage.near("cold compile, a forked child and a new interpreter", forked, alone, within=0.25)


def device_files(pid: int) -> list[str]:
    """The GPU's files that a process has open."""
    found = []
    for link in Path(f"/proc/{pid}/fd").glob("*"):
        try:
            target = str(link.readlink())
        except OSError:
            continue  # closed meanwhile
        if target.startswith("/dev/nvidia"):
            found.append(target)
    return found


def fresh(asked: dict[str, object]) -> list[dict[str, object]]:
    """Records of a request answered by a new interpreter."""
    read_fd, write_fd = os.pipe()
    command = [sys.executable, "-c", FRESH, json.dumps({"op": "probe", **asked}), str(write_fd)]
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY), "PYTORCH_NVML_BASED_CUDA_CHECK": "1"}
    # Where the toolchain is ready, and what a first compile imports is known.
    environment["TMPDIR"] = str(toolchain_folder(Path(sys.executable)))
    with subprocess.Popen(command, env=environment, pass_fds=(write_fd,), stdout=subprocess.DEVNULL):
        os.close(write_fd)
        with os.fdopen(read_fd, "rb") as pipe:
            lines = [line[7:] for line in pipe.read().split(b"\n") if line.startswith(b"RECORD ")]
    return [json.loads(line) for line in lines]
