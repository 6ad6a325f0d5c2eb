"""Where a workload makes the host wait for the device, from torch's own warnings: ``.item()`` and the like.

``torch.cuda.set_sync_debug_mode("warn")`` makes torch warn at such a call. It does not know all of them; its documentation
says so. Nothing here touches a device.
"""

from __future__ import annotations

import contextlib
import os
import sys
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any, Final, NamedTuple, TextIO

import torch

# What c10/cuda/CUDAFunctions.cpp warns with, in 2.11 to 2.14; torch adds where it was triggered inside itself.
MESSAGE: Final = "called a synchronizing CUDA operation"
_TORCH: Final = Path(torch.__file__).parent
# The evaluator's folder with what belongs to it.
_REPOSITORY: Final = Path(__file__).parents[2]
_WORKER: Final = Path(__file__).parent
_STANDARD_LIBRARY: Final = Path(contextlib.__file__).parent
_PACKAGES: Final = ("site-packages", "dist-packages")
_GENERATED: Final = "generated code"


class Frame(NamedTuple):
    """One line of a stack."""

    file: str
    line: int
    function: str


@dataclass(frozen=True)
class SyncPoint:
    """A place that made the host wait, ``times`` often. ``through``: the line inside torch or generated code that did, None
    if it was this place itself."""

    file: str
    line: int
    function: str
    times: int
    through: str | None

    def as_json(self) -> dict[str, Any]:
        """The fields, by name."""
        return {
            "file": self.file,
            "line": self.line,
            "function": self.function,
            "times": self.times,
            "through": self.through,
        }


@contextlib.contextmanager
def noted(wanted: str = MESSAGE) -> Iterator[list[tuple[Frame, ...]]]:
    """Gathers the stack, innermost first, of every warning that says ``wanted`` meanwhile, each time it is given. Other
    warnings go where they went. What the workload itself silences, and a thread that is not the interpreter's, is missed."""
    found: list[tuple[Frame, ...]] = []
    with warnings.catch_warnings():
        warnings.filterwarnings("always", message=f".*{wanted}")
        shown = warnings.showwarning

        def note(
            message: Warning | str,
            category: type[Warning],
            filename: str,
            lineno: int,
            file: TextIO | None = None,
            line: str | None = None,
        ) -> None:
            if wanted in str(message):
                found.append(tuple(_stack(sys._getframe(1))))
            else:
                shown(message, category, filename, lineno, file, line)

        warnings.showwarning = note
        yield found


def sync_points(stacks: Iterable[Sequence[Frame]]) -> list[SyncPoint]:
    """The places of these stacks, most often first."""
    counts = Counter(_place(stack) for stack in stacks if stack)
    return [
        SyncPoint(_short(frame.file), frame.line, frame.function, times, through)
        for (frame, through), times in counts.most_common()
    ]


def _stack(frame: FrameType | None) -> Iterator[Frame]:
    while frame is not None:
        code = frame.f_code
        if code.co_filename != warnings.__file__:
            yield Frame(code.co_filename, frame.f_lineno, code.co_name)
        frame = frame.f_back


def _place(stack: Sequence[Frame]) -> tuple[Frame, str | None]:
    """The innermost line that somebody wrote for the workload, and what it went through; else the innermost of all."""
    inner = stack[0]
    for frame in stack:
        if not _is_machinery(frame.file):
            through = None if frame == inner else f"{_short(inner.file)}:{inner.line} in {inner.function}"
            return frame, through
    return inner, None


def _is_machinery(file: str) -> bool:
    """Whether a line of this file is torch's, the evaluator's, Python's own or generated: nobody's who wrote a workload."""
    path = Path(file)
    if _is_generated(file) or path.is_relative_to(_TORCH) or path.is_relative_to(_WORKER):
        return True
    return path.is_relative_to(_STANDARD_LIBRARY) and not set(_PACKAGES) & set(path.parts)


def _is_generated(file: str) -> bool:
    cache = os.environ.get("TORCHINDUCTOR_CACHE_DIR")
    return (
        file.startswith("<") or "torchinductor_" in file or bool(cache and Path(file).is_relative_to(cache))
    )


def _short(file: str) -> str:
    """A file's name without what it says of this machine: relative to the repository or to where packages lie, else bare."""
    if _is_generated(file):
        return _GENERATED
    path = Path(file)
    # The packages first: a virtual environment may lie in the repository.
    for root in (_TORCH.parent, _REPOSITORY):
        if path.is_relative_to(root):
            return str(path.relative_to(root))
    return path.name
