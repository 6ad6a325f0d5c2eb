"""Writes structured logs by hand, for what a real compile shows rarely or another version worded differently."""

from __future__ import annotations

import json
from typing import Any

from evaluator.trace.evidence import Segment
from evaluator.trace.log import TraceLog, parse_log

PREFIX = "V0203 10:11:12.131415 4242 torch/_dynamo/utils.py:2009] "


class LogWriter:
    """Builds a log entry by entry, and the calls of the walk that wrote it."""

    def __init__(self) -> None:
        self.text = ""
        self.segments: list[Segment] = []

    def call(self, bucket: str, walk: int = 1, number: int = 0) -> None:
        """Entries from here on belong to this call."""
        self.segments.append(Segment(bucket, walk, number, len(self.text.encode())))

    def entry(self, kind: str, data: Any, compile_id: str | None = None, payload: str | None = None) -> None:
        """One event; ``compile_id`` is frame/recompile, or frame/recompile/attempt."""
        record: dict[str, Any] = {kind: data}
        if compile_id:
            frame, recompile, *attempt = (int(part) for part in compile_id.split("/"))
            record |= {
                "frame_id": frame,
                "frame_compile_id": recompile,
                "attempt": attempt[0] if attempt else 0,
            }
        if payload is not None:
            record["has_payload"] = "0" * 32
        self.text += PREFIX + json.dumps(record) + "\n"
        if payload is not None:
            self.text += "".join(f"\t{line}\n" for line in payload.split("\n"))

    def artifact(self, name: str, compile_id: str, payload: str = "{}") -> None:
        self.entry("artifact", {"name": name, "encoding": "string"}, compile_id, payload)

    def graph(self, compile_id: str) -> None:
        self.entry("dynamo_output_graph", {"sizes": {}}, compile_id, "class GraphModule: ...")

    def compiled(self, compile_id: str, **fields: Any) -> None:
        """The row of a compile that succeeded."""
        row = {
            "co_name": "model",
            "co_filename": "/home/ada/model.py",
            "co_firstlineno": 3,
            "has_guarded_code": True,
        }
        self.entry(
            "compilation_metrics", {**row, "is_forward": True, "graph_op_count": 1, **fields}, compile_id
        )

    def failed(self, compile_id: str, fail_type: str, fail_reason: str = "", **fields: Any) -> None:
        failure = {"has_guarded_code": False, "fail_type": fail_type, "fail_reason": fail_reason}
        self.compiled(compile_id, **{**failure, **fields})

    def backward(self, compile_id: str, **fields: Any) -> None:
        self.entry("bwd_compilation_metrics", {"is_forward": False, **fields}, compile_id)

    def read(self) -> TraceLog:
        return parse_log(self.text.encode())
