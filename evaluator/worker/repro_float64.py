"""The float64 run of a reproduction script: the reference that the accuracy probe had, in a few lines.

It stands in the script above `evaluator.worker.repro`, by the same rules. Casting the module and its inputs is not
enough: a norm that casts to float32 inside, as most models' do, would round there, and be called exact.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import torch
import torch.utils._python_dispatch
import torch.utils._pytree

REPRO_WIDER = {
    torch.float16: torch.float64,
    torch.bfloat16: torch.float64,
    torch.float32: torch.float64,
    torch.complex32: torch.complex128,
    torch.complex64: torch.complex128,
}


class ReproInFloat64(torch.utils._python_dispatch.TorchDispatchMode):
    """Widens the dtypes that operators are asked for, and the narrower floats that they only read."""

    supports_higher_order_operators = True

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        schema = getattr(func, "_schema", None)
        # An operator over functions (`torch.cond`) declares no arguments.
        if schema is None:
            return func(*args, **kwargs)
        declared = {one.name: one for one in schema.arguments}
        wide = [self.argument(one, value) for one, value in zip(schema.arguments, args, strict=False)]
        return func(*wide, **{name: self.argument(declared[name], value) for name, value in kwargs.items()})

    def argument(self, declared: Any, value: Any) -> Any:
        """One argument; what is written to, or seen through the result, stays as it is."""
        if isinstance(value, torch.dtype):
            return REPRO_WIDER.get(value, value)
        if declared.alias_info is not None:
            return value
        return torch.utils._pytree.tree_map_only(torch.Tensor, repro_widened, value)


@contextlib.contextmanager
def repro_in_float64() -> Iterator[None]:
    """Inside, operators compute in float64, and a float tensor made without a dtype is float64. Nothing compiles."""
    default = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        with torch.compiler.set_stance("force_eager"), ReproInFloat64():
            yield
    finally:
        torch.set_default_dtype(default)


def repro_widened(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.to(REPRO_WIDER[tensor.dtype]) if tensor.dtype in REPRO_WIDER else tensor


@contextlib.contextmanager
def repro_wide(tensors: list[torch.Tensor]) -> Iterator[None]:
    """Inside, these are float64: the same objects, whatever holds them. What was there is put back."""
    narrow = [(tensor, tensor.data) for tensor in tensors if tensor.dtype in REPRO_WIDER]
    try:
        for tensor, data in narrow:
            tensor.grad = None
            tensor.data = data.to(REPRO_WIDER[data.dtype])
        yield
    finally:
        for tensor, data in narrow:
            tensor.grad = None
            tensor.data = data


def repro_to_float64(value: Any) -> Any:
    """The same tree with float tensors in float64 and complex ones in complex128."""
    if isinstance(value, torch.Tensor):
        if not (value.is_floating_point() or value.is_complex()):
            return value
        dtype = torch.complex128 if value.is_complex() else torch.float64
        return value.detach().to(dtype).requires_grad_(value.requires_grad)
    if isinstance(value, dict):
        return {key: repro_to_float64(item) for key, item in value.items()}
    if type(value) in (list, tuple):
        return type(value)(repro_to_float64(item) for item in value)
    return value
