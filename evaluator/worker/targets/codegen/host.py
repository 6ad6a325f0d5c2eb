"""The graph as the CPU runs it: what only a card can run is computed there in another way, with the same meaning.

Nothing that comes out of it is claimed for the card. It lets the workload go on, with real numbers, to its next
graph, its next recompile and its backward.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch

from evaluator.worker.targets.codegen import host_attention, user_kernels


def on_cpu(graph_module: Any) -> Any:
    """A callable that runs the graph on CPU tensors: the module itself, or a copy without what the CPU lacks."""
    if not any(_replaced(node) for node in graph_module.graph.nodes):
        return graph_module
    graph = torch.fx.Graph()
    copies: dict[Any, Any] = {}
    output = graph.graph_copy(graph_module.graph, copies)
    graph.output(output)
    for node, copy in copies.items():
        replacement = _replaced(node)
        if replacement is not None:
            copy.target = functools.partial(replacement, _layouts(node))
            copy.target.__name__ = node.name
    return torch.fx.Interpreter(torch.fx.GraphModule(graph_module, graph)).run


def _replaced(node: Any) -> Callable[..., Any] | None:
    if node.op != "call_function":
        return None
    return host_attention.REPLACED.get(getattr(node.target, "_name", "")) or user_kernels.replaced(node)


def _layouts(node: Any) -> list[tuple[int, ...] | None]:
    """For each output that is a tensor, its dimensions from the one that varies slowest; None for the others."""
    value = node.meta.get("val")
    values = value if isinstance(value, (tuple, list)) else [value]
    return [_order(one) if isinstance(one, torch.Tensor) else None for one in values]


def _order(tensor: torch.Tensor) -> tuple[int, ...] | None:
    strides = tensor.stride()
    if not all(isinstance(stride, int) for stride in strides):
        # The graph was traced for any size: its strides are symbols, and the order that matters is theirs.
        strides = tuple(_hint(stride) for stride in strides)
    return tuple(sorted(range(tensor.dim()), key=lambda axis: -strides[axis]))


def _hint(size: Any) -> int:
    node = getattr(size, "node", None)
    return int(size) if node is None else int(node.hint)
