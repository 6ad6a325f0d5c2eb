"""What the ordering model says, in sentences: each call as torch has it, and a verdict for each consumer. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from app import theme
from evaluator.ordering.calls import (
    HOST,
    Allocate,
    Call,
    Free,
    Record,
    RecordStream,
    Run,
    SyncEvent,
    SyncStream,
    Wait,
    WaitStream,
)
from evaluator.ordering.conflicts import Kind, Miss, Verdict
from evaluator.ordering.program import Program
from evaluator.ordering.storage import Held, Reuse

Tone = Literal["good", "bad", "note"]

_RELATIONS: Final[dict[Kind, str]] = {
    "reads": "it reads {storage}, which {producer} writes",
    "overwrites_written": "it writes {storage}, which {producer} writes too",
    "overwrites_read": "it writes {storage}, which {producer} reads",
    "relies": "it relies on {producer}",
}
_MISSES: Final[dict[Miss, str]] = {
    "early": "{wait} covers only what was submitted before it.",
    "unrecorded": "{wait} waits for nothing: the event was not recorded by then.",
    "late": "{wait} comes after it.",
    "elsewhere": "{wait} makes another stream wait.",
}


@dataclass(frozen=True)
class Said:
    """A sentence in Markdown, its names as code, and whether it is good or bad news."""

    tone: Tone
    sentence: str


def written(call: Call) -> str:
    """A call as code: torch's own where torch has it."""
    match call:
        case Run():
            reads, writes = ", ".join(call.reads), ", ".join(call.writes)
            body = f"{writes} = {call.name}({reads})" if writes else f"{call.name}({reads})"
            return body if call.stream == HOST else f"with torch.cuda.stream({call.stream}): {body}"
        case Record():
            return f"{call.event}.record({call.stream})"
        case Wait():
            return f"{call.stream}.wait_event({call.event})"
        case WaitStream():
            return f"{call.stream}.wait_stream({call.other})"
        case SyncEvent():
            return f"{call.event}.synchronize()"
        case SyncStream():
            return f"{call.stream}.synchronize()"
        case Allocate():
            block = f"  # in the block of {call.reuses}" if call.reuses else ""
            return f"with torch.cuda.stream({call.stream}): {call.storage} = torch.empty(...){block}"
        case RecordStream():
            return f"{call.storage}.record_stream({call.stream})"
        case Free():
            return f"del {call.storage}"
        case _:
            return "torch.cuda.synchronize()"


def verdict(program: Program, one: Verdict) -> Said:
    """What is so of a consumer and its producer, why, and what these times prove of it (nothing)."""
    relation = one.dependency
    producer, consumer = theme.literal(relation.producer), theme.literal(relation.consumer)
    if one.ordered:
        return Said("good", f"{consumer} is ordered after {producer}: {_reason(program, one)}.")
    shared = theme.literal(relation.storage) if relation.storage is not None else ""
    related = _RELATIONS[relation.kind].format(storage=shared, producer=producer)
    begun, ended = _time(one.consumer_start), _time(one.producer_end)
    if one.looks_right:
        head = f"**{consumer} is NOT ordered after {producer}**, though the times look right: "
        seen = f"it starts at {begun}, {producer} ends at {ended}, and nothing makes that so in the next run"
    else:
        head = f"**{consumer} is NOT ordered after {producer}**: "
        seen = f"it starts at {begun} while {producer} runs until {ended}"
    missed = ""
    if one.missed is not None and one.miss is not None:
        missed = " " + _MISSES[one.miss].format(wait=_at(program, one.missed))
    return Said("bad", f"{head}{seen}; {related}.{missed}")


def reuse(one: Reuse) -> Said:
    """Storage that is given away too early."""
    last, user = theme.literal(one.last), theme.literal(one.user)
    old, new = theme.literal(one.old), theme.literal(one.storage)
    begun, ended = _time(one.user_start), _time(one.last_end)
    seen = (
        f"the times look right ({user} starts at {begun}, {last} ends at {ended}), and nothing makes that so in the next run"
        if one.looks_right
        else f"{user} starts at {begun} while {last} runs until {ended}"
    )
    return Said(
        "bad",
        f"**{new} gets the block of {old} before {last} is done with it**: {seen}. Neither `record_stream` nor a wait keeps "
        "the two apart.",
    )


def held(one: Held) -> Said:
    """A block that ``record_stream`` keeps back."""
    old, new = theme.literal(one.old), theme.literal(one.storage)
    streams = ", ".join(theme.literal(stream) for stream in one.streams)
    got = (
        f"{new} asks for it at {_time(one.asked)} and gets it"
        if one.waited
        else f"{new} asks for it at {_time(one.asked)} and gets other memory"
    )
    return Said(
        "note",
        f"The block of {old} is held until {streams} is done with it at {_time(one.until)}: {got}.",
    )


def _time(value: float) -> str:
    return f"{value:g}"


def _reason(program: Program, one: Verdict) -> str:
    producer = program.run(one.dependency.producer).stream
    if producer == program.run(one.dependency.consumer).stream:
        if producer == HOST:
            return "the host does one after the other"
        return f"both are in {theme.literal(producer)}, which runs its work in order"
    if one.through:
        return "by " + ", then ".join(_at(program, position) for position in one.through)
    return "the host was done with it before it made the call"


def _at(program: Program, position: int) -> str:
    return f"{theme.literal(written(program.calls[position]))} (call {position + 1})"
