"""Graph breaks: one event for each compile that ended at one, and the distinct places behind them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Final

from evaluator.trace.break_messages import BreakText, parse_break, parse_messages
from evaluator.trace.compiles import Compile, Key, compile_key
from evaluator.trace.log import CompileId, TraceLog
from evaluator.trace.places import Places

BREAK_ARTIFACT: Final = "dynamo_graph_break_reason"

# torch words the refusal at the recompile limit as a break, with this site id; it has a fact of its own.
_REFUSAL_ID: Final = "gb0039"


@dataclass(frozen=True)
class BreakEvent:
    """One break in one compile, and the byte offset of its entry in the log."""

    compile_id: CompileId
    offset: int
    text: BreakText

    @property
    def site(self) -> tuple[str, int]:
        """The place in the source, which is what makes two breaks the same."""
        return self.text.file, self.text.line

    @property
    def frame_key(self) -> tuple[int | None, int | None]:
        """The frame whose compile ended here."""
        return self.compile_id.compiled_autograd, self.compile_id.frame


@dataclass(frozen=True)
class Break:
    """A distinct break as a bucket shows it, ready for a record.

    ``events`` counts this bucket's compiles that ended there; ``inherited`` says that an earlier bucket compiled the
    frame and this one runs it. ``then`` is what went wrong while torch handled the break (usually that the frame
    cannot be resumed); ``skipped_frame`` that the whole frame therefore runs eager. ``stack`` is outermost first.
    """

    reason: str
    id: str | None
    headline: str
    explanation: str | None
    hints: tuple[str, ...]
    context: str | None
    then: str | None
    skipped_frame: bool
    file: str
    line: int
    function: str | None
    stack: tuple[dict[str, Any], ...]
    inherited: bool
    events: int
    compile_id: str

    def as_dict(self) -> dict[str, Any]:
        """The fields by name, tuples as lists."""
        return {**asdict(self), "hints": list(self.hints), "stack": list(self.stack)}


def break_events(
    log: TraceLog, compiles: Iterable[Compile], places: Places, fullgraph: bool | None = None
) -> tuple[BreakEvent, ...]:
    """The breaks of a log, at most one a compile: its last word, since a restarted attempt may log its break again.

    With ``fullgraph=False`` a frame that torch gave up on without logging a break is one too (some are logged only
    if torch's own graph-break log is on). Under ``fullgraph=True`` such a row is the error that the call raised, and
    with None it is not known which: both leave it out.
    """
    last: dict[Key, BreakEvent] = {}
    for event in log.named(BREAK_ARTIFACT):
        payload = log.payload(event)
        if event.compile_id is None or payload is None:
            continue
        text = parse_break(payload, places)
        if text.message.id != _REFUSAL_ID:
            last[compile_key(event.compile_id)] = BreakEvent(event.compile_id, event.offset, text)
    if fullgraph is False:
        for row in compiles:
            if row.forward and row.fail_type == "Unsupported" and not row.refused and row.key not in last:
                last[row.key] = BreakEvent(row.compile_id, row.offset, _text_of_row(row, places))
    return tuple(sorted(last.values(), key=lambda item: item.offset))


def distinct_breaks(events: Sequence[BreakEvent], inherited: Sequence[BreakEvent]) -> tuple[Break, ...]:
    """One record for each place and kind of break in order of appearance, the inherited after the bucket's own."""
    records: dict[tuple[tuple[str, int], str], Break] = {}
    for event in events:
        key = event.site, event.text.message.id or event.text.message.headline
        record = records.get(key) or _record(event, inherited=False)
        records[key] = replace(record, events=record.events + 1)
    for event in inherited:
        key = event.site, event.text.message.id or event.text.message.headline
        records.setdefault(key, _record(event, inherited=True))
    return tuple(records.values())


def _text_of_row(row: Compile, places: Places) -> BreakText:
    message, then = parse_messages(row.fail_reason or "", places)
    return BreakText(
        message=message,
        then=then,
        file=row.fail_file or row.file or "",
        line=row.fail_line or row.line or 0,
        function=row.function,
        stack=(),
        skipped_frame=True,
    )


def _record(event: BreakEvent, inherited: bool) -> Break:
    text = event.text
    return Break(
        reason=text.message.reason,
        id=text.message.id,
        headline=text.message.headline,
        explanation=text.message.explanation,
        hints=text.message.hints,
        context=text.message.context,
        then=text.then.reason if text.then else None,
        skipped_frame=text.skipped_frame,
        file=text.file,
        line=text.line,
        function=text.function,
        stack=tuple(asdict(frame) for frame in text.stack),
        inherited=inherited,
        events=0,
        compile_id=event.compile_id.text,
    )
