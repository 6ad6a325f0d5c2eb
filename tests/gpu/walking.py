"""What a card gets: workloads walked on it, with what was generated and built for them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

from evaluator.trace.evidence import Segment, walk_evidence
from evaluator.trace.log import read_log
from tests.gpu.harness import Record, Stage, described, request, results, side_by_side
from tests.gpu.made import Kernels, triton_kernels, with_binaries


def walked(stage: Stage, workloads: Sequence[str]) -> dict[str, Kernels]:
    """Triton kernels of each workload's first bucket, from one traced walk on the card; only those whose walk was begun in
    time. A walk that failed is a check of the stage, and the others go on."""
    found: dict[str, Kernels] = {}
    known = cache(lambda server: described(server))

    def walk(server: Any, name: str) -> None:
        found[name] = _walk(stage, server, known(server), name)

    side_by_side(stage, workloads, walk)
    return found


def _walk(stage: Stage, server: Any, known: dict[str, Record], name: str) -> Kernels:
    bucket = known[name]["buckets"][0]["name"]
    traces = stage.folder / f"trace-{name}"
    asked = request(stage.folder, name, bucket, probe="walk", trace_dir=str(traces))
    caches = stage.folder / f"caches-{name}"
    asked["cache_dir"] = str(caches)
    told = list(server.probe(asked, 60))
    results(told)
    segments = [
        Segment(one["bucket"], one["walk"], one["call"], one["start"])
        for one in told
        if one.get("kind") == "segment"
    ]
    evidence = walk_evidence(read_log(next(traces.glob("*.log"))), segments, sources=[], fullgraph=False)
    kernels = evidence[bucket].as_dict()["kernels"]
    return with_binaries(triton_kernels(kernels), caches / "triton")
