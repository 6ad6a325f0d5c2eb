"""CUDA errors after which a process can do nothing more on its device: recognised, told, and the process ended.

Such an error comes of work that was launched before, and every later call raises it again, whatever that call does: a
process that went on would blame everything after it.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from typing import Final

import torch

from evaluator.worker.channel import Record
from evaluator.worker.errors import chain, describe_error

# What the CUDA runtime says of errors that are fatal to a context, by its code for each.
FATAL: Final[dict[int, str]] = {
    214: "uncorrectable ecc error encountered",
    220: "uncorrectable nvlink error",
    700: "an illegal memory access was encountered",
    702: "the launch timed out and was terminated",
    709: "context is destroyed",
    710: "device-side assert triggered",
    714: "hardware stack error",
    715: "an illegal instruction was encountered",
    716: "misaligned address",
    717: "operation not supported on global/shared address space",
    718: "invalid program counter",
    719: "unspecified launch failure",
}
# Of a child that ended itself for such an error.
EXIT_CODE: Final = 71

_tell: Callable[[Record], None] | None = None


def lost(error: BaseException) -> str | None:
    """What the device says, where an exception or one behind it is such an error; None of any other.

    Triton, cuBLAS and torch word it each in their own way, always with ``CUDA`` before the runtime's own sentence.
    """
    for link in chain(error):
        if not isinstance(link, RuntimeError):
            continue
        code = getattr(link, "error_code", None)
        if code in FATAL:
            return FATAL[code]
        text = str(link).lower()
        if "cuda" in text:
            for sentence in FATAL.values():
                if sentence in text:
                    return sentence
    return None


def tell_by(emit: Callable[[Record], None]) -> None:
    """From now on such an error is told by ``emit`` and ends this process: for a child that runs one probe."""
    global _tell
    _tell = emit


@contextlib.contextmanager
def watched() -> Iterator[None]:
    """Around anything that may run on the device: an exception out of it that means a lost device ends the process,
    where it is one for a probe; any other goes on."""
    try:
        yield
    except BaseException as error:
        leave_if_lost(error)
        raise


def leave_if_lost(error: BaseException) -> None:
    """End this process, where it is one for a probe, if its device is lost; else return.

    An error that says nothing of it may hide it (a library only says that it failed): the device is asked.
    """
    if _tell is None:
        return
    said = lost(error) or _asked()
    if said is None:
        return
    _tell({"kind": "lost", "reason": f"CUDA: {said}", "error": describe_error(error)})
    # Nothing of torch may run any more: what it frees would raise once again, or hang.
    os._exit(EXIT_CODE)


def _asked() -> str | None:
    if not torch.cuda.is_initialized():
        return None
    try:
        torch.cuda.synchronize()
    except RuntimeError as error:
        return lost(error)
    return None
