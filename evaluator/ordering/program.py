"""A program: what the host calls, in order; and what makes a program that can't be."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from evaluator.ordering.calls import (
    HOST,
    Allocate,
    Call,
    Free,
    Record,
    RecordStream,
    Run,
    SyncEvent,
    Wait,
    streams_of,
)

# Bounds of a duration.
SHORTEST: Final = 1
LONGEST: Final = 100


class ProgramError(ValueError):
    """A program that can't be; the message is one sentence that names the call."""


@dataclass(frozen=True)
class Program:
    """Calls in the order in which the host makes them. Raises ProgramError where one makes no sense.

    ``calls[i]`` is named by its position ``i`` wherever the model speaks of it.
    """

    calls: tuple[Call, ...]
    name: str = ""
    streams: tuple[str, ...] = field(init=False, compare=False, default=())

    def __post_init__(self) -> None:
        check(self.calls)
        # In order of first appearance; a frozen dataclass sets what it derives this way.
        seen = dict.fromkeys(name for call in self.calls for name in streams_of(call) if name != HOST)
        object.__setattr__(self, "streams", tuple(seen))

    @property
    def runs(self) -> dict[str, int]:
        """The position of each operation, by its name, in order."""
        return {call.name: at for at, call in enumerate(self.calls) if isinstance(call, Run)}

    def run(self, name: str) -> Run:
        """The operation of this name. Raises KeyError."""
        found = self.calls[self.runs[name]]
        assert isinstance(found, Run)
        return found


def check(calls: Sequence[Call]) -> None:
    """Raise ProgramError, naming the call, where one refers to what is not there, or its numbers are out of bounds."""
    latest = 0.0
    runs: set[str] = set()
    home: dict[str, str] = {}
    freed: set[str] = set()
    used: set[str] = set()
    given: set[str] = set()
    for position, call in enumerate(calls):
        where = f"call {position + 1} ({type(call).__name__})"
        latest = _time(call, latest, where)
        for name in _names(call):
            if not isinstance(name, str) or not name.strip():
                raise ProgramError(f"{where}: a name is text that is not empty")
        if HOST in streams_of(call) and not isinstance(call, Run):
            raise ProgramError(f"{where}: {HOST!r} is no stream: events, waits and storage belong to streams")
        match call:
            case Run():
                _duration(call, where)
                if not all(isinstance(names, tuple) for names in (call.reads, call.writes, call.after)):
                    raise ProgramError(f"{where}: reads, writes and after are lists of names")
                if call.name in runs:
                    raise ProgramError(f"{where}: a second operation {call.name!r}")
                for other in call.after:
                    if other not in runs:
                        raise ProgramError(f"{where}: relies on {other!r}, which was not submitted before")
                runs.add(call.name)
                for storage in (*call.reads, *call.writes):
                    if storage in freed:
                        raise ProgramError(f"{where}: {call.name!r} uses {storage!r} after it was freed")
                    used.add(storage)
            case Allocate():
                if call.storage in home or call.storage in used or call.storage in freed:
                    raise ProgramError(f"{where}: {call.storage!r} is there already")
                if call.reuses is not None:
                    _reuse(call, home, freed, given, where)
                    given.add(call.reuses)
                home[call.storage] = call.stream
            case RecordStream() if call.storage in freed:
                raise ProgramError(f"{where}: {call.storage!r} was freed before")
            case Free():
                if call.storage in freed:
                    raise ProgramError(f"{where}: {call.storage!r} was freed before")
                if call.storage not in home and call.storage not in used:
                    raise ProgramError(f"{where}: nothing made or used {call.storage!r}")
                freed.add(call.storage)
            case _:
                pass


def _reuse(call: Allocate, home: dict[str, str], freed: set[str], given: set[str], where: str) -> None:
    old = call.reuses
    assert old is not None
    if old not in freed:
        raise ProgramError(f"{where}: {old!r} was not freed, so nothing can reuse its block")
    if old in given:
        raise ProgramError(f"{where}: the block of {old!r} was given away before")
    if old not in home:
        raise ProgramError(f"{where}: no call says on which stream {old!r} was made, so nothing can reuse it")
    if home[old] != call.stream:
        raise ProgramError(
            f"{where}: the block of {old!r} belongs to {home[old]!r}, and {call.stream!r} can't be given it"
        )


def _time(call: Call, latest: float, where: str) -> float:
    """The time of the call where it has one, else the latest so far."""
    if call.at is None:
        return latest
    if not _number(call.at) or call.at < 0:
        raise ProgramError(f"{where}: a time is a number from 0 on, not {call.at!r}")
    if call.at < latest:
        raise ProgramError(
            f"{where}: at {call.at:g}, after a call at {latest:g}: the host makes calls in order"
        )
    return call.at


def _duration(call: Run, where: str) -> None:
    if not _number(call.duration) or not SHORTEST <= call.duration <= LONGEST:
        raise ProgramError(
            f"{where}: a duration is a number from {SHORTEST} to {LONGEST}, not {call.duration!r}"
        )


def _number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _names(call: Call) -> tuple[str, ...]:
    own: tuple[str, ...] = ()
    match call:
        case Run():
            own = (call.name, *call.reads, *call.writes, *call.after)
        case Record() | Wait() | SyncEvent():
            own = (call.event,)
        case Allocate() | RecordStream() | Free():
            own = (call.storage,)
        case _:
            pass
    return (*own, *streams_of(call))
