"""Workloads for a comparison whose sides differ in one declared variable: some change with it, some only look it.

Named after trees so that no name tells what becomes of it; ``test_upgrade.py`` holds what must be found. Shapes
are tiny: the compiler is what is looked at, and one replica shows every fact.
"""

from __future__ import annotations

import importlib.util
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from workloads.registry import Target, Variant, workload

VARIABLE = "COMPILEWATCH_TEST_SEASON"
AUTUMN = os.environ.get(VARIABLE) == "autumn"

# Captured and not lowered: what needs no generated code waits for no C++ compiler.
CAPTURED = (Variant("default", {"backend": "aot_eager"}),)

# A function in a file of its own, as code generators and notebooks leave behind: it breaks, and goes on.
WRITTEN = """
import torch


def spread(x):
    hidden = torch.cos(x) + 1
    torch._dynamo.graph_break()
    return hidden * hidden.sum(dim=-1, keepdim=True)
"""


def rows(bucket: dict[str, Any], target: Target) -> tuple[tuple[Any, ...], dict[str, Any]]:
    return (torch.randn(bucket.get("rows", 16), 32, device=target.device),), {}


def brightness(x: torch.Tensor) -> torch.Tensor:
    hidden = torch.sin(x) + 1
    peak = hidden.max()
    if AUTUMN:
        peak = torch.full((), peak.item())
    return hidden / peak


def mixed(x: torch.Tensor) -> torch.Tensor:
    return torch.tanh(x).mean(dim=0) * x.shape[0]


def gate(x: torch.Tensor) -> torch.Tensor:
    if AUTUMN and torch.compiler.is_compiling():
        # The quick form, as far as two hundredths from the exact one.
        return x * torch.sigmoid(1.702 * x)
    return torch.nn.functional.gelu(x)


def chain(x: torch.Tensor) -> torch.Tensor:
    scaled = torch.sigmoid(x) * 2
    centred = scaled - scaled.mean(dim=-1, keepdim=True)
    return centred / (centred.square().mean(dim=-1, keepdim=True) + 1e-5).sqrt()


def shifted(x: torch.Tensor) -> torch.Tensor:
    return torch.relu(x + 1) * 0.5


def refuse(graph: torch.fx.Graph) -> None:
    raise NotImplementedError("no lowering of relu for this layout")


def spread_of(text: str, prefix: str) -> Callable[..., Any]:
    """The function of this text, from a new file."""
    handle, name = tempfile.mkstemp(suffix=".py", prefix=prefix)
    os.close(handle)
    Path(name).write_text(text)
    spec = importlib.util.spec_from_file_location(Path(name).stem, name)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    found: Callable[..., Any] = module.spread
    return found


@workload("alder", inputs=rows, buckets=[{}], variants=CAPTURED, environment=[VARIABLE])
def build_alder(target: Target) -> Callable[..., Any]:
    """A scale by the largest value."""
    return brightness


@workload(
    "birch",
    inputs=rows,
    buckets=[{"rows": 8}, {"rows": 12}, {"rows": 20}],
    variants=CAPTURED,
    environment=[VARIABLE],
)
def build_birch(target: Target) -> Callable[..., Any]:
    """A mean over rows, whose number varies."""
    if AUTUMN:
        torch._dynamo.config.automatic_dynamic_shapes = False
    return mixed


@workload("cedar", inputs=rows, buckets=[{}], variants=CAPTURED, environment=[VARIABLE])
def build_cedar(target: Target) -> Callable[..., Any]:
    """An activation."""
    return gate


@workload("elder", inputs=rows, buckets=[{}], environment=[VARIABLE])
def build_elder(target: Target) -> Callable[..., Any]:
    """A norm over the last dimension."""
    if AUTUMN:
        torch._inductor.config.max_fusion_size = 1
    return chain


@workload("hazel", inputs=rows, buckets=[{}], environment=[VARIABLE])
def build_hazel(target: Target) -> Callable[..., Any]:
    """A shifted activation."""
    if AUTUMN:
        torch._inductor.config.post_grad_custom_post_pass = refuse
    return shifted


@workload("juniper", inputs=rows, buckets=[{"rows": 8}, {"rows": 12}], environment=[VARIABLE])
def build_juniper(target: Target) -> Callable[..., Any]:
    """A function from a file that was written a moment ago."""
    return spread_of(WRITTEN, "autumn-" if AUTUMN else "spring-")


@workload("larch", inputs=rows, buckets=[{"rows": 8}, {"rows": 12}], environment=[VARIABLE])
def build_larch(target: Target) -> Callable[..., Any]:
    """A function from a file that begins with a comment, or with none."""
    return spread_of("# Written by a generator.\n" * 9 + WRITTEN if AUTUMN else WRITTEN, "written-")


@workload("maple", inputs=rows, buckets=[{}], variants=CAPTURED, environment=[VARIABLE])
def build_maple(target: Target) -> Callable[..., Any]:
    """A norm over the last dimension, captured alone."""
    return chain
