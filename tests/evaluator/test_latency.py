"""A workload that serves requests has latencies in the database, and one whose request returns too early says so."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest

from tests.evaluator.commandline import document, evaluator

pytestmark = pytest.mark.slow

SERVED = """
    import torch
    from workloads.registry import Variant, workload

    def inputs(bucket, target):
        return (torch.arange(8.0, device=target.device),), {}

    def served(fn, args, kwargs, target):
        return fn(args[0].to(target.device)).tolist()

    def early(fn, args, kwargs, target):
        return fn(args[0].to(target.device)).to("meta")

    for name, request in (("served", served), ("early", early)):
        @workload(name, inputs=inputs, buckets=[{}], request=request, variants=[Variant("default", {"backend": "eager"})])
        def build(target):
            '''Twice what it is given.'''
            return lambda x: x * 2
"""


def test_requests_are_timed_one_by_one(tmp_path: Path) -> None:
    (tmp_path / "serving.py").write_text(dedent(SERVED))
    done = evaluator(tmp_path, "run", "served", "early", "--workloads", "serving.py", "--no-packs")
    recorded = {one["workload"]: one for one in document(tmp_path)["evaluations"]}
    metrics = recorded["served"]["metrics"]
    for side in ("eager", "compiled"):
        assert len(metrics[f"{side}.latency_ms"]["samples"]) == 20
        assert min(metrics[f"{side}.latency_ms"]["samples"]) > 0
    assert recorded["served"]["status"] == "ok", done.stderr
    timing = recorded["early"]["probes"]["timing"]
    assert timing["status"] == "runtime_error", timing
    assert "must return its output on the host" in str(recorded["early"])
    assert "eager.latency_ms" not in recorded["early"]["metrics"]
