"""Why a frame was compiled again: the guard that failed, and where in the user's code it comes from."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any, Final

from evaluator.trace.break_messages import parse_stack
from evaluator.trace.compiles import Compile, Key, compile_key
from evaluator.trace.log import TraceLog
from evaluator.trace.places import Places, user_function

RECOMPILE_ARTIFACT: Final = "recompile_reasons"

_ENTRY: Final = re.compile(r"^(?:!?\d+/)?\d+/\d+: ")
_STACK: Final = re.compile(r"^User stack trace:\n?", re.MULTILINE)
# torch pads the guard's expression and appends the source line and a shortened path, each behind a "#".
_COMMENT: Final = re.compile(r"\s+# .*$", re.DOTALL)
# Object addresses differ from run to run, and would make every comparison of two runs a difference.
_ADDRESS: Final = re.compile(r"(___check_(?:obj|type)_id\([^,]+, )\d+")
_TYPE_NOTE: Final = re.compile(r", type=<.*$", re.DOTALL)
# Guards that are worded as a sentence.
_SUBJECTS: Final = (
    re.compile(r"^tensor '(.+?)' \w"),
    re.compile(r"^(GLOBAL_STATE) changed"),
    re.compile(r"^Cache line invalidated because (.+?) got deallocated"),
)


@dataclass(frozen=True)
class Recompile:
    """One frame compiled again, or refused at the limit.

    ``reason``: the guard expression that failed, against the entry tried first. ``guard``: the value it is about
    (``k``, ``x``, ``GLOBAL_STATE``), None if that cannot be told. ``guards``: the expressions of all cache entries
    that failed, in torch's order. ``file``, ``line``, ``function``: the innermost user frame the guard comes from,
    or else where the recompiled frame starts. ``frame``: the code object's name as torch gives it.
    """

    reason: str
    guard: str | None
    guards: tuple[str, ...]
    file: str | None
    line: int | None
    function: str | None
    frame: str | None
    compile_id: str
    refused: bool

    def as_dict(self) -> dict[str, Any]:
        """The fields by name, tuples as lists."""
        return {**asdict(self), "guards": list(self.guards)}


def logged_reasons(log: TraceLog) -> dict[Key, tuple[str, ...]]:
    """The texts of the guards that failed before each compile, as torch logged them."""
    reasons: dict[Key, tuple[str, ...]] = {}
    for event in log.named(RECOMPILE_ARTIFACT):
        payload = log.payload(event)
        if event.compile_id is not None and payload:
            reasons[compile_key(event.compile_id)] = _texts(payload)
    return reasons


def recompiles_of(
    compiles: Iterable[Compile], reasons: dict[Key, tuple[str, ...]], places: Places
) -> tuple[Recompile, ...]:
    """A record for each recompile and each refused attempt among these compiles."""
    return tuple(
        _recompile(row, reasons.get(row.key, ()), places) for row in compiles if row.recompile or row.refused
    )


def guard_subject(expression: str) -> str | None:
    """The value that a guard expression is about; None if it cannot be told."""
    for pattern in _SUBJECTS:
        found = pattern.match(expression)
        if found:
            return found[1]
    try:
        tree = ast.parse(_TYPE_NOTE.sub("", expression).replace("<address>", "0"), mode="eval").body
    except (SyntaxError, ValueError, RecursionError):
        return None
    return _subject(tree)


def _recompile(row: Compile, logged: tuple[str, ...], places: Places) -> Recompile:
    texts = logged or ((row.recompile_reason,) if row.recompile_reason else ())
    expressions = tuple(places.text(_expression(text)) for text in texts)
    stack_text = _STACK.split(texts[0], maxsplit=1)[1:] if texts else []
    stack = parse_stack(stack_text[0], places) if stack_text else ()
    origin = stack[-1] if stack else None
    return Recompile(
        reason=expressions[0] if expressions else "unknown reason",
        guard=guard_subject(expressions[0]) if expressions else None,
        guards=expressions,
        file=origin.file if origin else row.file,
        line=origin.line if origin else row.line,
        function=user_function(origin.function) if origin else row.function,
        frame=row.frame,
        compile_id=row.compile_id.text,
        refused=row.refused,
    )


def _texts(payload: str) -> tuple[str, ...]:
    """One reason is logged as it is, several as a JSON list."""
    if payload.startswith("["):
        try:
            items = json.loads(payload)
        except ValueError:
            items = None
        if isinstance(items, list):
            return tuple(str(item) for item in items)
    return (payload,)


def _expression(text: str) -> str:
    without_stack = _STACK.split(text, maxsplit=1)[0]
    expression = _COMMENT.sub("", _ENTRY.sub("", without_stack)).strip()
    return _ADDRESS.sub(r"\1<address>", expression)


def _subject(node: ast.expr) -> str | None:
    if isinstance(node, ast.Compare):
        sides = [node.left, *node.comparators]
        return next((found for side in sides if (found := _subject(side)) is not None), None)
    if isinstance(node, ast.Call):
        if isinstance(node.func, ast.Attribute):
            return _subject(node.func.value)
        return _subject(node.args[0]) if node.args else None
    if isinstance(node, ast.Tuple | ast.BoolOp | ast.UnaryOp | ast.BinOp):
        parts = [child for child in ast.iter_child_nodes(node) if isinstance(child, ast.expr)]
        return next((found for part in parts if (found := _subject(part)) is not None), None)
    if isinstance(node, ast.Subscript | ast.Attribute | ast.Name):
        return ast.unparse(node)
    return None
