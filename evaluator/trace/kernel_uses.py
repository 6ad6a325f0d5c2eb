"""The kernels of the graphs that a log holds, each with its graph and the pass that it belongs to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from evaluator.trace.compiles import Compile, compile_key
from evaluator.trace.kernels import Kernel, Origin, read_module
from evaluator.trace.log import Event, TraceLog


@dataclass(frozen=True)
class KernelUse:
    """A kernel in a graph: ``graph`` is the compile id, ``origin`` the pass (None if the code does not say)."""

    kernel: Kernel
    graph: str | None
    origin: Origin | None

    def as_dict(self) -> dict[str, Any]:
        """The kernel's fields with the graph and origin beside them."""
        return {
            **asdict(self.kernel),
            "choices": list(self.kernel.choices),
            "graph": self.graph,
            "origin": self.origin,
        }


def kernel_uses(
    log: TraceLog, events: Sequence[Event], compiles: Sequence[Compile]
) -> tuple[tuple[KernelUse, ...], tuple[str, ...]]:
    """The kernels of the graphs that compiled, and what could not be read of their code."""
    forward = {row.key: row for row in compiles if row.forward}
    failed_backward = {row.key for row in compiles if not row.forward and not row.succeeded}
    inference = {
        compile_key(event.compile_id)
        for event in events
        if event.kind == "aot_inference_graph" and event.compile_id is not None
    }
    uses: list[KernelUse] = []
    notes: list[str] = []
    for event in events:
        code = log.payload(event) if event.kind == "inductor_output_code" else None
        if code is None:
            continue
        module = read_module(code)
        notes += module.notes
        if event.compile_id is None:
            uses += [KernelUse(kernel, None, module.origin) for kernel in module.kernels]
            continue
        key = compile_key(event.compile_id)
        row = forward.get(key)
        # Code that does not name its pass: a backward is compiled when it first runs, after the forward's row.
        late: Origin = "backward" if row is None or event.offset > row.offset else "forward"
        origin = module.origin or ("inference" if key in inference else late)
        if origin == "backward":
            kept = key not in failed_backward
        else:
            kept = row is not None and row.succeeded and row.compile_id.attempt == event.compile_id.attempt
        if kept:
            uses += [KernelUse(kernel, event.compile_id.text, origin) for kernel in module.kernels]
    return tuple(uses), tuple(dict.fromkeys(notes))
