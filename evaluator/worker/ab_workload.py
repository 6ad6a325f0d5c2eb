"""One A/B process over a whole workload, where no single graph says what changed.

`python -m evaluator.worker.ab_workload SPEC RESULT` reads a JSON spec and writes a JSON result. The workload's own
source is the module `workload`. ``facts`` walks the buckets as a reproduction does; ``times`` compiles the last bucket
alone and then times it, or, where other buckets come before it, walks them first in a process of its own.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import pathlib
import sys
import time
import types
from typing import Any, Final

import torch

from evaluator.worker import ab_measure
from evaluator.worker.repro import ReproSession, repro_call, repro_precision
from evaluator.worker.repro_backward import repro_cotangents, repro_roots
from evaluator.worker.repro_leaves import repro_figures, repro_tensors
from evaluator.worker.repro_trace import repro_trace_facts

# Inputs that a call changes are made anew for each call of a round; this bounds their memory.
_MOST_FRESH_SETS: Final = 32


def session_of(spec: dict[str, Any]) -> ReproSession:
    """The workload's calls. A plain file's own arguments of torch.compile hold what JSON could not."""
    source = importlib.import_module("workload")
    if spec["own_options"] and hasattr(source, "COMPILE"):
        spec = {**spec, "options": dict(source.COMPILE)}
    target = types.SimpleNamespace(name=spec["target"], device="cuda" if spec["target"] == "cuda" else "cpu")
    return ReproSession(spec, vars(source), target)


def facts(spec: dict[str, Any]) -> dict[str, Any]:
    """What this torch makes of the last bucket, after those before it."""
    session = session_of(spec)
    eager, eager_error = session.walk("eager")
    reference, reference_error = session.walk("float64")
    compiled, compiled_error = session.walk("compiled")
    found = {
        "versions": ab_measure.versions(),
        "error": {"eager": eager_error, "compiled": compiled_error},
        "facts": repro_trace_facts(spec["trace_dir"], session.start_of_last),
        "code": ab_measure.output_code(spec["trace_dir"], session.start_of_last),
        "modules": ab_measure.compiler_modules(),
    }
    if eager_error is None and compiled_error is None:
        found["accuracy"] = repro_figures(eager, compiled, reference if reference_error is None else None)
    return found


class Step:
    """One timed call of the last bucket: for training forward and backward, from cotangents made once."""

    def __init__(self, session: ReproSession, fn: Any, called: Any) -> None:
        self.session = session
        self.fn = fn
        self.called = called
        self.held = self.fresh()
        self.cotangents: list[torch.Tensor] | None = None

    def fresh(self) -> tuple[Any, dict[str, Any]]:
        """New inputs, the same values every time."""
        self.session.seed()
        bucket = self.session.spec["buckets"][-1]
        args, kwargs = repro_call(self.session.inputs, dict(bucket["params"]), self.session.target)
        return args, kwargs

    def run(self, args: Any, kwargs: dict[str, Any]) -> None:
        """One call."""
        output = self.called(*args, **kwargs)
        if not self.session.spec["training"]:
            return
        roots = repro_roots(repro_tensors(output))
        if self.cotangents is None:
            self.cotangents = repro_cotangents(roots, self.session.spec["seed"])
        torch.autograd.backward(roots, self.cotangents or None)

    def batch(self, calls: int) -> float:
        """Seconds that so many calls take."""
        spec = self.session.spec
        given = [self.fresh() for _ in range(calls)] if spec["mutates"] else [self.held] * calls
        trained = list(self.fn.parameters()) if isinstance(self.fn, torch.nn.Module) else []
        trained += [leaf for leaf in repro_tensors(self.held) if leaf.requires_grad and leaf.is_leaf]
        with contextlib.nullcontext() if spec["training"] or spec["grad"] else torch.no_grad():
            ab_measure.synchronize(spec["target"])
            begun = time.perf_counter()
            for args, kwargs in given:
                for tensor in trained:
                    tensor.grad = None
                self.run(args, kwargs)
            ab_measure.synchronize(spec["target"])
            return time.perf_counter() - begun


def times(spec: dict[str, Any]) -> dict[str, float]:
    """What the spec's ``do`` names of one process: ``cold`` compile in s, ``warm`` calls in ms."""
    ab_measure.preload(spec["modules"], spec["target"])
    session = session_of(spec)
    compiled = _step(session, compiled=True)
    found = {}
    if "cold" in spec["do"]:
        found["cold_s"] = compiled.batch(1)
    else:
        session.walk_with(compiled.fn, compiled.called)
    if "warm" in spec["do"]:
        steps = {"compiled": compiled.batch, "eager": _step(session, compiled=False).batch}
        warm = ab_measure.warm_ms(steps, _MOST_FRESH_SETS if spec["mutates"] else None)
        found |= {f"{name}_ms": value for name, value in warm.items()}
    return found


def _step(session: ReproSession, compiled: bool) -> Step:
    repro_precision(session.spec["precision"])
    session.seed()
    fn = repro_call(session.build, session.target)
    return Step(session, fn, torch.compile(fn, **session.spec["options"]) if compiled else fn)


def main(arguments: list[str]) -> None:
    """Do what the spec asks for: ``facts``, or ``cold`` and ``warm`` or one of them."""
    spec = json.loads(pathlib.Path(arguments[0]).read_text())
    result = facts(spec) if spec["do"] == "facts" else times(spec)
    pathlib.Path(arguments[1]).write_text(json.dumps(result))


if __name__ == "__main__":
    main(sys.argv[1:])
