"""The part of a reproduction script that runs the workload and prints what happens beside what was recorded.

`python -m evaluator repro` puts the text of this module and of the others called ``repro_*`` below the workload's own
source, so every name of theirs begins with ``repro_``: the workload's may be anything. Beside torch and the standard
library they use a few modules of this folder, which the script carries (`evaluator.reproduction` lists them).
It repeats the calls of the accuracy probe and of the walk: every bucket up to the one in question, in order,
fresh inputs from the seed before each call, a build of its own for each mode.
"""

from __future__ import annotations

import contextlib
import inspect
import math
import sys
import types
from typing import Any

import torch

from evaluator.worker.file_state import FileState as ReproFileState
from evaluator.worker.owned import Owned as ReproOwned
from evaluator.worker.owned import owned_tensors as repro_owned
from evaluator.worker.repro_backward import repro_backward
from evaluator.worker.repro_float64 import repro_in_float64, repro_to_float64, repro_wide
from evaluator.worker.repro_leaves import (
    ReproCall,
    repro_differences,
    repro_figures,
    repro_gradients,
    repro_leaves,
    repro_state,
    repro_tensors,
)
from evaluator.worker.repro_trace import repro_trace_facts, repro_trace_size
from evaluator.worker.trees import flatten as repro_flatten

# Differences of leaves that are printed.
REPRO_SHOWN = 10


def repro_main(spec: dict[str, Any], names: dict[str, Any]) -> None:
    """Run eager, float64 and compiled over the buckets of ``spec`` and print facts of the last one.

    ``names`` is what the workload's source defined.
    """
    target = types.SimpleNamespace(name=spec["target"], device="cuda" if spec["target"] == "cuda" else "cpu")
    session = ReproSession(spec, names, target)
    eager, eager_error = session.walk("eager")
    reference, reference_error = session.walk("float64")
    compiled, compiled_error = session.walk("compiled")
    print(f"torch {torch.__version__}; recorded on torch {spec['recorded']['torch']}")
    print(f"{spec['workload']}, bucket {spec['buckets'][-1]['name']}, torch.compile({spec['options']})")
    if spec["precision"] is not None:
        print(f"float32 precision {spec['precision']}")
    facts = repro_trace_facts(spec["trace_dir"], session.start_of_last)
    recorded = spec["recorded"]
    lost: list[str] = []
    rows = [
        (name, facts[name], recorded["facts"].get(name))
        for name in ("graphs", "break_events", "recompiles", "recompile_limit_hit")
    ]
    for row in rows:
        repro_row(*row)
    for text in facts["breaks"].values():
        print(f"  graph break: {text}")
    for text in facts["recompile_reasons"]:
        print(f"  recompile: {text}")
    errors = [
        ("error, eager", eager_error, recorded["eager_error"]),
        ("error, compiled", compiled_error, recorded["compiled_error"]),
    ]
    for row in errors:
        repro_row(*row)
    if eager_error is None and compiled_error is None:
        figures = repro_figures(eager, compiled, reference if reference_error is None else None)
        for name, value in figures.items():
            rows.append((name, value, (recorded["accuracy"] or {}).get(name)))
            repro_row(*rows[-1])
        lost = repro_show_leaves(repro_differences(eager, compiled), recorded["failed"])
    other = [*lost, *(name for name, here, there in rows if not repro_same(here, there))]
    # Of an error its presence is compared: its words hold paths and addresses.
    other += [name for name, here, there in errors if (here is None) != (there is None)]
    print(f"not as recorded: {', '.join(other)}" if other else "as recorded")


