"""An exception as a record: what it says, what caused it, and which status it gives a probe."""

from __future__ import annotations

import re
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import torch

from evaluator.worker.protocol import ErrorInfo, Status

# A generated C++ file's compile command and output can be megabytes; a page shows this much of a message.
MESSAGE_LIMIT: Final = 4000
TRACEBACK_LIMIT: Final = 12000

# Compiler diagnostics that are kept when they stand in the part that is cut out.
_KEPT_DIAGNOSTICS: Final = 6
_DIAGNOSTIC: Final = re.compile(r"^.*\b(?:fatal )?error\b.*$", re.IGNORECASE | re.MULTILINE)

# Exceptions defined in these packages come from compiling, whatever the workload does.
_COMPILER_PACKAGES: Final = (
    "torch._dynamo",
    "torch._inductor",
    "torch._functorch",
    "torch._subclasses",
    "torch._export",
    "torch._higher_order_ops",
    "torch.export",
    "torch.fx",
    "torch.utils._sympy",
    "triton",
)

_MEMORY_WORDS: Final = ("can't allocate memory", "cannot allocate memory", "out of memory")

_SETUP_STAGES: Final = ("setup", "build", "inputs")


class Unsupported(Exception):
    """What this target or this torch can't do; ``reason`` says it, whatever is added to the message on the way out."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def chain(error: BaseException) -> list[BaseException]:
    """The exception and what caused it, outermost first: ``__cause__``, what a compiler error wraps, or the
    unsuppressed ``__context__``; each once."""
    found: list[BaseException] = []
    current: BaseException | None = error
    while current is not None and not any(current is seen for seen in found):
        found.append(current)
        current = _cause(current)
    return found


def describe_error(error: BaseException) -> ErrorInfo:
    """Type, message, cause chain and traceback, each bounded with both ends kept.

    The message is the outermost one; where it does not hold the innermost reason, that is added, so that "no
    working C++ compiler" is never lost behind a wrapper. The user's home folder is written ``~``.
    """
    links = chain(error)
    message = _message(error)
    innermost = _message(links[-1])
    if len(links) > 1 and innermost not in message:
        message = f"{message}\ncaused by {_type(links[-1])}: {innermost}"
    text = "".join(traceback.format_exception(error))
    return ErrorInfo(
        type=_type(error),
        message=_bounded(_private(message), MESSAGE_LIMIT),
        chain=[_bounded(_private(f"{_type(link)}: {_message(link)}"), MESSAGE_LIMIT) for link in links],
        traceback=_bounded(_private(text), TRACEBACK_LIMIT),
    )


def status_of(error: BaseException, stage: str) -> Status:
    """The status an exception gives a probe that was in ``stage`` (setup, build, inputs, eager, compile, ...).

    What is unsupported and out of memory first, wherever it happened; then set-up; then a compiler's own exception anywhere in the
    chain, unless nothing compiled was running; anything else, ``sys.exit`` included, is a runtime error.
    """
    links = chain(error)
    if unsupported(error) is not None:
        return "unsupported"
    if any(_is_out_of_memory(link) for link in links):
        return "out_of_memory"
    if stage in _SETUP_STAGES:
        return "setup_error"
    if stage not in ("eager", "reference") and any(_from_compiler(link) for link in links):
        return "compile_error"
    return "runtime_error"


def unsupported(error: BaseException) -> str | None:
    """The reason where something in the chain says that it is unsupported: the first that did, before it was wrapped.

    A compiler adds where it was and how to see more, to messages of exceptions that pass through it.
    """
    found = [link.reason for link in chain(error) if isinstance(link, Unsupported)]
    return found[-1] if found else None


def _cause(error: BaseException) -> BaseException | None:
    if error.__cause__ is not None:
        return error.__cause__
    # Dynamo's and Inductor's wrappers cut the chain (``from None``) and carry the cause themselves.
    wrapped = getattr(error, "inner_exception", None)
    if isinstance(wrapped, BaseException):
        return wrapped
    return None if error.__suppress_context__ else error.__context__


def _message(error: BaseException) -> str:
    if isinstance(error, SystemExit):
        code = "" if error.code is None else error.code
        return f"the workload called sys.exit({code})"
    if isinstance(error, KeyboardInterrupt):
        return "the workload raised KeyboardInterrupt"
    try:
        return str(error) or type(error).__name__
    except Exception as broken:  # noqa: BLE001 - an exception's own __str__ may raise anything
        return f"{type(error).__name__}, whose message can't be shown ({type(broken).__name__})"


def _type(error: BaseException) -> str:
    """The dotted type name; built-in exceptions by their short name."""
    cls = type(error)
    return (
        cls.__qualname__
        if cls.__module__ in ("builtins", "__main__")
        else f"{cls.__module__}.{cls.__qualname__}"
    )


def _is_out_of_memory(error: BaseException) -> bool:
    # Older versions have no class of their own for it outside CUDA, and the CPU allocator raises RuntimeError.
    known = getattr(torch, "OutOfMemoryError", torch.cuda.OutOfMemoryError)
    if isinstance(error, (MemoryError, known)):
        return True
    return isinstance(error, RuntimeError) and any(word in _message(error).lower() for word in _MEMORY_WORDS)


def _from_compiler(error: BaseException) -> bool:
    modules = (cls.__module__ for cls in type(error).__mro__)
    return any(
        module == package or module.startswith(f"{package}.")
        for module in modules
        for package in _COMPILER_PACKAGES
    )


def _bounded(text: str, limit: int) -> str:
    """At most ``limit`` characters: the head, the diagnostics of what is cut, and the tail."""
    if len(text) <= limit:
        return text
    side = limit // 3
    head, cut, tail = text[:side], text[side:-side], text[-side:]
    kept = "\n".join(_diagnostics(cut))[: limit - 2 * side - 80]
    return f"{head}\n[... {len(cut)} characters left out ...]\n{kept}\n[...]\n{tail}"


def _diagnostics(text: str) -> Iterator[str]:
    for count, match in enumerate(_DIAGNOSTIC.finditer(text)):
        if count == _KEPT_DIAGNOSTICS:
            return
        yield match.group(0)[:300]


def _private(text: str) -> str:
    """Without the user's home folder, whose name is the user's."""
    home = str(Path.home())
    return text if home == "/" else text.replace(home, "~")
