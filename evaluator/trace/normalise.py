"""Identity of a kernel's code: equal hashes mean equal bodies, whatever the kernel is called and wherever it lies.

A kernel's *body* is its code without its name, imports, tuning metadata, paths and the backend hash that Triton's
version puts inside; its *launch* is what surrounds a Triton body (signature, constants, size hints, configuration).
"""

from __future__ import annotations

import ast
import hashlib
import json
import re
from typing import Final

from evaluator.trace.decorators import heuristics

_NAME: Final = "KERNEL"

# What a Triton kernel's decorator says that describes the build or the file rather than the launch.
_NOT_LAUNCH: Final = frozenset({"inductor_meta", "filename", "custom_kernel"})
# The device a kernel was tuned for belongs to the environment; it also names fields that versions add.
_NOT_LAUNCH_META: Final = frozenset({"device", "device_type"})

_CPP_ENTRY: Final = re.compile(r'extern\s+"C"[^;{()]*?\b(\w+)\s*\(')
_CPP_INCLUDE: Final = re.compile(r"^[ \t]*#[ \t]*(?:include|pragma[ \t]+once)\b.*$", re.MULTILINE)
# Strings and comments in one expression, so that a "//" inside a string is no comment.
_CPP_LEXEME: Final = re.compile(r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|//[^\n]*|/\*.*?\*/', re.DOTALL)
# Only whole strings are taken for paths: elsewhere "/a/b" divides.
_PATH: Final = re.compile(r"/(?:[\w.+ -]+/)+[\w.+ -]*")
_QUOTED_PATH: Final = re.compile(rf"([\"']){_PATH.pattern}\1")
_SPACE: Final = re.compile(r"[ \t]+")


def body_hash(source: str, name: str | None = None) -> str:
    """sha256 of a kernel's body, C++ or Triton; ``name`` is what the kernel is called, if the source mentions it."""
    return hashlib.sha256(normalised(source, name).encode()).hexdigest()


def launch_hash(source: str) -> str | None:
    """sha256 of a Triton kernel's launch metadata; None for code that carries none (C++), or cannot be parsed."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError):
        return None
    launches = [_launch(decorator) for decorator in heuristics(tree)]
    return hashlib.sha256(json.dumps(launches).encode()).hexdigest() if launches else None


def normalised(source: str, name: str | None = None) -> str:
    """The text that ``body_hash`` hashes."""
    if _looks_like_cpp(source):
        return _normalised_cpp(source, name)
    try:
        tree = ast.parse(source)
        # Text of another language can be valid Python by chance; code has at least one function.
        if any(isinstance(node, ast.FunctionDef) for node in tree.body):
            return _normalised_python(tree, name)
    except (SyntaxError, ValueError, RecursionError):
        # Newer syntax than this interpreter's, or an expression nested too deeply: its text has to do.
        return _normalised_text(source, name)
    return _normalised_text(source, name)


def _looks_like_cpp(source: str) -> bool:
    return bool(_CPP_ENTRY.search(source) or _CPP_INCLUDE.search(source))


def _normalised_cpp(source: str, name: str | None) -> str:
    text = _CPP_INCLUDE.sub("", _CPP_LEXEME.sub(_without_comment, source))
    entry = _CPP_ENTRY.search(text)
    return _normalised_text(text, *([entry[1]] if entry else []), name)


def _without_comment(found: re.Match[str]) -> str:
    return " " if found[0].startswith(("//", "/*")) else found[0]


def _normalised_text(text: str, *names: str | None) -> str:
    for name in names:
        if name:
            text = re.sub(rf"(?<![A-Za-z0-9]){re.escape(name)}(?![A-Za-z0-9])", _NAME, text)
    text = _QUOTED_PATH.sub(r"\1PATH\1", text)
    lines = (_SPACE.sub(" ", line).strip() for line in text.splitlines())
    return "\n".join(line for line in lines if line)


def _normalised_python(tree: ast.Module, name: str | None) -> str:
    """Every function of the source without its decorators' arguments, and the constants beside them."""
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    # The kernel comes last; the functions before it are the combine functions that it calls.
    renamed = {functions[-1].name, *([name] if name else [])}
    body: list[ast.stmt] = [
        node
        for node in tree.body
        if isinstance(node, ast.FunctionDef | ast.Assign | ast.AnnAssign | ast.ClassDef)
    ]
    module = _Neutral(renamed).visit(ast.Module(body=body, type_ignores=[]))
    return ast.unparse(ast.fix_missing_locations(module))


class _Neutral(ast.NodeTransformer):
    """Renames the kernel, reduces decorators to their names, and takes docstrings and paths out."""

    def __init__(self, names: set[str]) -> None:
        self.names = names

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        self.generic_visit(node)
        node.name = self._renamed(node.name)
        node.decorator_list = [
            decorator.func if isinstance(decorator, ast.Call) else decorator
            for decorator in node.decorator_list
        ]
        if len(node.body) > 1 and _is_text(node.body[0]):
            node.body = node.body[1:]
        return node

    def visit_Name(self, node: ast.Name) -> ast.AST:
        node.id = self._renamed(node.id)
        return node

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        if isinstance(node.value, str):
            node.value = "PATH" if _PATH.fullmatch(node.value) else node.value
        return node

    def _renamed(self, name: str) -> str:
        return _NAME if name in self.names else name


def _is_text(node: ast.stmt) -> bool:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )


def _launch(decorator: ast.Call) -> list[str]:
    parts = [_dotted(decorator.func), *(ast.unparse(argument) for argument in decorator.args)]
    for keyword in sorted(decorator.keywords, key=lambda item: item.arg or ""):
        if keyword.arg in _NOT_LAUNCH:
            continue
        value: ast.expr = keyword.value
        if keyword.arg == "triton_meta" and isinstance(value, ast.Dict):
            value = _without_keys(value, _NOT_LAUNCH_META)
        parts.append(f"{keyword.arg}={ast.unparse(value)}")
    return parts


def _without_keys(node: ast.Dict, names: frozenset[str]) -> ast.Dict:
    kept = [
        (key, value)
        for key, value in zip(node.keys, node.values, strict=True)
        if not (isinstance(key, ast.Constant) and key.value in names)
    ]
    return ast.Dict(keys=[key for key, _ in kept], values=[value for _, value in kept])


def _dotted(node: ast.expr) -> str:
    return ast.unparse(node)
