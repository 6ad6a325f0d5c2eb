"""Databases with cells of a card that is not there: what its kernels move, spill and are refused for, by hand.

Nothing of them ran, so there is no time; the numbers of ``silu(x + y) * (x - y)`` on 512x512 float32 are arithmetic: a
tensor has 1,048,576 bytes, one kernel moves 3 of them, and two move 3 + 4.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from tests.app import seed, upgrades
from tests.app.records import MadeWorkload, Record
from tests.db.made import BUILD

TENSOR = 512 * 512 * 4
TARGET = "codegen:h100"
FUSED, FIRST, SECOND = (
    f"@triton.jit\ndef triton_(in_ptr0, in_ptr1, out_ptr0): {what}\n"
    for what in ("both_at_once", "the_first_piece", "the_second_piece")
)
TEMPLATE = "@triton.jit\ndef triton_(arg_A, arg_B): tiles_of_a_product\n"


def kernel(name: str, source: str, tensors: int, **changes: Any) -> Record:
    return {
        "name": name,
        "kind": "triton",
        "form": "pointwise",
        "source": source,
        "launch_hash": "launch",
        "graph": "0/0",
        "origin": "inference",
        "calls": 1,
        "loads": 2,
        "stores": 1,
        "reductions": 0,
        "bytes_moved": tensors * TENSOR,
    } | changes


def build(of: Record, **changes: Any) -> Record:
    start = {**BUILD, "name": of["name"], "source": of["source"], "config": {"XBLOCK": 1024, "num_warps": 4}}
    return start | changes


ONE = kernel("triton_poi_fused_add_mul_silu_sub_0", FUSED, 3)
TWO = (
    kernel("triton_poi_fused_add_silu_0", FIRST, 3),
    kernel("triton_poi_fused_mul_sub_1", SECOND, 4, loads=3),
)
PRODUCT = kernel("triton_tem_fused_mm_0", TEMPLATE, 3, kind="template", form="template")
WHY_REFUSED = "ptxas: uses too much shared data (0x40000 bytes, 0x38c00 max)"
_NUMBERS = ("registers", "spill_stores", "spill_loads", "stack", "shared", "static_shared", "ptx_bytes")
REFUSED = build(PRODUCT, **dict.fromkeys((*_NUMBERS, "cubin_bytes", "sass_hash")), error=WHY_REFUSED)


def workload(name: str, kernels: tuple[Record, ...], *builds: Record, target: str = TARGET) -> MadeWorkload:
    built = builds or tuple(build(one) for one in kernels)
    return MadeWorkload(name, (("n=512", {"n": 512}),), kernels=kernels, builds=built, target=target)


GATE = workload("point.gate", (ONE,))
SPILL = workload("point.spill", (kernel("triton_poi_fused_exp_0", FIRST, 2),))
MATMUL = workload("matmul.product", (PRODUCT,))
REBUILT = workload("point.rebuilt", (kernel("triton_poi_fused_tanh_0", SECOND, 2),))
CALM = tuple(workload(f"calm.w{place}", (ONE,)) for place in range(5))
BEFORE = (GATE, SPILL, MATMUL, REBUILT, *CALM)
AFTER: dict[str, MadeWorkload | None] = {
    # One kernel became two, which move 4 tensors more.
    GATE.name: workload(GATE.name, TWO),
    # 48 + 32 bytes are spilled.
    SPILL.name: replace(
        SPILL, builds=(build(SPILL.kernels[0], registers=255, spill_stores=48, spill_loads=32),)
    ),
    MATMUL.name: replace(MATMUL, builds=(REFUSED,)),
    # The same source and other machine code.
    REBUILT.name: replace(REBUILT, builds=(build(REBUILT.kernels[0], sass_hash="6" * 64),)),
}


def codegen(path: Path) -> Path:
    """An upgrade of cells of which none ever ran: a lost fusion, spills and a refused kernel, all confirmed."""
    return upgrades.write(path, AFTER, workloads=BEFORE)


def calm(path: Path) -> Path:
    """Nothing changes, in cells of which none ever ran."""
    return upgrades.write(path, {}, workloads=CALM)


def mixed(path: Path) -> Path:
    """The same workloads on a CPU, where they ran, and for a card that is not there."""
    on_cpu = replace(seed.POINTWISE, name=GATE.name, variants=(("default", {}, False),))
    return upgrades.write(path, {}, workloads=(on_cpu, GATE, *CALM))


SCENARIOS = {"codegen": codegen, "codegen_calm": calm, "mixed": mixed}
