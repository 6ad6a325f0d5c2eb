"""Compiles functions for a card that is not there, in this process, and takes what was generated."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch

from evaluator.cards import KNOWN
from evaluator.trace.kernels import kernels_of
from evaluator.worker.targets.codegen.compiling import Codegen
from evaluator.worker.targets.codegen.patching import patched


@contextmanager
def compiler(card: str = "h100") -> Iterator[Codegen]:
    torch._dynamo.reset()
    made = Codegen.of(KNOWN[card])
    with made.walking():
        yield made
    torch._dynamo.reset()


def generated(function: Callable[..., Any], *args: Any, card: str = "h100", **options: Any) -> list[str]:
    """Names of the kernels that one call of the compiled function generates."""
    with compiler(card) as codegen:
        codegen.compile(function, options)(*args)
        return [kernel.name for kernel in codegen.generated]


@contextmanager
def modules() -> Iterator[list[str]]:
    """Inside, the modules that Inductor generates, as text, in order."""
    from torch._inductor.codecache import PyCodeCache

    found: list[str] = []
    write = PyCodeCache.write.__func__  # type: ignore[attr-defined]

    def written(cls: Any, code: str, *args: Any, **kwargs: Any) -> Any:
        found.append(code)
        return write(cls, code, *args, **kwargs)

    with patched(PyCodeCache, "write", classmethod(written)):
        yield found


@contextmanager
def sources() -> Iterator[dict[str, str]]:
    """The sources of the kernels that are generated inside, by name; there once it is left."""
    found: dict[str, str] = {}
    with modules() as generated_modules:
        yield found
    for code in generated_modules:
        found.update({one.name: one.source for one in kernels_of(code) if one.source is not None})
