"""Decompositions that ask which device a tensor is on, answered for the card while a graph is traced.

AOTAutograd takes operators apart by Python functions, and Inductor replaces what it recognises as attention. Some of
them do so otherwise on a CPU (group norm, half-precision norms, products of one row, a convolution's bias). The data
lies on the CPU here, so their code is exchanged for one in which ``x.device.type`` is the card's; the devices they
make tensors on are left alone.
"""

from __future__ import annotations

import ast
import contextlib
import functools
import gc
import inspect
import re
import textwrap
import types
from collections.abc import Iterator
from typing import Any, Final

from evaluator.worker.targets.codegen import internals

_MODULES: Final = (
    "torch._refs",
    "torch._refs.nn.functional",
    "torch._decomp.decompositions",
    "torch._inductor.decomposition",
    "torch._inductor.fx_passes.fuse_attention",
)
# These ask where an argument has to lie, which is on the CPU with a card too.
_LEFT_ALONE: Final = frozenset(
    {
        "_canonicalize_to_arguments",
        "masked_fill",
        "tensor_split",
        "tensor_split_tensor_indices_or_sections_py_impl",
    }
)
_ASKS: Final = re.compile(r"\.device\.type\b|\bin str\(.*\.device\)")
# Makes the checks of attention's patterns; each check is a function of its own, made when its pattern was registered.
_MAKES_CHECKS: Final = "torch._inductor.fx_passes.fuse_attention:_sfdp_extra_check"


@contextlib.contextmanager
def of_card() -> Iterator[None]:
    """Inside, what a function of the list asks of a tensor's device is answered for the card."""
    exchanged = _exchanged()
    for function, _, code in exchanged:
        function.__code__ = code
    try:
        yield
    finally:
        for function, code, _ in exchanged:
            function.__code__ = code


def find() -> None:
    """Find what is exchanged beforehand, once for a process and those that it forks."""
    _exchanged()


@functools.cache
def _exchanged() -> list[tuple[types.FunctionType, types.CodeType, types.CodeType]]:
    """(function, its code, the code for the card); found once, after the patterns of attention are registered."""
    found = []
    for name in _MODULES:
        module = internals.get_module(name)
        for function in dict.fromkeys(map(_innermost, list(vars(module).values()))):
            if function is None or function.__module__ != name or function.__code__.co_freevars:
                continue
            code = None if function.__name__ in _LEFT_ALONE else _for_card(function)
            if code is not None:
                found.append((function, function.__code__, code))
    return [*found, *_checks()]


def _innermost(value: Any) -> types.FunctionType | None:
    inner = inspect.unwrap(value) if callable(value) else None
    return inner if isinstance(inner, types.FunctionType) else None


def _for_card(function: types.FunctionType) -> types.CodeType | None:
    """The function's code with the card's answer in it; None where it does not ask."""
    try:
        text = textwrap.dedent(inspect.getsource(function))
    except (OSError, TypeError):
        return None
    if _ASKS.search(text) is None:
        return None
    tree = _Answered().visit(ast.parse(text))
    definition = tree.body[0]
    definition.decorator_list = []
    made = compile(ast.fix_missing_locations(tree), function.__code__.co_filename, "exec")
    return next((one for one in made.co_consts if _is_code(one, function.__name__)), None)


class _Answered(ast.NodeTransformer):
    """``x.device.type``, whatever ``x`` is, becomes the name of the card's kind of device, and ``"cuda" in
    str(x.device)`` true."""

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        self.generic_visit(node)
        asked = node.comparators[0]
        texts = isinstance(asked, ast.Call) and isinstance(asked.func, ast.Name) and asked.func.id == "str"
        if isinstance(asked, ast.Call) and texts and isinstance(node.ops[0], ast.In):
            of = asked.args[0]
            if isinstance(of, ast.Attribute) and of.attr == "device" and isinstance(node.left, ast.Constant):
                return ast.copy_location(ast.Constant(node.left.value == "cuda"), node)
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        self.generic_visit(node)
        value = node.value
        if node.attr == "type" and isinstance(value, ast.Attribute) and value.attr == "device":
            return ast.copy_location(ast.Constant("cuda"), node)
        return node


def _checks() -> list[tuple[types.FunctionType, types.CodeType, types.CodeType]]:
    maker = internals.get(_MAKES_CHECKS)
    rewritten = _for_card(maker)
    ours = [one for one in maker.__code__.co_consts if isinstance(one, types.CodeType)]
    cards = [one for one in rewritten.co_consts if isinstance(one, types.CodeType)] if rewritten else []
    codes = {
        id(old): (old, new)
        for old, new in zip(ours, cards, strict=False)
        if (old.co_name, old.co_freevars) == (new.co_name, new.co_freevars)
    }
    return [
        (one, *codes[id(one.__code__)])
        for one in gc.get_objects()
        if type(one) is types.FunctionType and id(one.__code__) in codes
    ]


def _is_code(constant: Any, name: str) -> bool:
    return isinstance(constant, types.CodeType) and constant.co_name == name
