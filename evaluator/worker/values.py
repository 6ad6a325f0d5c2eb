"""One leaf's value taken out of a call: a copy that no later call can overwrite, and when two are the same."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any

import torch

from evaluator.worker.trees import Leaf, type_name


@dataclass(frozen=True)
class Value:
    """One leaf as it was: a plain dense CPU tensor for tensors and arrays, else the Python value itself.

    ``shape`` and ``stride`` are in elements; ``dtype`` is a name as in ``float32``. An opaque leaf keeps only
    its type's name and why (``value``).
    """

    path: str
    kind: str
    value: Any
    dtype: str
    type_name: str
    shape: tuple[int, ...] | None = None
    stride: tuple[int, ...] | None = None
    storage_offset: int = 0
    requires_grad: bool = False
    device: str = ""


def copy_leaf(leaf: Leaf) -> Value:
    """A copy of the leaf as it is now, tensors and arrays on the CPU."""
    if leaf.opaque is not None:
        name = leaf.opaque.type_name
        return Value(leaf.path, "opaque", (name, leaf.opaque.reason), "opaque", name)
    if leaf.kind == "tensor":
        return _copy_tensor(leaf.path, leaf.value)
    if leaf.kind == "array":
        return _copy_array(leaf)
    return Value(leaf.path, "scalar", leaf.value, type(leaf.value).__name__, type_name(leaf.value))


def _copy_tensor(path: str, tensor: torch.Tensor) -> Value:
    dense = plain(tensor)
    with torch.no_grad():
        # A lazy conjugate or negation is part of the value, so it is carried out; ``clone`` alone keeps the bit.
        copied = dense.resolve_conj().resolve_neg().to("cpu").clone()
    return Value(
        path=path,
        kind="tensor",
        value=copied,
        dtype=str(tensor.dtype).removeprefix("torch."),
        type_name=type_name(tensor),
        shape=tuple(dense.shape),
        stride=tuple(dense.stride()),
        storage_offset=int(dense.storage_offset()),
        requires_grad=bool(tensor.requires_grad),
        device=str(dense.device),
    )


def _copy_array(leaf: Leaf) -> Value:
    array = leaf.value
    numpy = sys.modules["numpy"]
    held: Any
    try:
        # ``copy`` first: torch takes no array of negative strides, and must not share memory with the workload.
        held = torch.from_numpy(numpy.array(array, copy=True, order="C"))
    except (TypeError, ValueError):  # strings, dates, records
        held = array.tolist()
    itemsize = array.dtype.itemsize or 1
    return Value(
        path=leaf.path,
        kind="array",
        value=held,
        dtype=str(array.dtype),
        type_name=type_name(array),
        shape=tuple(array.shape),
        stride=tuple(step // itemsize for step in array.strides),
    )


def same_value(one: Value, other: Value) -> bool:
    """Whether two leaves hold the same elements: bit for bit, or for floats equal with NaN in the same places."""
    if one.kind != other.kind or one.dtype != other.dtype or one.shape != other.shape:
        return False
    if isinstance(one.value, torch.Tensor):
        return same_elements(one.value, other.value)
    if isinstance(one.value, (float, complex)) and one.value != one.value:
        return repr(one.value) == repr(other.value)
    return type(one.value) is type(other.value) and bool(one.value == other.value)


def same_elements(one: torch.Tensor, other: torch.Tensor) -> bool:
    """`same_value` of two dense CPU tensors of one dtype and shape. -0.0 and 0.0 are the same."""
    if one.is_floating_point() or one.is_complex():
        if one.element_size() == 1:
            # The 8-bit floats have no comparison of their own.
            one, other = one.float(), other.float()
        if torch.equal(one, other):
            return True
        return bool(((one == other) | ((one != one) & (other != other))).all())
    return torch.equal(as_bytes(one), as_bytes(other))


def as_bytes(tensor: torch.Tensor) -> torch.Tensor:
    """The elements in order as a flat uint8 tensor, for any dtype."""
    return tensor.contiguous().reshape(-1).view(torch.uint8)


def plain(tensor: torch.Tensor) -> torch.Tensor:
    """The same memory as a plain detached tensor, whatever subclass it is."""
    with torch.no_grad(), torch._C.DisableTorchFunctionSubclass():
        return tensor.detach().as_subclass(torch.Tensor)
