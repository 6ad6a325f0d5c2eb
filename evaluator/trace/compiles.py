"""The compiles in a log: one record for every compilation-metrics row, with what belongs to it gathered."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from evaluator.trace.log import CompileId, Event, TraceLog
from evaluator.trace.phases import Phases, phases_of
from evaluator.trace.places import Places, user_function

FORWARD_ROW: Final = "compilation_metrics"
BACKWARD_ROW: Final = "bwd_compilation_metrics"

# How the versions word it that a frame has been compiled too often: the exception's type, or the message's start.
_LIMIT: Final = re.compile(
    r"\b(?:Recompile|Cache)LimitExceeded\b|\bFailOnRecompileLimitHit\b|recompile limit exceeded"
    r"|\b(?:accumulated_)?(?:recompile|cache_size)_limit\b reached",
    re.IGNORECASE,
)

Key = tuple[int | None, int | None, int | None]


@dataclass(frozen=True)
class Compile:
    """One attempt of torch to compile a frame, or a frame's backward.

    ``succeeded``: guarded code was installed (forward), or the backward compiled. ``refused``: the recompile limit
    stopped it. ``graphs`` counts graphs whose backend succeeded (0 when the frame held nothing to compile), ``ops``
    their captured operators, ``symbols`` the sizes in them that stayed symbolic. ``offset`` is the byte position of
    the row, which torch writes when the compile is over.
    """

    compile_id: CompileId
    offset: int
    forward: bool
    succeeded: bool
    refused: bool
    frame: str | None
    function: str | None
    file: str | None
    line: int | None
    graphs: int
    ops: int
    guards: int | None
    symbols: tuple[str, ...]
    fail_type: str | None
    fail_reason: str | None
    fail_file: str | None
    fail_line: int | None
    recompile_reason: str | None
    cudagraph_skip: str | None
    phases: Phases

    @property
    def key(self) -> Key:
        """Identifies the compile without its attempts."""
        return compile_key(self.compile_id)

    @property
    def frame_key(self) -> tuple[int | None, int | None]:
        """Identifies the frame."""
        return self.compile_id.compiled_autograd, self.compile_id.frame

    @property
    def recompile(self) -> bool:
        """A frame that was compiled before was compiled again, with success."""
        return self.forward and self.succeeded and bool(self.compile_id.frame_compile)


def compile_key(compile_id: CompileId) -> Key:
    """Identifies a compile without its attempts."""
    return compile_id.compiled_autograd, compile_id.frame, compile_id.frame_compile


def compiles_of(log: TraceLog, places: Places) -> tuple[Compile, ...]:
    """Every compile in the log, in the order in which they ended."""
    gathered: dict[Key, list[Event]] = defaultdict(list)
    rows: list[Compile] = []
    names: dict[tuple[int | None, int | None], Mapping[str, Any]] = {}
    for event in log.events:
        if event.compile_id is None:
            continue
        if event.kind in ("dynamo_output_graph", "create_symbol", "create_unbacked_symbol") or (
            event.kind == "symbolic_shape_specialization"
        ):
            gathered[compile_key(event.compile_id)].append(event)
        elif event.kind in (FORWARD_ROW, BACKWARD_ROW) and isinstance(event.data, Mapping):
            frame = (event.compile_id.compiled_autograd, event.compile_id.frame)
            if event.data.get("co_name"):
                names[frame] = event.data
            rows.append(
                _compile(event, gathered[compile_key(event.compile_id)], names.get(frame, {}), places)
            )
    return tuple(rows)


def _compile(event: Event, gathered: list[Event], named: Mapping[str, Any], places: Places) -> Compile:
    row: Mapping[str, Any] = event.data
    assert event.compile_id is not None
    forward = event.kind == FORWARD_ROW and row.get("is_forward") is not False
    fail_type, fail_reason = _text(row.get("fail_type")), _text(row.get("fail_reason"))
    refused = _is_limit(fail_type, fail_reason)
    succeeded = row.get("has_guarded_code") is True if forward else fail_type is None
    # A restart logs its graph and symbols again: only those of the attempt that was kept belong to the compile.
    kept = [
        item for item in gathered if item.compile_id and item.compile_id.attempt == event.compile_id.attempt
    ]
    graphs = sum(1 for item in kept if item.kind == "dynamo_output_graph")
    counted = graphs if forward and succeeded else 0
    # Only the row of a compile names its frame; a refused attempt and a backward go by an earlier row of the frame.
    frame = _text(row.get("co_name")) or _text(named.get("co_name"))
    file = _text(row.get("co_filename")) or _text(named.get("co_filename"))
    fail_file = _text(row.get("fail_user_frame_filename"))
    return Compile(
        compile_id=event.compile_id,
        offset=event.offset,
        forward=forward,
        succeeded=succeeded and not refused,
        refused=refused,
        frame=frame,
        function=user_function(frame) if frame else None,
        file=places.file(file) if file else None,
        line=_number(row.get("co_firstlineno")) or _number(named.get("co_firstlineno")),
        graphs=counted,
        ops=(_number(row.get("graph_op_count")) or 0) if counted else 0,
        guards=_number(row.get("guard_count")),
        symbols=_symbols(kept) if counted else (),
        fail_type=fail_type,
        fail_reason=places.text(fail_reason) if fail_reason else None,
        fail_file=places.file(fail_file) if fail_file else None,
        fail_line=_number(row.get("fail_user_frame_lineno")),
        recompile_reason=_text(row.get("recompile_reason")),
        cudagraph_skip=_text(row.get("cudagraph_skip_reason")),
        phases=phases_of(row),
    )


def _is_limit(fail_type: str | None, fail_reason: str | None) -> bool:
    first_line = (fail_reason or "").split("\n", 1)[0]
    return bool(_LIMIT.search(f"{fail_type or ''}: {first_line}"))


def _symbols(events: list[Event]) -> tuple[str, ...]:
    """Symbols made and not turned back into constants, sorted."""
    made: set[str] = set()
    fixed: set[str] = set()
    for event in events:
        if not isinstance(event.data, Mapping):
            continue
        symbol = event.data.get("symbol")
        if isinstance(symbol, str):
            (fixed if event.kind == "symbolic_shape_specialization" else made).add(symbol)
    return tuple(sorted(made - fixed))


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None


def _number(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
