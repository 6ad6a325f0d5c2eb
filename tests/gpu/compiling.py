"""Stages 3 and 5: what is launched and generated, and what a cold compile takes."""

from __future__ import annotations

import statistics
import time
from typing import Any

import torch

from tests.gpu.harness import Stage, request, results, served, values
from tests.gpu.made import compared, recorded
from tests.gpu.walking import walked

# Of each theme the ones that generate kernels of their own.
TWELVE = (
    "pointwise.silu_gate", "pointwise.bias_gelu_residual", "reduction.softmax_sum", "reduction.cross_entropy",
    "normalisation.rms_norm_residual", "normalisation.group_norm", "matmul.gated_feed_forward",
    "conv.conv_bn", "attention.rotary", "embedding.bag", "mutation.input_in_place", "training.mlp_step",
)  # fmt: skip
PAIRS = 3
# Of stage 3's time.
REAL_S, GENERATED_S = 60.0, 50.0


def kernels(stage: Stage) -> None:
    """Four eager kernels become one; and what is generated for an H200 without it is what a card of its kind gets."""
    fused(stage)
    capability = torch.cuda.get_device_capability()
    name = torch.cuda.get_device_name()
    if "H200" not in name:
        stage.number("codegen:h200 against the card", f"left out: this is a {name}, {capability}")
        return
    with served(stage.folder) as server:
        here = walked(stage, server, TWELVE, ends=time.monotonic() + REAL_S)
    there = recorded(
        stage.evaluate(*here, "--max-buckets", "1", "--target", "codegen:h200", limit_s=GENERATED_S)
    )
    stage.check("all of the twelve were walked", set(here) == set(there) == set(TWELVE), sorted(here))
    for workload in sorted(set(here) & set(there)):
        for one in compared(workload, here[workload], there[workload]):
            stage.check(one.what, one.good, one.value)


def fused(stage: Stage) -> None:
    def gate(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.silu(x + y) * (x - y)

    given = [torch.randn(512, 512, device="cuda") for _ in range(2)]
    compiled = torch.compile(gate)
    for call in (gate, compiled):
        call(*given)
    torch.cuda.synchronize()
    counted = {}
    for side, call in (("eager", gate), ("compiled", compiled)):
        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profile:
            call(*given)
            torch.cuda.synchronize()
        # Copies and sets are no kernels, and run by other names.
        events = [one for one in profile.events() if one.device_type == torch.autograd.DeviceType.CUDA]
        counted[side] = [one.name for one in events if not one.name.startswith(("Memcpy", "Memset"))]
    stage.check("silu(x + y) * (x - y): four kernels in eager", len(counted["eager"]) == 4, counted["eager"])
    stage.check("and one compiled", len(counted["compiled"]) == 1, counted["compiled"])


def cold_threads(stage: Stage) -> None:
    """Cold compiles with the default threads, whose pool starts beside the compile, and with one."""
    measured: dict[str, list[float]] = {"cold": [], "cold_serial": []}
    ready = []
    with served(stage.folder) as server:
        for pair in range(PAIRS):
            for cache in measured:
                asked = request(
                    stage.folder, "training.mlp_step", _first(server), probe="compile", cache=cache
                )
                asked["cache_dir"] = str(stage.folder / f"caches-{pair}-{cache}")
                (found,) = results(server.probe(asked, 120))
                measured[cache] += values([found], f"compile.{cache}_s")
                ready.append(found["facts"]["compile_pool"])
                if cache == "cold":
                    stage.number(f"cold {pair}", {one["metric"]: one["value"] for one in found["samples"]})
    stage.number("seconds", measured)
    stage.number("compile pools", ready)
    stage.check("every cold compile was measured", all(len(of) == PAIRS for of in measured.values()))
    spread = {cache: statistics.pstdev(of) / statistics.fmean(of) for cache, of in measured.items()}
    stage.number("spread as part of the mean", spread)


def _first(server: Any) -> str:
    described = {one["name"]: one for one in server.describe([], True, "cuda").workloads}
    return str(described["training.mlp_step"]["buckets"][0]["name"])
