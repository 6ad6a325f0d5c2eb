"""The kernels and library calls in a C++ wrapper that Inductor generated, by its text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

_ENTRY: Final = re.compile(r'^extern "C"[^;{]*?\b(\w+)\s*\([^;{]*\)\s*\{.*?^\}', re.MULTILINE | re.DOTALL)
_SHIM_CALL: Final = re.compile(r"\b(aoti_torch_(?:cpu|cuda|xpu|mps)_\w+)\s*\(")


def kernels(source: str) -> Iterator[tuple[str, str]]:
    """(name, text) of each kernel that the wrapper defines."""
    for found in _ENTRY.finditer(source):
        if found[1].startswith("cpp_"):
            yield found[1], found[0]


def library_calls(source: str) -> list[str]:
    """The names of the library functions that it calls, each as often as it does."""
    return _SHIM_CALL.findall(source)


def uses(source: str, name: str) -> int:
    """How often a C++ function is called: its mentions that are neither its declaration nor its definition."""
    use = re.compile(rf"\b{re.escape(name)}\s*\(")
    return sum(len(use.findall(line)) for line in source.splitlines() if not line.startswith('extern "C"'))
