"""The events of a Chrome trace file: plain or gzip, whole or cut off, as an object with ``traceEvents`` or as a bare list.

Tolerant: an event that can't be read is counted, and a writer that was killed leaves what it had written.
"""

from __future__ import annotations

import json
import re
import zlib
from dataclasses import dataclass
from typing import Any, Final

_GZIP_MAGIC: Final = b"\x1f\x8b"
# More plain text than this takes several times as much memory once it is read.
MOST_BYTES: Final = 1 << 30

_LIST: Final = re.compile(r'"traceEvents"\s*:\s*\[')
_BETWEEN: Final = re.compile(r"[\s,]*")
# Both exporters of torch begin an event on a line of its own.
_NEXT_EVENT: Final = re.compile(r"\n[ \t]*(?=\{)")


class ChromeTraceError(ValueError):
    """A file that is no Chrome trace; the message is one sentence."""


@dataclass(frozen=True)
class RawEvents:
    """Objects of the event list in file order; ``damaged`` counts what was no object, ``truncated``: the list has no end."""

    events: list[dict[str, Any]]
    damaged: int = 0
    truncated: bool = False


def read_events(raw: bytes) -> RawEvents:
    """The events in these bytes of a file. Raises ChromeTraceError where there is no list of events, and where the plain
    text is over ``MOST_BYTES``. Takes time in proportion to the text."""
    plain, cut = _unpacked(raw)
    text = plain.decode("utf-8", "replace")
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return _salvaged(text)
    listed = found.get("traceEvents") if isinstance(found, dict) else found
    if not isinstance(listed, list):
        raise ChromeTraceError("this is JSON, but no Chrome trace: it has no list of events")
    events = [one for one in listed if isinstance(one, dict)]
    return RawEvents(events, len(listed) - len(events), cut)


def _unpacked(raw: bytes) -> tuple[bytes, bool]:
    """The plain bytes, and whether a gzip ended too early."""
    if not raw.startswith(_GZIP_MAGIC):
        if len(raw) > MOST_BYTES:
            raise ChromeTraceError(f"the trace has more than {MOST_BYTES >> 20} MB")
        return raw, False
    parts, left, size, ended = [], raw, 0, False
    # A gzip file may have several members, one after the other.
    while left.startswith(_GZIP_MAGIC):
        member = zlib.decompressobj(wbits=31)
        try:
            parts.append(member.decompress(left, MOST_BYTES + 1 - size))
        except zlib.error as error:
            if parts:
                return b"".join(parts), True
            raise ChromeTraceError("the file is a damaged gzip") from error
        size += len(parts[-1])
        if size > MOST_BYTES:
            raise ChromeTraceError(f"the trace has more than {MOST_BYTES >> 20} MB")
        left, ended = member.unused_data, member.eof
    return b"".join(parts), not ended


def _salvaged(text: str) -> RawEvents:
    """Events one by one, up to where the text ends; those that are broken are left out."""
    begun = _LIST.search(text)
    at = begun.end() if begun else text.index("[") + 1 if text.lstrip().startswith("[") else None
    if at is None:
        raise ChromeTraceError("this is no Chrome trace: no list of events begins in it")
    decoder = json.JSONDecoder()
    events: list[dict[str, Any]] = []
    damaged = 0
    while True:
        at = _BETWEEN.match(text, at).end()  # type: ignore[union-attr]  # it matches the empty text
        if at >= len(text):
            return RawEvents(events, damaged, truncated=True)
        if text[at] == "]":
            return RawEvents(events, damaged, truncated=False)
        try:
            one, at = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            following = _NEXT_EVENT.search(text, at + 1)
            if following is None:
                return RawEvents(events, damaged, truncated=True)
            damaged, at = damaged + 1, following.end()
            continue
        if isinstance(one, dict):
            events.append(one)
        else:
            damaged += 1
