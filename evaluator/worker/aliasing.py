"""Which outputs share memory with an input, with the module's own tensors, or with another output."""

from __future__ import annotations

import torch

from evaluator.worker.owned import Owned
from evaluator.worker.trees import Leaf, Tree
from evaluator.worker.values import plain


def find_aliases(tree: Tree, inputs: dict[str, Leaf], owned: Owned) -> tuple[tuple[str, str], ...]:
    """Pairs of an output leaf and the first input, state tensor or earlier output whose memory it overlaps."""
    known = [(path, leaf.value) for path, leaf in inputs.items() if leaf.kind == "tensor"]
    known += [(f"state.{name}", tensor) for name, tensor in {**owned.parameters, **owned.buffers}.items()]
    spans: dict[int, list[tuple[int, int, str]]] = {}
    for path, tensor in known:
        span = _span(tensor)
        if span is not None:
            spans.setdefault(span[0], []).append((span[1], span[2], path))
    found = []
    for path, tensor in tree.tensors():
        span = _span(tensor)
        if span is None:
            continue
        others = spans.setdefault(span[0], [])
        found += [(path, other) for first, last, other in others if span[1] <= last and first <= span[2]][:1]
        others.append((span[1], span[2], path))
    return tuple(found)


def _span(tensor: torch.Tensor) -> tuple[int, int, int] | None:
    """Storage address and the first and last byte a dense tensor touches in it; None for what has no memory."""
    if tensor.layout != torch.strided or tensor.is_meta or tensor.numel() == 0:
        return None
    try:
        dense = plain(tensor)
        address = dense.untyped_storage().data_ptr()
    except (RuntimeError, NotImplementedError):  # a wrapper subclass without storage of its own
        return None
    size = dense.element_size()
    first = dense.storage_offset() * size
    reach = sum((length - 1) * step for length, step in zip(dense.shape, dense.stride(), strict=True))
    return address, first, first + (reach + 1) * size - 1
