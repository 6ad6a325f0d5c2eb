"""Names of kernels as a trace has them, where C++ templates are written out: what is short of them, and where one is from."""

from __future__ import annotations

import re
from typing import Final

_OPENING, _CLOSING = "<([{", ">)]}"
_ANONYMOUS: Final = "(anonymous namespace)"
# The last part of a name in somebody's namespace; the standard library's containers and c10's number types tell nothing.
_TELLING: Final = re.compile(r"(?<![\w:])(?!(?:std|c10)::)(?:[\w\0]+::)+(\w+)")
_MOST_TOLD: Final = 3
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
    """A function without its return type, parameters and aten's namespace, and of its template arguments the first few names
    that tell it from others: ``vectorized_elementwise_kernel<CUDAFunctor_add>`` of ``void
    at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, ...>(int, ...)``. A plain name, and one that
    can't be taken apart, stays as it is."""
    kept: list[str] = []
    arguments: list[str] = []
    open_: list[str] = []
    for letter in name.replace(_ANONYMOUS, "\0"):
        if letter in _OPENING:
            open_.append(letter)
        elif letter in _CLOSING:
            if not open_:
                return name
            open_.pop()
        elif not open_:
            kept.append(letter)
        if open_ and open_[0] == "<":
            arguments.append(letter)
    words = "".join(kept).split()
    # A kernel returns nothing.
    if words[:1] == ["void"]:
        del words[0]
    if len(words) != 1 or open_:
        return name
    told = list(dict.fromkeys(_TELLING.findall("".join(arguments))))[:_MOST_TOLD]
    function = words[0].replace("\0::", "").removeprefix("at::native::").replace("\0", _ANONYMOUS)
    return function + (f"<{', '.join(told)}>" if told else "")


def origin(name: str) -> str | None:
    """Which library or compiler a kernel is from, told by its name: Triton, aten, cuBLAS, cuDNN, ...; None: not known."""
    return next((word for word, known in _ORIGINS if known.search(name)), None)
