"""What an object keeps in attributes, and whose object it is."""

from __future__ import annotations

import functools
import sys
import types
from collections.abc import Iterator
from typing import Any, Final

import torch

_CODE: Final = (
    type,
    types.ModuleType,
    types.FunctionType,
    types.MethodType,
    types.BuiltinFunctionType,
    functools.partial,
    torch.nn.Module,
)


def attributes(value: Any) -> tuple[list[tuple[str, Any]], bool]:
    """Name and value of what a plain object keeps in `__dict__` and in slots, and whether that is all it holds.

    It is not all of what is written in C, nor of a class made from one. Modules, functions and classes are no plain
    objects: of them nothing is read.
    """
    if isinstance(value, types.SimpleNamespace):
        return list(vars(value).items()), True
    if isinstance(value, _CODE):
        return [], False
    classes = [cls for cls in type(value).__mro__ if cls is not object]
    kept = hasattr(value, "__dict__") or any("__slots__" in vars(cls) for cls in classes)
    return own_attributes(value), kept and not any(map(_written_in_c, classes))


def own_attributes(value: Any) -> list[tuple[str, Any]]:
    """`__dict__` and the slots that are set, whatever else the object holds."""
    return [*list(getattr(value, "__dict__", {}).items()), *_slots(value)]


def of_library(cls: type) -> bool:
    """Whether a class is Python's or torch's: what such an object keeps is its own business, unless it is tensors."""
    library = cls.__module__.partition(".")[0]
    return cls is not types.SimpleNamespace and (library == "torch" or library in sys.stdlib_module_names)


def _written_in_c(cls: type) -> bool:
    # Such a class makes or fills its objects in C, and keeps memory of its own in them.
    made, filled = vars(cls).get("__new__"), vars(cls).get("__init__")
    return isinstance(made, types.BuiltinFunctionType) or isinstance(filled, types.WrapperDescriptorType)


def _slots(value: Any) -> Iterator[tuple[str, Any]]:
    for cls in type(value).__mro__:
        if "__slots__" not in vars(cls):
            continue
        for name, member in vars(cls).items():
            if isinstance(member, types.MemberDescriptorType):
                try:
                    yield name, member.__get__(value, cls)
                except AttributeError:  # a slot that was never set
                    continue
