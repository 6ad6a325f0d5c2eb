"""Cells of recurrent networks, which are taken apart in C++ by where the data lies: what the card would run is not made."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any, Final

from evaluator.worker.errors import Unsupported
from evaluator.worker.targets.codegen import internals
from evaluator.worker.targets.codegen.dispatching import taken_apart

# By aten/src/ATen/native/RNN.cpp: on CUDA each becomes one operator, with a backward of its own.
_CELLS: Final = {
    "torch.ops.aten:lstm_cell.default": "_thnn_fused_lstm_cell",
    "torch.ops.aten:gru_cell.default": "_thnn_fused_gru_cell",
}


@contextlib.contextmanager
def refused() -> Iterator[None]:
    """Inside, tracing such a cell raises Unsupported."""
    with contextlib.ExitStack() as stack:
        for place, fused in _CELLS.items():
            operator = internals.get(place)
            stack.enter_context(taken_apart(operator, _refusing(operator, fused)))
        yield


def _refusing(operator: Any, fused: str) -> Callable[..., Any]:
    def refuse(*_: Any, **__: Any) -> None:
        raise Unsupported(
            f"{operator.name()} is {fused} on the card and other operators on the CPU, where this target traces"
        )

    return refuse
