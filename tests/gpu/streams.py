"""Stage 4: work on several streams, eager and compiled, and a wait that is missing."""

from __future__ import annotations

import os
import subprocess
import sys

from tests.gpu.harness import Stage, probes, statuses

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
    records = stage.evaluate(*WORKLOADS, "--max-buckets", "1", "--timeout", "30", limit_s=60)
    found = statuses(records)
    for cell, status in found.items():
        stage.check(f"{cell}: {status}", status in ("ok", "not_comparable"), _why(records, cell))
    stage.check("all workloads of streams were evaluated", len(found) >= 6, len(found))
    for wait, expected in (("", True), ("consumer.wait_stream(producer)", False)):
        done = subprocess.run(
            [sys.executable, "-c", MISSING_WAIT.format(wait=wait)],
            env={**os.environ, "TORCH_CUDA_SANITIZER": "1"},
            capture_output=True, text=True, timeout=20, check=False,
        )  # fmt: skip
        named = "possible data race" in (done.stderr + done.stdout).lower()
        what = "the sanitizer names the missing wait" if expected else "and nothing where the wait is there"
        stage.check(what, named is expected, done.stderr.strip()[-300:])


def _why(records: list[dict[str, object]], cell: str) -> list[object]:
    return [one.get("reason") for one in probes(records) if one.get("reason") and cell]
