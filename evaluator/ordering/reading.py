"""Programs as plain data, for code that may not import this package: a list of calls, each a dictionary.

``{"call": "run", "name": "square", "stream": "s1", "duration": 6, "writes": ["y"]}``: the names of the calls and of their
fields are those of ``program``, in lower case with underscores.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, fields
from typing import Any, Final

from evaluator.ordering.calls import (
    Allocate,
    Call,
    Free,
    Record,
    RecordStream,
    Run,
    SyncDevice,
    SyncEvent,
    SyncStream,
    Wait,
    WaitStream,
)
from evaluator.ordering.program import Program, ProgramError

_KINDS: Final[tuple[type[Call], ...]] = (
    *(Run, Record, Wait, WaitStream, SyncEvent, SyncStream, SyncDevice, Allocate, RecordStream, Free),
)
CALLS: Final[dict[str, type[Call]]] = {
    re.sub(r"(?<!^)(?=[A-Z])", "_", kind.__name__).lower(): kind for kind in _KINDS
}


def program_of(calls: Sequence[Mapping[str, Any]], name: str = "") -> Program:
    """The program that plain data means. Raises ProgramError for a call or a field that there is not, or that is missing."""
    return Program(tuple(_call(at, dict(one)) for at, one in enumerate(calls)), name=name)


def _call(position: int, given: dict[str, Any]) -> Call:
    where = f"call {position + 1}"
    named = given.pop("call", None)
    kind = CALLS.get(named) if isinstance(named, str) else None
    if kind is None:
        raise ProgramError(f"{where}: no call {named!r}; there are {', '.join(CALLS)}")
    unknown = given.keys() - {one.name for one in fields(kind)}
    if unknown:
        raise ProgramError(f"{where}: {named} has no {', '.join(sorted(unknown))}")
    plain = {key: tuple(value) if isinstance(value, list) else value for key, value in given.items()}
    missing = [one.name for one in fields(kind) if one.default is MISSING and one.name not in plain]
    if missing:
        raise ProgramError(f"{where}: {named} needs {', '.join(missing)}")
    make: Callable[..., Call] = kind
    return make(**plain)
