"""The graph as the CPU runs it: what only a card can run is computed there in another way, with the same meaning.

Nothing that comes out of it is claimed for the card. It lets the workload go on, with real numbers, to its next
graph, its next recompile and its backward.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Final

import torch

from evaluator.worker.targets.codegen import host_attention, user_kernels


def on_cpu(graph_module: Any, not_run: user_kernels.NotRun) -> Any:
    """A callable that runs the graph on CPU tensors: the module itself, or a copy without what the CPU lacks.

    ``not_run`` hears, at each launch, of a kernel of the workload's own that could not be run here either.
    """
    launches = user_kernels.launches(graph_module.graph)
    replaced = {}
    for node in graph_module.graph.nodes:
        with_what = _replaced(node)
        if with_what is None and launches:
            with_what = user_kernels.replaced(node, not_run) or user_kernels.written(node)
        if with_what is not None:
            replaced[node] = with_what
    if not replaced:
        return graph_module
    graph = torch.fx.Graph()
    copies: dict[Any, Any] = {}
    output = graph.graph_copy(graph_module.graph, copies)
    graph.output(output)
    for node, replacement in replaced.items():
        copies[node].target = functools.partial(replacement, _layouts(node))
        copies[node].target.__name__ = node.name
    return torch.fx.Interpreter(torch.fx.GraphModule(graph_module, graph)).run


def _replaced(node: Any) -> Callable[..., Any] | None:
    if node.op != "call_function":
        return None
    name = getattr(node.target, "_name", "")
    if name in _KEEP_RANDOMNESS:
        # Checkpointing runs the operator that it is given, which is one of its arguments.
        place, around = _KEEP_RANDOMNESS[name]
        inner = host_attention.REPLACED.get(getattr(node.args[place], "_name", ""))
        return None if inner is None else functools.partial(around, inner)
    return host_attention.REPLACED.get(name)


def _saving(inner: Callable[..., Any], layouts: Any, operator: Any, *args: Any, **kwargs: Any) -> Any:
    state = torch.get_rng_state()
    # Beside the generator's state; a graph need not say what the operator gives.
    of_outputs = layouts[1] if len(layouts) > 1 and isinstance(layouts[1], list) else [None]
    return state, inner(of_outputs, *args, **kwargs)


def _restoring(
    inner: Callable[..., Any], layouts: Any, state: torch.Tensor, operator: Any, *args: Any, **kwargs: Any
) -> Any:
    now = torch.get_rng_state()
    torch.set_rng_state(state)
    try:
        return inner(layouts, *args, **kwargs)
    finally:
        torch.set_rng_state(now)


# Which argument of these is the operator, and what runs one in its place.
_KEEP_RANDOMNESS: Final[dict[str, tuple[int, Callable[..., Any]]]] = {
    "run_and_save_rng_state": (0, _saving),
    "run_with_rng_state": (1, _restoring),
}


def _layouts(node: Any) -> list[Any]:
    """For each output that is a tensor, its dimensions from the one that varies slowest; None for the others."""
    return _orders(node.meta.get("val"))


def _orders(value: Any) -> list[Any]:
    values = value if isinstance(value, (tuple, list)) else [value]
    return [
        _orders(one)
        if isinstance(one, (tuple, list))
        else _order(one)
        if isinstance(one, torch.Tensor)
        else None
        for one in values
    ]


def _order(tensor: torch.Tensor) -> tuple[int, ...] | None:
    strides = tensor.stride()
    if not all(isinstance(stride, int) for stride in strides):
        # The graph was traced for any size: its strides are symbols, and the order that matters is theirs.
        strides = tuple(_hint(stride) for stride in strides)
    return tuple(sorted(range(tensor.dim()), key=lambda axis: -strides[axis]))


def _hint(size: Any) -> int:
    node = getattr(size, "node", None)
    return int(size) if node is None else int(node.hint)
