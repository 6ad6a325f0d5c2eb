"""What a graph is here and would not be on a card, where Dynamo's graph shows it for certain."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import torch

from evaluator.worker.targets.codegen import internals

_AUTOCAST: Final = "torch.amp.autocast_mode:_enter_autocast"
_CUDA_CASTS: Final = "autocast for cuda casts nothing here: this machine has no card"
_CPU_CASTS: Final = "autocast is the CPU's: it casts for other operators than a card's does"
_MOVES: Final = (
    "a tensor that the program moves to the CPU stays where it is: what follows is generated for the card"
)


def notes(graph_module: Any) -> list[str]:
    """What is to be said of a graph of Dynamo's, each once; the answers to ``x.is_cuda`` and the like are not in it."""
    return list(dict.fromkeys(note for node in _nodes(graph_module) if (note := _note(node)) is not None))


def _nodes(graph_module: Any) -> Iterator[Any]:
    for module in graph_module.modules():
        if isinstance(module, torch.fx.GraphModule):
            yield from module.graph.nodes


def _note(node: Any) -> str | None:
    if node.op == "call_function" and node.target is internals.get(_AUTOCAST) and node.args[2]:
        return {"cuda": _CUDA_CASTS, "cpu": _CPU_CASTS}.get(node.args[0])
    if node.op == "call_method" and node.target in ("cpu", "to"):
        # A device that the program took from a tensor is no text: on a card it would be the card.
        goals = (*node.args[1:], node.kwargs.get("device"))
        return (
            _MOVES
            if node.target == "cpu" or "cpu" in [one for one in goals if isinstance(one, str)]
            else None
        )
    return None
