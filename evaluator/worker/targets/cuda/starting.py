"""What the first work of a process on a GPU pays once and no compile should be charged for: context, library handles."""

from __future__ import annotations

import importlib
import time
from collections.abc import Callable, Iterable
from typing import Any, Final

import torch

# What cuBLAS and cuDNN compute in; with other types a workload calls neither, or not with these alone.
_LIBRARY_DTYPES: Final = (torch.float16, torch.bfloat16, torch.float32, torch.float64)
# What a first compile for a GPU imports besides what every compile does; a version that lacks one does without.
_COMPILER_MODULES: Final = (
    "torch._inductor.codegen.cuda_combined_scheduling",
    "torch._inductor.codegen.triton",
    "torch._inductor.cudagraph_trees",
    "torch._inductor.runtime.triton_heuristics",
    "triton.backends.nvidia.compiler",
    "triton.compiler.compiler",
    "triton.runtime.autotuner",
)
# A multiple of what tensor cores and vector loads want.
_SIDE: Final = 16


def make_context() -> float:
    """Seconds from the first touch of CUDA to the end of a first kernel; raises what torch raises without a device.

    Tells the truth only as the first thing that a process does on the device.
    """
    started = time.perf_counter()
    torch.cuda.init()
    torch.ones(1, device="cuda").add_(1)
    torch.cuda.synchronize()
    return time.perf_counter() - started


def make_triton() -> float | None:
    """Seconds to import Inductor's GPU half and to have Triton's driver ready, a small C library that it builds into an
    empty cache; None without Triton. Raises what Triton raises, for want of a C compiler or a device."""
    started = time.perf_counter()
    for name in _COMPILER_MODULES:
        try:
            importlib.import_module(name)
        except ImportError:
            continue
    try:
        driver = importlib.import_module("triton.runtime.driver")
    except ImportError:
        return None
    driver.driver.active.get_current_target()
    return time.perf_counter() - started


def make_handles(tensors: Iterable[torch.Tensor], *, training: bool) -> dict[str, list[str]]:
    """Have cuBLAS, cuBLASLt and cuDNN ready for the devices and float types of these tensors, by a small product and a
    small convolution of ones; no random generator moves.

    ``training``: backward too, since autograd's thread has handles of its own. Returns ``warmed`` (type and library) and
    ``refused``: what a library does not do in a type here, which is none of the workload's faults.
    """
    used = {(tensor.device, tensor.dtype) for tensor in tensors if tensor.dtype in _LIBRARY_DTYPES}
    found: dict[str, list[str]] = {"warmed": [], "refused": []}
    for device, dtype in sorted(used, key=str):
        for name, call in _CALLS.items():
            try:
                call(device=device, dtype=dtype, training=training)
            except RuntimeError:
                # An error that lasts comes again at the wait below, and is raised there.
                kind = "refused"
            else:
                kind = "warmed"
            found[kind].append(f"{name} {str(dtype).removeprefix('torch.')}")
    if any(device.type == "cuda" for device, _ in used):
        torch.cuda.synchronize()
    return found


def _product(*, device: torch.device, dtype: torch.dtype, training: bool) -> None:
    square = torch.ones(_SIDE, _SIDE, device=device, dtype=dtype, requires_grad=training)
    with torch.set_grad_enabled(training):
        plain = torch.mm(square, square)
        # With a bias the product goes to cuBLASLt, which has a handle and a workspace of its own.
        biased = torch.addmm(square[0], square, plain)
        if training:
            torch.autograd.grad(biased.sum(), square)


def _convolution(*, device: torch.device, dtype: torch.dtype, training: bool) -> None:
    image = torch.ones(1, _SIDE, 8, 8, device=device, dtype=dtype)
    weight = torch.ones(_SIDE, _SIDE, 3, 3, device=device, dtype=dtype, requires_grad=training)
    with torch.set_grad_enabled(training):
        made = torch.nn.functional.conv2d(image, weight)
        if training:
            torch.autograd.grad(made.sum(), weight)


_CALLS: Final[dict[str, Callable[..., Any]]] = {"product": _product, "convolution": _convolution}
