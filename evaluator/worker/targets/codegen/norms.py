"""Root-mean-square norm as the card would run it: an operator with a backward of its own, and not what it is made of.

Source: ``rms_norm_symint`` in ``aten/src/ATen/native/layer_norm.cpp`` and ``_fused_rms_norm`` in
``native_functions.yaml`` and ``derivatives.yaml`` of torch 2.11 to 2.14. CUDA has a kernel of it, so that autograd
records one operator; a CPU has none, and autograd records the products and sums it is made of. Inductor takes both
the operator and its backward apart by its own table, and calls kernels after them.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any, Final

import torch

from evaluator.worker.targets.codegen import internals
from evaluator.worker.targets.codegen.dispatching import as_torch_does, taken_apart

_NORM: Final = "torch.ops.aten:rms_norm.default"
_FUSED: Final = "torch.ops.aten:_fused_rms_norm.default"
_FUSED_BACKWARD: Final = "torch.ops.aten:_fused_rms_norm_backward.default"


@contextlib.contextmanager
def of_card() -> Iterator[None]:
    """Inside, the norm is traced as the card's operator."""
    with taken_apart(internals.get(_NORM), _norm):
        yield


def _norm(
    x: torch.Tensor, normalized_shape: Any, weight: torch.Tensor | None = None, eps: float | None = None
) -> torch.Tensor:
    if _made_of_others(x, weight):
        made: torch.Tensor = as_torch_does(internals.get(_NORM), x, normalized_shape, weight, eps)
        return made
    with internals.get("torch._functorch.autograd_function:enable_single_level_autograd_function")():
        out: torch.Tensor = _Fused.apply(x, normalized_shape, weight, eps)[0]
    return out


def _made_of_others(x: torch.Tensor, weight: torch.Tensor | None) -> bool:
    """Whether the dispatcher leaves the fused operator alone, on every device."""
    if x.is_complex() or (weight is not None and weight.dtype != x.dtype):
        return True
    last = (torch.channels_last, torch.channels_last_3d)
    return internals.get("torch._prims_common:suggest_memory_format")(x) in last


def _by_table(place: str, *args: Any) -> Any:
    """What Inductor's table makes of an operator, with the operator as the origin of its nodes."""
    operator = internals.get(place)
    origin = internals.get("torch.fx.experimental.proxy_tensor:set_original_aten_op")
    table = internals.get("torch._inductor.decomposition:select_decomp_table")()
    with origin(operator):
        return table[operator](*args)


class _Fused(torch.autograd.function._SingleLevelFunction):
    """The operator with its backward. Of one level: under ``torch.func`` it is called once in each by the dispatcher."""

    @staticmethod
    def forward(
        x: torch.Tensor, normalized_shape: Any, weight: torch.Tensor | None, eps: float | None
    ) -> tuple[torch.Tensor, torch.Tensor]:
        out, rstd = _by_table(_FUSED, x, normalized_shape, weight, eps)
        return out, rstd

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[torch.Tensor, ...]) -> None:
        x, ctx.normalized_shape, weight, _ = inputs
        ctx.mark_non_differentiable(output[1])
        ctx.save_for_backward(x, weight, output[1])

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> tuple[Any, ...]:
        x, weight, rstd = ctx.saved_tensors
        wanted = [ctx.needs_input_grad[0], weight is not None and ctx.needs_input_grad[2]]
        found = _by_table(_FUSED_BACKWARD, grads[0], x, ctx.normalized_shape, rstd, weight, wanted)
        return found[0], None, found[1], None
