"""Reads the structured log that ``TORCH_TRACE`` writes: one glog-prefixed JSON object a line, payload lines after it.

The reader is tolerant, because names and fields of events change between torch versions and a killed process
leaves half a line: an event it does not know is counted, a line it cannot read is counted, and neither is an error.
"""

from __future__ import annotations

import gzip
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

_HEADER: Final = re.compile(rb"^(?:\[rank\d+\]:)?[VDIWEC]\d{4} [\d:.]+ \d+ [^\]]*\] (?=\{)")
_GZIP_MAGIC: Final = b"\x1f\x8b"

# What stands beside the event itself in its JSON object.
_CONTEXT_FIELDS: Final = frozenset(
    {
        "rank",
        "compiled_autograd_id",
        "frame_id",
        "frame_compile_id",
        "attempt",
        "has_payload",
        "stack",
        "subgraph_name",
        "process",
    }
)

# Events that torch is known to write. Another one was added since: it is counted, so that a reader of a newer log
# sees what this parser does not look at.
KNOWN_EVENTS: Final = frozenset(
    {
        "aot_backward_graph",
        "aot_forward_graph",
        "aot_inference_graph",
        "aot_joint_graph",
        "artifact",
        "bwd_compilation_metrics",
        "bwd_compilation_metrics_runtime",
        "chromium_event",
        "compilation_metrics",
        "compilation_metrics_runtime",
        "compiled_autograd_graph",
        "create_symbol",
        "create_unbacked_symbol",
        "describe_source",
        "describe_storage",
        "describe_tensor",
        "dump_file",
        "dynamo_cpp_guards_str",
        "dynamo_guards",
        "dynamo_output_graph",
        "dynamo_start",
        "export",
        "exported_program",
        "expression_created",
        "graph_dump",
        "guard_added",
        "guard_added_fast",
        "guard_on_data_dependent_error",
        "inductor_output_code",
        "inductor_post_grad_graph",
        "inductor_pre_grad_graph",
        "link",
        "mismatched_fake_kernel",
        "missing_fake_kernel",
        "optimize_ddp_split_child",
        "optimize_ddp_split_graph",
        "propagate_real_tensors",
        "propagate_real_tensors_provenance",
        "str",
        "symbolic_shape_specialization",
    }
)


@dataclass(frozen=True)
class CompileId:
    """Which compile an event belongs to: a frame (code object), how often it was compiled before, and which try.

    ``attempt`` counts Dynamo's restarts inside one compile; ``text`` leaves it out, as torch's own messages do.
    """

    frame: int | None
    frame_compile: int | None
    attempt: int = 0
    compiled_autograd: int | None = None

    @property
    def text(self) -> str:
        """``0/1``, or ``!2/0/1`` inside compiled autograd."""
        parts = ["-" if part is None else str(part) for part in (self.frame, self.frame_compile)]
        if self.compiled_autograd is not None:
            parts.insert(0, f"!{self.compiled_autograd}")
        return "/".join(parts)


@dataclass(frozen=True)
class Frame:
    """One line of a stack: file as the log gives it, line number, function, and the line's text where it was logged."""

    file: str
    line: int
    function: str
    code: str | None = None


@dataclass(frozen=True)
class Event:
    """One entry of the log. ``offset`` and ``payload_span`` are bytes from the start of the (unpacked) log."""

    offset: int
    kind: str
    data: Any
    compile_id: CompileId | None
    payload_span: tuple[int, int] | None

    @property
    def name(self) -> str:
        """The artifact's name for an artifact, the kind of event otherwise."""
        if self.kind == "artifact" and isinstance(self.data, Mapping):
            return str(self.data.get("name", ""))
        return self.kind


