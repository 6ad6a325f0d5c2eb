"""Stages 6, 7 and 10: equal sides, CUDA graphs, and embedding bag with the memory of its cells."""

from __future__ import annotations

import statistics

from tests.gpu.harness import Stage, probes, request, results, served, statuses, values

REPLICAS = 3
TIMING = {"rounds": 7, "round_ms": 50, "warmup_calls": 10, "warmup_ms": 300}
WORKLOAD = "normalisation.rms_norm_residual"


def equal_sides(stage: Stage) -> None:
    """Three replicas of three processes each of one thing: how far their medians are apart."""
    medians: list[list[float]] = []
    flags: set[str] = set()
    for replica in range(REPLICAS):
        with served(stage.folder) as server:
            described = {one["name"]: one for one in server.describe([], True, "cuda").workloads}
            bucket = described[WORKLOAD]["buckets"][-1]["name"]
            medians.append([])
            for process in range(3):
                caches = str(stage.folder / f"caches-{replica}-{process}")
                asked = request(stage.folder, WORKLOAD, bucket, probe="walk", timing=TIMING, cache_dir=caches)
                found = [one for one in results(server.probe(asked, 120)) if one["probe"] == "timing"]
                medians[-1].append(statistics.median(values(found, "compiled.stream_ms")))
                flags |= {flag for one in found[0]["samples"] for flag in one["flags"]}
                if not replica and not process:
                    stage.number("first timing", found[0].get("timing_protocol"))
    stage.number("compiled.stream_ms, medians of processes by replica", medians)
    stage.number("flags seen", sorted(flags))
    means = [statistics.fmean(of) for of in medians]
    apart = (max(means) - min(means)) / statistics.fmean(means)
    stage.check("equal replicas stay within 3% of one another", apart <= 0.03, apart)


def graphs(stage: Stage) -> None:
    """Recorded, recorded again, skipped with a reason, and the pools that hold them."""
    source = stage.source("graphs", SKIPPED)
    replayed = stage.evaluate(
        WORKLOAD, "--variants", "reduce-overhead", "--buckets", "rows=48*", "--timeout", "25", limit_s=25
    )
    facts = [one["facts"].get("cuda_graphs") for one in probes(replayed, "walk")]
    stage.check("a plain workload is captured", bool(facts) and all(one["captured"] for one in facts), facts)
    stage.number("recorded again", [one.get("rerecorded") for one in facts])
    pools = values(probes(replayed, "memory"), "compiled.device_private_pools_mb")
    stage.check("its graphs have a private pool", any(pools), pools)
    skipped = stage.evaluate(
        "--no-packs",
        "--workloads",
        str(source),
        "--variants",
        "reduce-overhead",
        "--timeout",
        "20",
        limit_s=20,
    )
    facts = [one["facts"].get("cuda_graphs") for one in probes(skipped, "walk")]
    stage.check(
        "a workload that changes its argument is not, and the reason is told",
        bool(facts) and all(one["captured"] is False and one["why"] for one in facts),
        facts,
    )


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
    """What eager does not repeat bit for bit is no failure; and every counter of memory has a number."""
    records = stage.evaluate("embedding.bag", "--max-buckets", "1", "--timeout", "25", limit_s=30)
    found = statuses(records)
    stage.check("no cell failed", set(found.values()) <= {"ok", "not_comparable"}, found)
    judged = [one.get("accuracy") for one in probes(records, "accuracy")]
    stage.check("accuracy was judged", bool(judged) and all(judged), judged)
    memory = probes(records, "memory")
    for mode in ("eager", "compiled"):
        for name in ("device_allocated_peak_mb", "device_reserved_mb", "device_workspace_mb"):
            got = values(memory, f"{mode}.{name}")
            stage.check(f"{mode}.{name} was measured", bool(got), got)
        stage.number(f"{mode}.device_outside_mb", values(memory, f"{mode}.device_outside_mb"))
    stage.number("init.cuda_s", values(probes(records, "compile"), "init.cuda_s"))
