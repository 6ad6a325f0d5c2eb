"""The plainest form of a workload: a file with `build()`, `inputs(bucket)` and `BUCKETS`, named after the file.

Optional: `COMPILE` (arguments of `torch.compile`; the workload then has this one variant, called `default`),
`TRAINING`, `GRAD`, `CALLS` and `REQUIRES`. Such a file needs nothing of ours.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import partial
from types import ModuleType
from typing import Any, Final

from workloads.records import VARIANTS, Inputs, Place, Target, Variant, Workload
from workloads.registry import as_buckets, first_paragraph, validate

PARTS: Final = ("build", "inputs", "BUCKETS")


def is_plain(module: ModuleType) -> bool:
    """Whether the module looks like the plain form, complete or not."""
    return any(hasattr(module, part) for part in PARTS)


def plain_workload(module: ModuleType, name: str, place: Place) -> Workload:
    """The workload a plain module says; ValueError with one sentence where something is missing or wrong."""
    for part in PARTS:
        if not hasattr(module, part):
            raise ValueError(f"there is no {part}: the plain form has build(), inputs(bucket) and BUCKETS")
    for part in ("build", "inputs"):
        if not callable(getattr(module, part)):
            raise ValueError(f"{part} must be a function, not {type(getattr(module, part)).__name__}")
    options = getattr(module, "COMPILE", None)
    if options is not None and not isinstance(options, Mapping):
        raise ValueError(f"COMPILE must be a dict of torch.compile's arguments, not {type(options).__name__}")
    made = Workload(
        name=name,
        stands_for=first_paragraph(module),
        build=partial(_build, module.build),
        inputs=partial(_inputs, module.inputs),
        buckets=as_buckets(module.BUCKETS),
        place=place,
        variants=VARIANTS if options is None else (Variant("default", dict(options)),),
        training=bool(getattr(module, "TRAINING", False)),
        grad=bool(getattr(module, "GRAD", False)),
        calls=getattr(module, "CALLS", 2),
        requires=getattr(module, "REQUIRES", None),
        form="plain",
    )
    validate(made)
    return made


def _build(build: Callable[..., Any], target: Target) -> Any:
    return build(target) if _required(build) >= 1 else build()


def _inputs(inputs: Callable[..., Inputs], params: dict[str, Any], target: Target) -> Inputs:
    return inputs(params, target) if _required(inputs) >= 2 else inputs(params)


def _required(function: Callable[..., Any]) -> int:
    """How many positional arguments the function can't be called without."""
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    parameters = inspect.signature(function).parameters.values()
    return sum(p.kind in positional and p.default is p.empty for p in parameters)
