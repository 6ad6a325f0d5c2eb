"""Kernels that were generated, held against those that were launched: by name, which is all that a trace says of a kernel."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from evaluator.chrome_trace.names import origin

# What runs on a device under the name that Inductor gave it; C++ runs on the host, and an external function has names of its own.
_LAUNCHED_BY_NAME: Final = ("triton", "template")
# One of the workload's own is numbered in the generated code, and launched under the name of its function.
_USER: Final = "user"
_NUMBER: Final = re.compile(r"_\d+$")


@dataclass(frozen=True)
class Generated:
    """A kernel as a walk recorded it: its kind (triton, template, cpp, extern) and Inductor's word for its form."""

    name: str
    kind: str | None
    form: str | None = None


@dataclass(frozen=True)
class Launched:
    """A kernel that ran: how often in the batch, and its device time together (ms)."""

    name: str
    launches: int
    device_ms: float


@dataclass(frozen=True)
class Held:
    """``both``: generated and launched, with its launches. ``never``: generated, of which no launch is in the trace; None where the
    trace may lack some. ``others``: launched, which nobody here generated (a library, aten), with where each is from by its name."""

    both: tuple[tuple[str, Launched], ...]
    never: tuple[str, ...] | None
    others: tuple[tuple[Launched, str | None], ...]


def hold(
    generated: Iterable[Generated],
    launched: Sequence[Launched],
    elsewhere: Iterable[Generated] = (),
    *,
    whole: bool = True,
) -> Held:
    """``generated``: of the bucket; ``elsewhere``: of the other buckets of the same walk, whose code may serve this one. ``whole``:
    whether the trace is known to have all that was launched.

    A kernel of another bucket that was launched is in ``both``; one that was not is nothing amiss.
    """
    ran = {one.name: one for one in launched}
    own = {one.name: _launched_as(one, ran) for one in generated if one.kind in _LAUNCHED_BY_NAME}
    other = {one.name: _launched_as(one, ran) for one in elsewhere if one.kind in _LAUNCHED_BY_NAME}
    both = {name: found for name, found in {**other, **own}.items() if found is not None}
    known = {one.name for one in both.values()}
    return Held(
        both=tuple(sorted(both.items(), key=lambda pair: (-pair[1].device_ms, pair[0]))),
        never=tuple(name for name, found in own.items() if found is None) if whole else None,
        others=tuple((one, origin(one.name)) for one in launched if one.name not in known),
    )


def _launched_as(one: Generated, ran: dict[str, Launched]) -> Launched | None:
    if one.form == _USER:
        return ran.get(_NUMBER.sub("", one.name)) or ran.get(one.name)
    return ran.get(one.name)


def per_call(count: int | None, calls: int | None) -> float | None:
    """How many a call makes, of what all calls of a batch made; None where either is not known."""
    return None if count is None or not calls else count / calls
