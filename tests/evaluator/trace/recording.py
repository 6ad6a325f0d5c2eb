"""Logs kept with the tests, so that the parser is tested without torch, and how they are renewed.

    python -m tests.evaluator.trace.walker /tmp/walks && python -m tests.evaluator.trace.recording /tmp/walks

keeps the walks named in RECORDED with neutral paths.
"""

from __future__ import annotations

import gzip
import json
import re
import sys
import sysconfig
from pathlib import Path
from typing import Any

from evaluator.trace.evidence import Segment
from evaluator.trace.log import TraceLog, read_log

REPOSITORY = Path(__file__).resolve().parents[3]
TRACES = REPOSITORY / "tests" / "data" / "traces"
RECORDED = ("two_breaks", "break_in_loop", "integer_argument", "goes_dynamic", "trained_cold", "trained_warm")


def segments_of(walk: dict[str, Any]) -> list[Segment]:
    return [Segment(**segment) for segment in walk["segments"]]


def recorded(name: str) -> tuple[TraceLog, list[Segment]]:
    """A kept log, and the byte offsets of its walk's calls."""
    walk = json.loads((TRACES / f"{name}.json").read_text())
    return read_log(TRACES / f"{name}.log.gz"), segments_of(walk)


def neutral(raw: bytes, folder: Path) -> bytes:
    """The log with this machine's paths replaced by made-up ones."""
    places = {
        sysconfig.get_path("purelib"): "/home/user/venv/lib/python3.11/site-packages",
        sysconfig.get_path("stdlib"): "/usr/lib/python3.11",
        str(REPOSITORY): "/home/user/compilewatch",
        str(folder): "/home/user/walks",
        sys.prefix: "/home/user/venv",
    }
    for place, name in places.items():
        raw = raw.replace(place.encode(), name.encode())
    return re.sub(rb"/tmp/[\w./-]+", b"/home/user/temporary", raw)


def keep(folder: Path, name: str) -> None:
    [log] = (folder / name).glob("*.log")
    walk = json.loads((folder / name / "walk.json").read_text())
    raw = log.read_bytes()
    kept = b""
    ends = [segment["start"] for segment in walk["segments"][1:]] + [len(raw)]
    for segment, end in zip(walk["segments"], ends, strict=True):
        start, segment["start"] = segment["start"], len(kept)
        kept += neutral(raw[start:end], folder)
    TRACES.mkdir(parents=True, exist_ok=True)
    (TRACES / f"{name}.log.gz").write_bytes(gzip.compress(kept, 9, mtime=0))
    (TRACES / f"{name}.json").write_text(json.dumps(walk, indent=1) + "\n")


if __name__ == "__main__":
    for recorded_name in RECORDED:
        keep(Path(sys.argv[1]), recorded_name)