@dataclass(frozen=True)
class TraceLog:
    """A parsed log: its events in order, and what could not be used.

    ``unknown`` counts events by kinds this parser has never heard of, ``damaged`` counts lines that are no event at
    all, ``truncated`` says that the last line is incomplete (a killed writer).
    """

    raw: bytes
    events: tuple[Event, ...]
    strings: Mapping[int, str]
    unknown: Mapping[str, int] = field(default_factory=dict)
    damaged: int = 0
    truncated: bool = False

    def payload(self, event: Event) -> str | None:
        """The text that followed the event, without the tab before each line; None where there was none."""
        if event.payload_span is None:
            return None
        start, end = event.payload_span
        lines = self.raw[start:end].split(b"\n")
        return "\n".join(line[1:].decode("utf-8", "replace") for line in lines)

    def payload_json(self, event: Event) -> Any:
        """The payload as JSON; None where there is none or it does not parse."""
        text = self.payload(event)
        if text is None:
            return None
        try:
            return json.loads(text)
        except ValueError:
            return None

    def stack(self, frames: object) -> tuple[Frame, ...]:
        """A logged stack (``stack`` or ``user_stack`` of an event), outermost first, file names looked up."""
        if not isinstance(frames, Sequence) or isinstance(frames, str):
            return ()
        return tuple(self._frame(item) for item in frames if isinstance(item, Mapping))

    def _frame(self, item: Mapping[str, Any]) -> Frame:
        file = item.get("filename")
        if isinstance(file, int):
            file = self.strings.get(file, f"<string {file}>")
        line = item.get("line")
        code = item.get("loc")
        return Frame(
            file=str(file),
            line=line if isinstance(line, int) else 0,
            function=str(item.get("name", "")),
            code=code if isinstance(code, str) else None,
        )

    def named(self, *names: str) -> Iterator[Event]:
        """The events of these kinds or artifact names, in order."""
        wanted = frozenset(names)
        return (event for event in self.events if event.name in wanted)


def read_log(path: Path) -> TraceLog:
    """Parse the log in this file (plain or gzip). Raises OSError if it cannot be read; never for its contents.

    A process in which nothing was traced writes no log at all: that is an empty log, ``parse_log(b"")``.
    """
    raw = path.read_bytes()
    return parse_log(gzip.decompress(raw) if raw.startswith(_GZIP_MAGIC) else raw)


def parse_log(raw: bytes) -> TraceLog:
    """Parse the text of a log. Byte offsets of the events are positions in ``raw``."""
    events: list[Event] = []
    strings: dict[int, str] = {}
    unknown: Counter[str] = Counter()
    damaged = 0
    truncated = False
    for offset, line, payload in _entries(raw):
        last = offset + len(line) >= len(raw)
        record = _record(line)
        if record is None:
            if last:
                truncated = True
            else:
                damaged += 1
            continue
        kind = next((key for key in record if key not in _CONTEXT_FIELDS), None)
        if kind is None:
            damaged += 1
            continue
        if kind == "str":
            _intern(record[kind], strings)
            continue
        if kind not in KNOWN_EVENTS:
            unknown[kind] += 1
        events.append(Event(offset, kind, record[kind], _compile_id(record), payload))
    return TraceLog(raw, tuple(events), strings, dict(unknown), damaged, truncated)


def _entries(raw: bytes) -> Iterator[tuple[int, bytes, tuple[int, int] | None]]:
    """(offset, header line, span of its payload) of each entry; blank lines are left out."""
    position = 0
    while position < len(raw):
        end = _line_end(raw, position)
        payload_start = payload_end = end + 1
        while raw.startswith(b"\t", payload_end):
            payload_end = _line_end(raw, payload_end) + 1
        line = raw[position:end]
        if line.strip():
            has_payload = payload_end > payload_start
            yield position, line, (payload_start, payload_end - 1) if has_payload else None
        position = payload_end


def _line_end(raw: bytes, start: int) -> int:
    end = raw.find(b"\n", start)
    return len(raw) if end < 0 else end


def _record(line: bytes) -> dict[str, Any] | None:
    header = _HEADER.match(line)
    if header is None:
        return None
    try:
        record = json.loads(line[header.end() :])
    except ValueError:
        return None
    return record if isinstance(record, dict) else None


def _intern(entry: object, strings: dict[int, str]) -> None:
    if isinstance(entry, list) and len(entry) == 2 and isinstance(entry[1], int):
        strings[entry[1]] = str(entry[0])


def _compile_id(record: Mapping[str, Any]) -> CompileId | None:
    def number(key: str) -> int | None:
        value = record.get(key)
        return value if isinstance(value, int) else None

    frame, frame_compile = number("frame_id"), number("frame_compile_id")
    autograd = number("compiled_autograd_id")
    if frame is None and frame_compile is None and autograd is None:
        return None
    return CompileId(frame, frame_compile, number("attempt") or 0, autograd)
