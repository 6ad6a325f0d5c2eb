"""The plain tensors that a tensor of another kind is made of, so that it can be compared by them."""

from __future__ import annotations

from typing import Any, Final

import torch
from torch.utils._python_dispatch import is_traceable_wrapper_subclass

_ROWS: Final = (torch.sparse_csr, torch.sparse_bsr)
_COLUMNS: Final = (torch.sparse_csc, torch.sparse_bsc)
_PER_TENSOR: Final = (torch.per_tensor_affine, torch.per_tensor_symmetric)

Parts = list[tuple[str, Any]]


def unreadable_reason(tensor: torch.Tensor) -> str | None:
    """Why a tensor's elements can't be copied and compared as dense ones, or None if they can."""
    if tensor.is_nested:
        return "a nested tensor is not compared element by element"
    if tensor.layout != torch.strided:
        return f"a {str(tensor.layout).removeprefix('torch.')} tensor is not compared element by element"
    if tensor.is_quantized:
        return "a quantised tensor is not compared element by element"
    if tensor.is_meta:
        return "a meta tensor has no values"
    return None


def tensor_parts(tensor: torch.Tensor) -> Parts | None:
    """(path suffix, part) of what a tensor that is no dense one is made of; None where it has no parts to read.

    Of a wrapper subclass its own tensors. Of a sparse one indices and values (a COO's in order first), of a quantised
    one the integers with scale and zero point, of a nested one its tensors; the shape and layout where the parts leave
    them open.
    """
    if is_traceable_wrapper_subclass(tensor):
        return [(f".{name}", getattr(tensor, name)) for name in tensor.__tensor_flatten__()[0]]
    if tensor.is_meta:
        return None
    with torch.no_grad():
        plain = tensor.detach()
        if plain.is_nested:
            return [(f"[{index}]", part) for index, part in enumerate(plain.unbind())]
        if plain.layout == torch.strided:
            return _quantised(plain) if plain.is_quantized else None
        shape = [(".shape", plain.shape), (".layout", plain.layout)]
        if plain.layout == torch.sparse_coo:
            ordered = plain.coalesce()
            return [(".indices", ordered.indices()), (".values", ordered.values()), *shape]
        if plain.layout in _ROWS:
            indices: Parts = [(".crow_indices", plain.crow_indices()), (".col_indices", plain.col_indices())]
        elif plain.layout in _COLUMNS:
            indices = [(".ccol_indices", plain.ccol_indices()), (".row_indices", plain.row_indices())]
        else:
            # MKL-DNN's layout has no parts, and torch turns it into a dense tensor.
            return [(".dense", plain.to_dense())]
        return [*indices, (".values", plain.values()), *shape]


def _quantised(tensor: torch.Tensor) -> Parts:
    scheme = tensor.qscheme()
    parts: Parts = [(".int_repr", tensor.int_repr())]
    if scheme in _PER_TENSOR:
        parts += [(".q_scale", tensor.q_scale()), (".q_zero_point", tensor.q_zero_point())]
    else:
        parts += [
            (".q_per_channel_scales", tensor.q_per_channel_scales()),
            (".q_per_channel_zero_points", tensor.q_per_channel_zero_points()),
            (".q_per_channel_axis", tensor.q_per_channel_axis()),
        ]
    return [*parts, (".dtype", tensor.dtype)]
