"""Files of this project that a stand-alone script carries as text, so that it needs nothing but torch."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final

_REPOSITORY: Final = Path(__file__).resolve().parents[1]
_REGISTRY: Final = "workloads"
# What opens outputs and finds state; they need torch, the standard library and each other.
LEAVES: Final = tuple(
    f"evaluator/worker/{name}.py"
    for name in ("objects", "tensor_parts", "trees", "values", "owned", "file_state")
)


def carried(paths: Iterable[str]) -> dict[str, str]:
    """Text by path of these files of the project, and of the packages they are in."""
    found = {path: (_REPOSITORY / path).read_text() for path in paths}
    folders = {folder.as_posix() for path in found for folder in Path(path).parents if folder.name}
    return {**{f"{folder}/__init__.py": "" for folder in sorted(folders)}, **found}


def registry(source: str) -> dict[str, str]:
    """What a workload's source needs of `workloads` to register itself: each module that it or these import."""
    found: list[str] = []
    waiting = list(_imported(source))
    while waiting:
        path = waiting.pop()
        if path not in found:
            found.append(path)
            waiting += _imported((_REPOSITORY / path).read_text())
    return carried(sorted(path for path in found if not path.endswith("/__init__.py")))


def entries(files: Mapping[str, str]) -> str:
    """The lines between the braces of a dict of these files."""
    return "\n".join(f"{name!r}: {_literal(text)}," for name, text in files.items())


def _imported(source: str) -> Iterator[str]:
    """Files of `workloads` that a text imports from, anywhere in it."""
    for node in ast.walk(ast.parse(source)):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [one.name for one in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names = [node.module, *(f"{node.module}.{one.name}" for one in node.names)]
        for name in names:
            path = f"{name.replace('.', '/')}.py"
            if name.partition(".")[0] == _REGISTRY and (_REPOSITORY / path).is_file():
                yield path


def _literal(text: str) -> str:
    """A text as a Python literal that a person can read where that is possible."""
    if not text:
        return '""'
    if "'''" in text or text.endswith(("'", "\\")) or "\r" in text:
        return "(\n" + "\n".join(repr(line) for line in text.splitlines(keepends=True)) + "\n)"
    return f"r'''{text}'''"
