"""What Inductor writes beside a Triton kernel that it generates: its form, and how often it loads, stores and reduces."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

# Forms that Inductor names after how they are tuned, by what they are.
_FORMS: Final = {"user_autotune": "user"}
_MODULE: Final = "triton_heuristics"


@dataclass(frozen=True)
class Decorator:
    """``form`` is the name of the kernel's heuristics; counts are in the body as written (a loop counts once)."""

    form: str | None = None
    loads: int | None = None
    stores: int | None = None
    reductions: int | None = None


def read_decorator(source: str) -> Decorator:
    """The decorator of the first Triton kernel in a generated source; empty where there is none, or no Python."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError):
        return Decorator()
    for call in heuristics(tree):
        form = call.func.attr if isinstance(call.func, ast.Attribute) else None
        counts = _numbers(call)
        return Decorator(
            form=_FORMS.get(form, form) if form else None,
            loads=counts.get("num_load"),
            stores=counts.get("num_store"),
            reductions=counts.get("num_reduction"),
        )
    return Decorator()


def heuristics(tree: ast.Module) -> Iterator[ast.Call]:
    """The calls of Inductor's heuristics that decorate Triton kernels, in the order of the tree."""
    for node in ast.walk(tree):
        for decorator in node.decorator_list if isinstance(node, ast.FunctionDef) else ():
            function = decorator.func if isinstance(decorator, ast.Call) else None
            owner = function.value if isinstance(function, ast.Attribute) else None
            if isinstance(owner, ast.Name) and owner.id == _MODULE and isinstance(decorator, ast.Call):
                yield decorator


def _numbers(call: ast.Call) -> dict[str, int]:
    """The whole numbers in the call's ``inductor_meta``."""
    for keyword in call.keywords:
        if keyword.arg == "inductor_meta" and isinstance(keyword.value, ast.Dict):
            return {
                key.value: value.value
                for key, value in zip(keyword.value.keys, keyword.value.values, strict=True)
                if isinstance(key, ast.Constant)
                and isinstance(key.value, str)
                and isinstance(value, ast.Constant)
                and type(value.value) is int
            }
    return {}
