"""Stages 6, 7 and 10: equal sides, CUDA graphs, and embedding bag with the memory of its cells."""

from __future__ import annotations

import itertools
import statistics
import time
from contextlib import ExitStack
from functools import partial
from typing import Any

from tests.gpu.harness import Stage, described, probed, probes, request, served, statuses, values

REPLICAS, PROCESSES = 3, 3
TIMING = {"rounds": 7, "round_ms": 50, "warmup_calls": 10, "warmup_ms": 300}
WORKLOAD = "normalisation.rms_norm_residual"
BAG = "embedding.bag"


def equal_sides(stage: Stage) -> None:
    """Three replicas of three processes each of one thing: how far their medians are apart."""
    medians: list[list[float]] = [[] for _ in range(REPLICAS)]
    flags: set[str] = set()
    longest = 0.0
    with ExitStack() as stack:
        servers = [stack.enter_context(served(stage.folder)) for _ in range(REPLICAS)]
        bucket = described(servers[0])[WORKLOAD]["buckets"][-1]["name"]
        # In turns, so that each replica has as many as the others wherever the time ends.
        for process, (replica, server) in itertools.product(range(PROCESSES), enumerate(servers)):
            if stage.left() < 1.2 * longest:
                break
            begun = time.monotonic()
            caches = str(stage.folder / f"caches-{replica}-{process}")
            asked = request(stage.folder, WORKLOAD, bucket, probe="walk", timing=TIMING, cache_dir=caches)
            what = f"process {process} of replica {replica}"
            found = [one for one in probed(stage, server, what, asked) if one["probe"] == "timing"]
            times = values(found, "compiled.stream_ms")
            medians[replica] += [statistics.median(times)] if times else []
            flags |= {flag for one in found for sample in one["samples"] for flag in sample["flags"]}
            if found and not replica and not process:
                stage.number("first timing", found[0].get("timing_protocol"))
                stage.number("first samples", found[0]["samples"])
            longest = max(longest, time.monotonic() - begun)
            stage.number("compiled.stream_ms, medians of processes by replica", medians)
            stage.number("flags seen", sorted(flags))
    means = [statistics.median(of) for of in medians if of]
    stage.check("two replicas at least were timed", len(means) > 1, len(means))
    if len(means) < 2:
        return
    apart = (max(means) - min(means)) / statistics.fmean(means)
    stage.check(f"{len(means)} equal replicas stay within 3% of one another", apart <= 0.03, apart)


def graphs(stage: Stage) -> None:
    """Recorded, recorded again, skipped with a reason, and the pools that hold them."""
    source = str(stage.source("graphs", SKIPPED))
    with served(stage.folder) as server:
        stage.part("a plain workload", partial(_captured, stage, server))
        own = {"sources": [source], "packs": False, "variant": "reduce-overhead"}
        asked = request(stage.folder, "graphs", "n=512", probe="walk", **own)
        asked["cache_dir"] = str(stage.folder / "caches-skipped")
        facts = _graph_facts(probed(stage, server, "a workload that changes its argument", asked))
        stage.check(
            "a workload that changes its argument is not captured, and the reason is told",
            bool(facts) and all(one["captured"] is False and one["why"] for one in facts),
            facts,
        )


def _captured(stage: Stage, server: Any) -> None:
    bucket = described(server)[WORKLOAD]["buckets"][0]["name"]
    common = {"variant": "reduce-overhead", "cache_dir": str(stage.folder / "caches-captured")}
    walk = request(stage.folder, WORKLOAD, bucket, probe="walk", **common)
    facts = _graph_facts(probed(stage, server, "a plain workload, walked", walk))
    stage.check("a plain workload is captured", bool(facts) and all(one["captured"] for one in facts), facts)
    stage.number("recorded again", [one.get("rerecorded") for one in facts])
    memory = request(stage.folder, WORKLOAD, bucket, probe="memory", mode="compiled", **common)
    found = probed(stage, server, "its memory", memory)
    pools = values(found, "compiled.device_private_pools_mb")
    stage.check("its graphs have a private pool", any(pools), pools)
    stage.number("memory of a replay", {s["metric"]: s["value"] for one in found for s in one["samples"]})


def _graph_facts(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [one["facts"]["cuda_graphs"] for one in found if (one.get("facts") or {}).get("cuda_graphs")]


SKIPPED = """
import torch
BUCKETS = [{"n": 512}]
def build():
    def add_in_place(total, x):
        total.add_(x.sin())
        return total.sum()
    return add_in_place
def inputs(bucket):
    device = "cuda"
    return (torch.zeros(bucket["n"], device=device), torch.randn(bucket["n"], device=device)), {}
"""


def embedding_bag(stage: Stage) -> None:
    """One whole run with its traces. What eager does not repeat bit for bit is no failure; and every counter of memory
    has a number."""
    records = stage.evaluate(BAG, "--max-buckets", "1", "--timeout", "40", "--chrome-traces")
    found = statuses(records)
    stage.check("no cell failed", bool(found) and set(found.values()) <= {"ok", "not_comparable"}, found)
    stage.number("probes", [(one["probe"], one["status"], one.get("reason")) for one in probes(records)])
    judged = [one.get("accuracy") for one in probes(records, "accuracy")]
    stage.check("accuracy was judged", bool(judged) and all(judged), judged)
    memory = probes(records, "memory")
    for mode in ("eager", "compiled"):
        for name in ("device_allocated_peak_mb", "device_reserved_mb", "device_workspace_mb"):
            got = values(memory, f"{mode}.{name}")
            stage.check(f"{mode}.{name} was measured", bool(got), got)
        stage.number(f"{mode}.device_outside_mb", values(memory, f"{mode}.device_outside_mb"))
    stage.number("init.cuda_s", values(probes(records, "compile"), "init.cuda_s"))
    profiled = [one for probe in probes(records, "profile") for one in probe.get("observed_kernels") or ()]
    stage.check("kernels were seen to run", any(one["kind"] == "kernel" for one in profiled), profiled[:6])
