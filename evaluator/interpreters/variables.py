"""Environment variables that a user may set for one side of a comparison, and those that only the evaluator sets."""

from __future__ import annotations

import importlib.metadata
import re
from functools import cache
from typing import Final

from evaluator.interpreters.versions import canonical, is_version
from evaluator.worker.protocol import SHARED_STATE

# Set by a shell or a container, and not to be inherited: these would fix what each server start draws anew, or
# switch on a trace and logs in probes that measure time.
UNSET: Final = frozenset(
    {"PYTHONHASHSEED", "TORCH_TRACE", "TORCH_LOGS", "TORCH_LOGS_OUT", "TORCH_COMPILE_DEBUG"}
)
# Set anew for every process.
SET: Final = frozenset(
    {"TMPDIR", "PYTHONPATH", "TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR", "HF_HUB_OFFLINE"}
)
# What is not installed here may still be meant as a pin.
_DISTRIBUTIONS: Final = frozenset({"torch", "triton", "numpy", "transformers"})
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def is_reserved(name: str) -> bool:
    """Whether the evaluator sets or unsets this variable itself, in every process."""
    return name in UNSET or name in SET or SHARED_STATE.fullmatch(name) is not None


def problem_with(name: str, value: str) -> str | None:
    """Why a side can't have this variable, and what to do instead, as a clause; None where it can."""
    if _NAME.fullmatch(name) is None:
        return f"{name!r} is no name of a variable: letters, digits and underscores, as in NAME=value"
    if "\0" in value:
        return f"the value of {name} holds a zero byte: leave it out"
    if is_reserved(name):
        return f"{name} is set by the evaluator for every process: leave it out"
    if looks_like_pin(name, value):
        return f"{name}={value} would set a variable: did you mean {canonical(name)}=={value}?"
    return None


def looks_like_pin(name: str, value: str) -> bool:
    """Whether ``name=value`` is rather a pin with one equals sign too few than a variable.

    A name in capitals is a variable's, unless it is a distribution's and its value a dotted version; any other is none
    where it is a distribution's, or its value is a dotted version.
    """
    dotted = "." in value and is_version(value)
    known = canonical(name) in _known()
    return (known and dotted) if name.isupper() else (known or dotted)


@cache
def _known() -> frozenset[str]:
    """Canonical names of the distributions that are installed here, and of those that workloads use."""
    names = (one.metadata["Name"] for one in importlib.metadata.distributions())
    return _DISTRIBUTIONS | {canonical(name) for name in names if name}
