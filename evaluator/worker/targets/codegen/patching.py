"""Changes to torch that end where they began: each is undone on the way out, whatever happens inside."""

from __future__ import annotations

import contextlib
import functools
import sys
import types
from collections.abc import Iterator
from typing import Any, Final

from evaluator.worker.targets.codegen import internals

_ABSENT: Final = object()

# Modules whose cached functions answer by the device that was there when they were first asked.
_ASKED_ONCE: Final = (
    "torch.utils._triton",
    "torch._inductor.utils",
    "torch._inductor.codecache",
    "torch._inductor.codegen.common",
    "torch._inductor.codegen.cuda.cuda_env",
    "torch._inductor.fx_passes.fuse_attention",
    "torch._inductor.runtime.hints",
    "torch._inductor.runtime.runtime_utils",
)
_CACHED_METHODS: Final = (
    "torch._inductor.runtime.hints:DeviceProperties.create",
    "torch._inductor.codecache:CacheBase.get_system",
)


@contextlib.contextmanager
def patched(owner: Any, name: str, value: Any) -> Iterator[None]:
    """``owner.name`` is ``value`` inside, and what it was (or absent) after."""
    before = vars(owner).get(name, _ABSENT) if hasattr(owner, "__dict__") else getattr(owner, name, _ABSENT)
    setattr(owner, name, value)
    try:
        yield
    finally:
        if before is _ABSENT:
            delattr(owner, name)
        else:
            setattr(owner, name, before)


@contextlib.contextmanager
def entries(mapping: dict[Any, Any], **values: Any) -> Iterator[None]:
    """The mapping has these entries inside, and exactly what it had after."""
    before = dict(mapping)
    mapping.update(values)
    try:
        yield
    finally:
        mapping.clear()
        mapping.update(before)


@contextlib.contextmanager
def asked_anew() -> Iterator[None]:
    """Functions that remember what a device said forget it on the way in, and again on the way out."""
    _forget()
    try:
        yield
    finally:
        _forget()


def _nothing() -> None:
    pass


def _forget() -> None:
    for name in _ASKED_ONCE:
        module = sys.modules.get(name)
        for value in list(vars(module).values()) if module else ():
            # Also a stand-in that passes it on; not a library that answers to any name.
            if isinstance(value, (functools._lru_cache_wrapper, types.FunctionType)):
                getattr(value, "cache_clear", _nothing)()
    for place in _CACHED_METHODS:
        internals.get(place).cache_clear()
