"""What of a leaf is kept for good: a hash of its bytes and a few of its values, so that versions can be compared."""

from __future__ import annotations

import ctypes
import hashlib
import math
from typing import Any, Final

import torch

from evaluator.worker.values import Value, as_bytes

# Enough to see what kind of difference two versions have (one element, a shift, a scale), small enough to store.
SAMPLE_SIZE: Final = 16


def digest(value: Value) -> dict[str, Any]:
    """``leaf``, ``dtype``, ``shape``, ``stride``, ``type``, ``sha256`` and ``sample`` of one leaf, JSON-safe.

    ``sha256`` covers the elements in logical order, so that a stride alone doesn't change it; of a Python value
    it covers the ``repr``. ``sample`` are up to 16 evenly spaced elements, the first and the last among them;
    a complex one gives its real and its imaginary part. An opaque leaf has neither.
    """
    known = {
        "leaf": value.path,
        "dtype": value.dtype,
        "shape": list(value.shape) if value.shape is not None else None,
        "stride": list(value.stride) if value.stride is not None else None,
        "type": value.type_name,
    }
    if value.kind == "opaque":
        return {**known, "sha256": None, "sample": None, "reason": value.value[1]}
    if isinstance(value.value, torch.Tensor):
        return {**known, "sha256": _sha256(value.value), "sample": sample(value.value)}
    text = hashlib.sha256(repr(value.value).encode()).hexdigest()
    number = isinstance(value.value, (bool, int, float)) and not isinstance(value.value, torch.SymInt)
    return {**known, "sha256": text, "sample": [json_number(value.value)] if number else None}


def sample(tensor: torch.Tensor) -> list[Any]:
    """Up to `SAMPLE_SIZE` elements at evenly spaced positions of the flattened tensor, as JSON-safe numbers."""
    flat = tensor.reshape(-1)
    count = flat.numel()
    taken = min(count, SAMPLE_SIZE)
    positions = sorted({round(step * (count - 1) / max(taken - 1, 1)) for step in range(taken)})
    picked = [flat[position] for position in positions]
    if tensor.is_complex():
        return [json_number(part) for one in picked for part in (one.real.item(), one.imag.item())]
    return [json_number(one.float().item() if one.is_floating_point() else one.item()) for one in picked]


def json_number(value: float | int | None) -> float | int | str | None:
    """The number, or where JSON has none for it: "nan", "inf", "-inf". None stays None."""
    if isinstance(value, float) and not math.isfinite(value):
        return "nan" if math.isnan(value) else ("inf" if value > 0 else "-inf")
    return value


def _sha256(tensor: torch.Tensor) -> str:
    flat = as_bytes(tensor)
    if flat.numel() == 0:
        return hashlib.sha256().hexdigest()
    # A view of the memory, without numpy and without a copy.
    buffer = (ctypes.c_char * flat.numel()).from_address(flat.data_ptr())
    return hashlib.sha256(buffer).hexdigest()
