"""What a card gets: workloads walked on it, with what was generated and built for them."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any

from evaluator.trace.evidence import Segment, walk_evidence
from evaluator.trace.log import read_log
from tests.gpu.harness import Stage, described, request, results
from tests.gpu.made import Kernels, triton_kernels, with_binaries


def walked(stage: Stage, server: Any, workloads: Iterable[str], ends: float) -> dict[str, Kernels]:
    """Triton kernels of each workload's first bucket, from one traced walk on the card; only those whose walk was begun
    before ``ends`` (``time.monotonic``). A walk that failed is a check of the stage, and the others go on."""
    known = described(server)
    found: dict[str, Kernels] = {}
    for name in workloads:
        if time.monotonic() > ends:
            break
        bucket = known[name]["buckets"][0]["name"]
        traces = stage.folder / f"trace-{name}"
        asked = request(stage.folder, name, bucket, probe="walk", trace_dir=str(traces))
        caches = stage.folder / f"caches-{name}"
        asked["cache_dir"] = str(caches)
        told = list(server.probe(asked, 60))
        try:
            results(told)
        except RuntimeError as error:
            stage.check(f"{name}: walked on the card", False, str(error))
            continue
        segments = [
            Segment(one["bucket"], one["walk"], one["call"], one["start"])
            for one in told
            if one.get("kind") == "segment"
        ]
        evidence = walk_evidence(read_log(next(traces.glob("*.log"))), segments, sources=[], fullgraph=False)
        kernels = evidence[bucket].as_dict()["kernels"]
        found[name] = with_binaries(triton_kernels(kernels), caches / "triton")
    return found
