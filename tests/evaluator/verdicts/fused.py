"""``silu(x + y) * (x - y)`` on 512x512 float32 as kernels of a card that is not there, with numbers of hand arithmetic.

A tensor is 512 x 512 x 4 = 1,048,576 bytes. In one kernel two are read and one is written: 3 of them. In two kernels
``silu(x + y)`` reads two and writes one, and the product reads that one, x and y and writes one: 3 + 4 of them.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from evaluator.verdicts.sides import Build, CellName, KernelUse, Pair, Side
from tests.evaluator.verdicts.given import candidate, kernel, pair, side

TENSOR = 512 * 512 * 4
TARGET = "codegen:h100"


def build(**changes: Any) -> Build:
    start: dict[str, Any] = {
        "id": 1,
        "registers": 22,
        "spill_stores": 0,
        "spill_loads": 0,
        "stack": 0,
        "shared": 0,
        "cubin_bytes": 9800,
        "sass_hash": "machine code",
        "error": None,
    }
    return Build(**(start | changes))


def refused(why: str = "ptxas: too much shared data") -> Build:
    numbers = dict.fromkeys(("registers", "spill_stores", "spill_loads", "stack", "shared", "cubin_bytes"))
    return build(**numbers, sass_hash=None, error=why)


def accident(how: str = "not built: no end within 120 s") -> Build:
    return refused(how)


def triton(name: str, tensors: int | None, body: str | None = None, **changes: Any) -> KernelUse:
    """A Triton kernel that moves so many tensors of 512x512 float32, built without a spill."""
    start: dict[str, Any] = {
        "kind": "triton",
        "form": "pointwise",
        "launch_hash": "launch",
        "bytes_moved": None if tensors is None else tensors * TENSOR,
        "build": build(),
    }
    return kernel(name, body or f"body of {name}", **(start | changes))


FUSED = triton("triton_poi_fused_add_mul_silu_sub_0", 3, id=31)
SPLIT = (
    triton("triton_poi_fused_add_silu_0", 3, id=41),
    triton("triton_poi_fused_mul_sub_1", 4, id=42),
)
EXTERN = kernel("extern_kernels.mm", None)


def with_build(one: KernelUse, **changes: Any) -> KernelUse:
    return replace(one, build=build(**changes))


def base_of(*kernels: KernelUse, **changes: Any) -> Side:
    return side(kernels=kernels, accuracy=None, **changes)


def candidate_of(*kernels: KernelUse, **changes: Any) -> Side:
    return candidate(kernels=kernels, accuracy=None, **changes)


def codegen(base: Side | None, other: Side | None, workload: str = "pack.work", **changes: Any) -> Pair:
    cell = CellName(workload, "n=4", "default", TARGET)
    return replace(pair(base, other, workload, **changes), cell=cell)