class ReproSession:
    """The calls of one reproduction."""

    def __init__(self, spec: dict[str, Any], names: dict[str, Any], target: Any) -> None:
        self.spec = spec
        self.build, self.inputs = repro_parts(spec, names)
        self.target = target
        self.start_of_last = 0
        # What stands at the top of the workload's file, as the first build left it.
        self.file: ReproFileState | None = None
        self.module = names["__name__"]
        self.versions: dict[str, int] = {}

    def walk(self, mode: str) -> tuple[list[ReproCall], str | None]:
        """Leaves that each call of the last bucket left (outputs, gradients, arguments, state), or the error."""
        found: list[ReproCall] = []
        try:
            repro_precision(self.spec["precision"])
            self.seed()
            fn = self.built()
            called = torch.compile(fn, **self.spec["options"]) if mode == "compiled" else fn
            held = self.held(fn)
            tensors = [*held.parameters.values(), *held.buffers.values()]
            with repro_wide(tensors if mode == "float64" else []):
                found = self.walk_with(fn, called, mode)
        except Exception as error:  # noqa: BLE001 - the error is what may be reproduced
            return found, repro_error(error)
        return found, None

    def built(self) -> Any:
        """A fresh build, beside what the first one left in its file."""
        if self.file is not None:
            self.file.restore()
        fn = repro_call(self.build, self.target)
        if self.file is None:
            place = types.SimpleNamespace(module=self.module)
            workload: Any = types.SimpleNamespace(place=place, build=self.build, inputs=self.inputs)
            self.file = ReproFileState(workload)
        return fn

    def held(self, fn: Any) -> ReproOwned:
        """What is state: of the module or function, and of its file."""
        return repro_owned(fn, self.file.named() if self.file is not None else ())

    def walk_with(self, fn: Any, called: Any, mode: str = "eager") -> list[ReproCall]:
        """Call ``called``, which is ``fn`` or made of it, over the buckets; the leaves of the last bucket's calls."""
        found = []
        self.versions = {name: one._version for name, one in self.held(fn).parameters.items()}
        for bucket in self.spec["buckets"]:
            last = bucket is self.spec["buckets"][-1]
            if last and mode == "compiled":
                self.start_of_last = repro_trace_size(self.spec["trace_dir"])
            for _ in range(self.spec["calls"]):
                left = self.call(fn, called, bucket, mode)
                if last:
                    found.append(left)
        return found

    def seed(self) -> None:
        torch.set_grad_enabled(True)
        torch.manual_seed(self.spec["seed"])

    def call(self, fn: Any, called: Any, bucket: dict[str, Any], mode: str) -> ReproCall:
        self.seed()
        args, kwargs = repro_call(self.inputs, dict(bucket["params"]), self.target)
        if mode == "float64":
            args, kwargs = repro_to_float64(args), repro_to_float64(kwargs)
        training = self.spec["training"]
        for parameter in self.held(fn).parameters.values():
            parameter.grad = None
        grad = contextlib.nullcontext() if training or self.spec["grad"] else torch.no_grad()
        with grad, repro_in_float64() if mode == "float64" else contextlib.nullcontext():
            output = called(*args, **kwargs)
            if training:
                repro_backward(repro_tensors(output), self.spec["seed"])
        held = self.held(fn)
        given = [*repro_flatten(args, "args").tensors(), *repro_flatten(kwargs, "kwargs").tensors()]
        return {
            **repro_leaves(output),
            **repro_leaves(args, "args"),
            **repro_leaves(kwargs, "kwargs"),
            **repro_state(held, self.versions),
            **repro_gradients(held, given),
        }


def repro_parts(spec: dict[str, Any], names: dict[str, Any]) -> tuple[Any, Any]:
    """`build` and `inputs`, as the source defines them or registers them under the workload's name."""
    registry = sys.modules.get("workloads.registry")
    for one in registry.registrations() if registry is not None else ():
        if one.name == spec["workload"] and one.workload is not None:
            return one.workload.build, one.workload.inputs
    return names["build"], names["inputs"]


def repro_show_leaves(differences: dict[str, str], failed: dict[str, Any] | None) -> list[str]:
    """Print in which leaves the calls differ, and the one that failed; its name if it does not differ here."""
    for leaf, text in list(differences.items())[:REPRO_SHOWN]:
        print(f"  leaf {leaf}: {text}")
    if failed is None:
        return []
    repro_row(
        "failed leaf",
        f"{failed['leaf']} {'differs' if failed['leaf'] in differences else 'is the same'}",
        failed["reason"],
    )
    return [] if failed["leaf"] in differences else [failed["leaf"]]


def repro_precision(precision: str | None) -> None:
    """Set the float32 precision ("ieee", "tf32") everywhere alike; None: leave torch's defaults."""
    if precision is None:
        return
    places = [torch.backends, torch.backends.cuda.matmul]
    places += [getattr(torch.backends.cudnn, name) for name in ("conv", "rnn")]
    places += [getattr(torch.backends.mkldnn, name) for name in ("matmul", "conv", "rnn")]
    for place in places:
        place.fp32_precision = precision


def repro_call(function: Any, *arguments: Any) -> Any:
    """Call with as many of the arguments as the function asks for (`build()` or `build(target)`)."""
    parameters = inspect.signature(function).parameters.values()
    required = [
        p
        for p in parameters
        if p.default is p.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
    ]
    return function(*arguments[: len(required)])


def repro_error(error: BaseException) -> str:
    lines: list[str] = []
    link: BaseException | None = error
    while link is not None:
        first = next((line for line in str(link).splitlines() if line.strip()), "")
        lines.append(f"{type(link).__name__}: {first.strip()}")
        link = link.__cause__
    return " <- ".join(lines)


def repro_same(here: Any, there: Any) -> bool:
    """Whether a fact is as recorded; what was not recorded contradicts nothing. Figures may differ by a thousandth."""
    if there is None or isinstance(there, str):
        return True
    if isinstance(here, float):
        return math.isclose(here, there, rel_tol=1e-3, abs_tol=1e-12)
    return bool(here == there)


def repro_row(name: str, here: Any, recorded: Any) -> None:
    if here is None and recorded is None:
        return
    print(f"{name:18} here {here!s:40} recorded {recorded}")
