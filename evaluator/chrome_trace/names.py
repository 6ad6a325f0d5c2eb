"""Names of kernels as a trace has them, where C++ templates are written out: what is short of them, and where one is from."""

from __future__ import annotations

import re
from typing import Final

_OPENING, _CLOSING = "<([{", ">)]}"
_ANONYMOUS: Final = "(anonymous namespace)"
# By the name alone, first match counts; what matches none is not known.
_ORIGINS: Final[tuple[tuple[str, re.Pattern[str]], ...]] = (
    ("Triton", re.compile(r"^triton_")),
    ("cuDNN", re.compile(r"cudnn|_(fprop|dgrad|wgrad)_", re.IGNORECASE)),
    ("NCCL", re.compile(r"^nccl", re.IGNORECASE)),
    ("attention", re.compile(r"flash_(fwd|bwd)|^fmha_|\bpytorch_flash::|\bPyTorchMemEffAttention::")),
    ("aten", re.compile(r"\bat::(native|cuda)::|^at_cuda_detail::")),
    ("CUB, Thrust", re.compile(r"\b(cub|thrust)::")),
    # Of its own, or as cuBLAS brings it along.
    ("CUTLASS", re.compile(r"cutlass", re.IGNORECASE)),
    ("cuBLAS", re.compile(r"cublas|nvjet|gemm|gemv|splitKreduce|_xmma_|\btrsm|\bsyrk", re.IGNORECASE)),
)


def short(name: str) -> str:
    """A function without its return type, template arguments and parameters: ``at::native::vectorized_elementwise_kernel`` of
    ``void at::native::vectorized_elementwise_kernel<4, ...>(int, ...)``. A plain name, and one that can't be taken apart,
    stays as it is."""
    kept: list[str] = []
    depth = 0
    for letter in name.replace(_ANONYMOUS, "\0"):
        if letter in _OPENING:
            depth += 1
        elif letter in _CLOSING:
            depth -= 1
            if depth < 0:
                return name
        elif depth == 0:
            kept.append(letter)
    words = "".join(kept).replace("\0", _ANONYMOUS.replace(" ", "\0")).split()
    words = [word.replace("\0", " ") for word in words]
    # A kernel returns nothing.
    if words[:1] == ["void"]:
        del words[0]
    return words[0] if len(words) == 1 and depth == 0 else name


def origin(name: str) -> str | None:
    """Which library or compiler a kernel is from, told by its name: Triton, aten, cuBLAS, cuDNN, ...; None: not known."""
    return next((word for word, known in _ORIGINS if known.search(name)), None)
