"""Inductor's options that need the card itself: what would be generated with them can't be known without it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from typing import Any, Final

from evaluator.worker.errors import Unsupported
from evaluator.worker.targets.codegen import internals

_TIMES: Final = "chooses code by timing it on the card"
# Option -> what it does. One that a version lacks is off there.
_NEEDS_CARD: Final[Mapping[str, str]] = {
    "max_autotune": _TIMES,
    "max_autotune_pointwise": _TIMES,
    "max_autotune_gemm": _TIMES,
    "coordinate_descent_tuning": _TIMES,
    "benchmark_fusion": _TIMES,
    "benchmark_combo_kernel": _TIMES,
    "combo_kernel_compile_time_autotune": _TIMES,
    "triton.multi_kernel": _TIMES,
    "triton.mix_order_reduction_autotune_split_size": _TIMES,
    "triton.autotune_at_compile_time": _TIMES,
    "triton.cudagraphs": "records CUDA graphs on the card",
    "cpp_wrapper": "calls kernels from C++ that is built where the card is",
}
_BACKEND: Final = "cuda_backend"
_TRITON: Final = "triton"


def refuse(own: Mapping[str, Any]) -> None:
    """Raise Unsupported where an option of ``torch.compile``, or else Inductor's configuration, needs the card."""
    options = {name.replace("-", "_"): value for name, value in own.items()}
    for name, does in _NEEDS_CARD.items():
        if options.get(name, _configured(name)):
            raise Unsupported(f"{name} {does}")
    backend = options.get(_BACKEND, _configured(_BACKEND) or _TRITON)
    if backend != _TRITON:
        raise Unsupported(f"{_BACKEND} is {backend!r}, and this target reads Triton's kernels")


def _configured(name: str) -> Any:
    config = internals.get_module("torch._inductor.config")
    return reduce(lambda part, one: getattr(part, one, None), name.split("."), config)
