"""Tensors without data on the card and back: the twin of a fake tensor has its sizes, strides and dtype."""

from __future__ import annotations

from typing import Any, Final

import torch
from torch.utils import _pytree as pytree

from evaluator.worker.targets.codegen import internals

CARD: Final = torch.device("cuda", 0)
HOST: Final = torch.device("cpu")


def on_card(tree: Any) -> Any:
    """The tree with every fake CPU tensor and CPU device replaced by the card's."""
    return pytree.tree_map(lambda leaf: _moved(leaf, HOST, CARD), tree)


def on_host(tree: Any) -> Any:
    """The other way."""
    return pytree.tree_map(lambda leaf: _moved(leaf, CARD, HOST), tree)


def _moved(leaf: Any, source: torch.device, goal: torch.device) -> Any:
    if isinstance(leaf, torch.device):
        return goal if leaf.type == source.type else leaf
    fake = internals.get("torch._subclasses.fake_tensor:FakeTensor")
    if isinstance(leaf, fake) and leaf.device.type == source.type:
        return _twin(leaf, goal)
    return leaf


def _twin(tensor: Any, device: torch.device) -> Any:
    fake = internals.get("torch._subclasses.fake_tensor:FakeTensor")
    inside = internals.get("torch._subclasses.fake_tensor:in_kernel_invocation_manager")
    offset = tensor.storage_offset()
    with inside(tensor.fake_mode):
        if isinstance(offset, int) and offset != 0:
            # Whether an access is aligned is decided by it. (Asking a symbol would add a guard.)
            elements = tensor.untyped_storage().nbytes() // tensor.element_size()
            storage = torch.empty((elements,), dtype=tensor.dtype, device="meta")
            meta = storage.as_strided(tensor.size(), tensor.stride(), offset)
        else:
            meta = torch.empty_strided(tensor.size(), tensor.stride(), dtype=tensor.dtype, device="meta")
    return fake(tensor.fake_mode, meta, device)
