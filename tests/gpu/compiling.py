"""Stages 3 and 5: what is launched and generated, and what a cold compile takes."""

from __future__ import annotations

import statistics
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial

import torch

from tests.gpu.harness import Stage, described, probed, request, served, values
from tests.gpu.made import compared, recorded
from tests.gpu.walking import walked

# Of each theme the ones that generate kernels of their own.
TWELVE = (
    "pointwise.silu_gate", "pointwise.bias_gelu_residual", "reduction.softmax_sum", "reduction.cross_entropy",
    "normalisation.rms_norm_residual", "normalisation.group_norm", "matmul.gated_feed_forward",
    "conv.conv_bn", "attention.rotary", "embedding.bag", "mutation.input_in_place", "training.mlp_step",
)  # fmt: skip
TRAINING = "training.mlp_step"
PAIRS = 3
# Of stage 3's time, for what comes after that.
FUSED_S = 20.0


def kernels(stage: Stage) -> None:
    """Four eager kernels become one; and what is generated for an H200 without it is what a card of its kind gets."""
    capability = torch.cuda.get_device_capability()
    name = torch.cuda.get_device_name()
    if "H200" not in name:
        stage.number("codegen:h200 against the card", f"left out: this is a {name}, {capability}")
    else:
        stage.part("codegen:h200 against the card", partial(against_the_card, stage))
    stage.part("fusion", partial(fused, stage))


def against_the_card(stage: Stage) -> None:
    # Side by side: the one waits for the card and the other never touches it, and neither is timed.
    asked = (*TWELVE, "--max-buckets", "1", "--target", "codegen:h200")
    whole = replace(stage, ends=stage.ends - FUSED_S)
    with ThreadPoolExecutor(1) as beside:
        run = beside.submit(whole.evaluate, *asked)
        here = walked(whole, TWELVE)
        there = recorded(run.result())
    stage.check(
        "all of the twelve were walked",
        set(here) == set(there) == set(TWELVE),
        [sorted(set(TWELVE) - set(one)) for one in (here, there)],
    )
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
    # Once for nothing: the first recording of a process starts the profiler's own machinery.
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]):
        gate(*given)
        torch.cuda.synchronize()
    counted = {}
    for side, call in (("eager", gate), ("compiled", compiled)):
        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profile:
            call(*given)
            torch.cuda.synchronize()
        # Copies and sets are no kernels, and run by other names.
        events = [one for one in profile.events() if one.device_type == torch.autograd.DeviceType.CUDA]
        counted[side] = [
            one.name
            for one in events
            # Nor are regions that the host named, which the profiler draws on the device too.
            if not one.name.startswith(("Memcpy", "Memset")) and not one.is_user_annotation
        ]
    stage.check("silu(x + y) * (x - y): four kernels in eager", len(counted["eager"]) == 4, counted["eager"])
    stage.check("and one compiled", len(counted["compiled"]) == 1, counted["compiled"])


def cold_threads(stage: Stage) -> None:
    """Cold compiles with the default threads, whose pool starts beside the compile, and with one."""
    measured: dict[str, list[float]] = {"cold": [], "cold_serial": []}
    ready = []
    with served(stage.folder) as server:
        bucket = described(server)[TRAINING]["buckets"][0]["name"]
        begun = time.monotonic()
        for pair in range(PAIRS):
            if pair and stage.left() < 1.5 * (time.monotonic() - begun) / pair:
                break
            for cache in measured:
                asked = request(stage.folder, TRAINING, bucket, probe="compile", cache=cache)
                asked["cache_dir"] = str(stage.folder / f"caches-{pair}-{cache}")
                for found in probed(stage, server, f"{cache} compile {pair}", asked):
                    measured[cache] += values([found], f"compile.{cache}_s")
                    ready.append(found["facts"]["compile_pool"])
                    if cache == "cold":
                        samples = {one["metric"]: one["value"] for one in found["samples"]}
                        stage.number(f"cold {pair}", samples)
            stage.number("seconds", measured)
            stage.number("compile pools", ready)
    stage.check("cold compiles were measured, and serial ones", all(measured.values()), measured)
    spread = {cache: statistics.pstdev(of) / statistics.fmean(of) for cache, of in measured.items() if of}
    stage.number("spread as part of the mean", spread)
