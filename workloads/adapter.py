"""What `registry.module_workload` builds with: any module factory and sample inputs, as `build` and `inputs`.

These two functions also go, as text, into a workload's stand-alone source, so they use torch and nothing of ours.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.utils import _pytree as pytree


def build_from_factory(factory: Callable[[], Any], training: bool, target: Any) -> Any:
    """The factory's module on the target's device, in train mode if the workload trains, else in eval mode."""
    module = factory().to(target.device)
    return module.train() if training else module.eval()


def inputs_from_sample(
    sample_inputs: Callable[..., Any], bucket: dict[str, Any], target: Any
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """What `sample_inputs(**bucket)` returns, on the target's device, as (args, kwargs).

    A tuple or list is the positional arguments, a dict the keyword arguments, anything else the one argument.
    Tensors are made on the CPU and moved, so that every device sees the same values; a leaf that asks for
    gradients stays a leaf.
    """

    def place(leaf: Any) -> Any:
        if not isinstance(leaf, torch.Tensor):
            return leaf
        return leaf.detach().to(target.device).requires_grad_(leaf.requires_grad)

    sample = pytree.tree_map(place, sample_inputs(**bucket))
    if isinstance(sample, dict):
        return (), sample
    if isinstance(sample, (tuple, list)):
        return tuple(sample), {}
    return (sample,), {}
