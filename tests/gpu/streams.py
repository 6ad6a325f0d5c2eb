"""Stage 4: work on several streams, eager and compiled, and a wait that is missing."""

from __future__ import annotations

import os
import subprocess
import sys
from functools import partial
from typing import Any

from tests.gpu.harness import Stage, described, request, side_by_side

# The producer's result is read on another stream that does not wait for it. Its value may well be right.
MISSING_WAIT = """
import torch
x = torch.arange(1 << 20, device="cuda", dtype=torch.float32)
torch.cuda.synchronize()
producer, consumer = torch.cuda.Stream(), torch.cuda.Stream()
with torch.cuda.stream(producer):
    y = x * x
{wait}
with torch.cuda.stream(consumer):
    z = y + 1
torch.cuda.synchronize()
"""


# By name: what else a pack has takes its time. (a) in both forms, (b), (c), (d), (f) of what streams are for.
WORKLOADS = (
    "streams.handover", "streams.handover_kept", "streams.side_product", "streams.pinned_copies",
    "streams.gradients_aside", "serving.continuous_batching",
)  # fmt: skip


def ordered_work(stage: Stage) -> None:
    # Both interpreters take most of their time to start, beside the server's.
    sanitized = {wait: _sanitizer(wait) for wait in ("", "consumer.wait_stream(producer)")}
    stage.part("workloads of streams", partial(_judged, stage))
    for wait, process in sanitized.items():
        what = "nothing is named where the wait is there" if wait else "the sanitizer names the missing wait"
        try:
            said = "".join(process.communicate(timeout=max(1.0, stage.left())))
        except subprocess.TimeoutExpired:
            process.kill()
            said = f"no end in time; {''.join(process.communicate())}"
            stage.check(what, False, said[-300:])
            continue
        named = "possible data race" in said.lower()
        good = not named and process.returncode == 0 if wait else named
        stage.check(what, good, said.strip()[-300:])


def _judged(stage: Stage) -> None:
    """Eager, eager again, float64 and compiled of each workload, in a process each: what comes out is right."""
    done = []

    def judge(server: Any, name: str) -> None:
        known = described(server)
        asked = request(stage.folder, name, known[name]["buckets"][0]["name"], probe="accuracy")
        asked["cache_dir"] = str(stage.folder / f"caches-{name}")
        told = list(server.probe(asked, 60))
        found = [one for one in told if one.get("kind") == "result"] or told[-1:]
        stage.check(
            f"{name}: eager and compiled come out right",
            [one["status"] for one in found] in (["ok"], ["not_comparable"]),
            [(one["status"], one.get("reason")) for one in found],
        )
        done.append(name)

    side_by_side(stage, WORKLOADS, judge)
    stage.check("all workloads of streams were judged", set(done) == set(WORKLOADS), done)


def _sanitizer(wait: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", MISSING_WAIT.format(wait=wait)],
        env={**os.environ, "TORCH_CUDA_SANITIZER": "1"},
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
