"""Stages 8 and 9: the precision of float32 products, and errors of the device that others must survive."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import torch

from evaluator.worker.precision import set_precision
from tests.gpu.harness import Stage, probes, statuses

SIDE = 1024

# Its variant is walked and no more: it is the walk in which one bucket takes others with it.
FAILING = """
import torch
from workloads.registry import Variant, workload

BUCKETS = [{"n": 4}, {"n": 8}, {"n": 12}, {"n": 16}]

def inputs(bucket, target):
    n = bucket["n"]
    # Of the second bucket one index is beyond the table: an assert on the device, raised by a later call.
    where = torch.full((n,), 99 if n == 8 else 1, device="cuda")
    return (torch.ones(10, device="cuda"), where), {}

@workload("failing", inputs=inputs, buckets=BUCKETS, variants=[Variant("default", {}, evidence_only=True)])
def build(target):
    \"""Buckets that end a process, or ask for more memory than there is.\"""
    def take(table, where):
        if where.shape[0] == 12:
            # Returned, so that compiled code has to make it too, and does not only sum what it would hold.
            return table.new_zeros(1 << 42) + table.sum()
        return table[where] * 2
    return take
"""


def precision(stage: Stage) -> None:
    """What was set is read back, and holds in what Inductor compiles: each in a process of its own would be no other."""
    torch.manual_seed(0)
    a, b = (torch.randn(SIDE, SIDE, device="cuda") for _ in range(2))
    exact = a.double() @ b.double()
    worst: dict[str, dict[str, float]] = {}
    for name in ("ieee", "tf32"):
        set_precision(name)
        torch._dynamo.reset()
        compiled = torch.compile(torch.mm)
        worst[name] = {
            side: float((call(a, b).double() - exact).abs().max())
            for side, call in (("eager", torch.mm), ("compiled", compiled))
        }
    stage.number("largest error to float64", worst)
    for side in ("eager", "compiled"):
        stage.check(f"{side}: IEEE within 1e-3", worst["ieee"][side] < 1e-3, worst["ieee"][side])
        stage.check(f"{side}: TF32 is another precision", worst["tf32"][side] > 5 * worst["ieee"][side])


def failures(stage: Stage) -> None:
    """A device assert and an out-of-memory are of their buckets; the buckets beside them are measured."""
    source = stage.source("failing", FAILING)
    records = stage.evaluate("--no-packs", "--workloads", str(source), "--timeout", "40")
    found = {cell.split()[1]: status for cell, status in statuses(records).items()}
    stage.check("the assert ends its own bucket", found.get("n=8") == "crashed", found)
    stage.check("and the out-of-memory its own", found.get("n=12") == "out_of_memory", found)
    stage.check("the others are measured", (found.get("n=4"), found.get("n=16")) == ("ok", "ok"), found)
    crashed = [one for one in probes(records) if one["status"] == "crashed"]
    origins: list[Any] = [(one.get("facts") or {}).get("origin") for one in crashed]
    stage.check("each crash has an origin", bool(origins) and all(origins), origins[:1])
    first = SimpleNamespace(**(crashed[0] if crashed else {"reason": None}))
    stage.check("and says what the device said", "assert" in str(first.reason), first.reason)
