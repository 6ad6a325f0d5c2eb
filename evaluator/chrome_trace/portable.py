"""A Chrome trace as it may be kept: without what it says of the machine, its files and its user."""

from __future__ import annotations

import json
import re
from typing import Any, Final

from evaluator.chrome_trace.events import MOST_BYTES, ChromeTraceError

# Everything else that stands beside the events is left out: libkineto writes the host's name, its own log, and what
# anybody adds to the profiler.
_KEPT: Final = (
    *("schemaVersion", "deviceProperties", "displayTimeUnit", "baseTimeNanoseconds"),
    *("cupti_version", "cuda_runtime_version", "cuda_driver_version"),
)
# An absolute path of two parts or more; a slash inside a word is none.
_FOLDERS: Final = re.compile(r"(?<![\w./~<>])(?:~|/[\w.@+-]+)(?:/[\w.@+-]+)*/(?=[\w.@+-])")


def portable(raw: bytes, name: str) -> bytes:
    """The trace under another name, an event a line; of a path in it the file's name is left, and of what stands beside the
    events what libkineto says of the device and the versions.

    Raises ChromeTraceError where these bytes are no whole trace.
    """
    if len(raw) > MOST_BYTES:
        raise ChromeTraceError(f"the trace has more than {MOST_BYTES >> 20} MB")
    try:
        found = json.loads(raw)
    except (ValueError, RecursionError) as error:
        raise ChromeTraceError("the trace is no whole JSON") from error
    events = found.get("traceEvents") if isinstance(found, dict) else None
    if not isinstance(events, list):
        raise ChromeTraceError("this is JSON, but no Chrome trace: it has no list of events")
    head = {key: found[key] for key in _KEPT if key in found} | {"traceName": name}
    lines = ",\n".join(_line(without_folders(one)) for one in events)
    return f'{_line(head)[:-1]},\n"traceEvents":[\n{lines}\n]}}\n'.encode()


def without_folders(value: Any) -> Any:
    """A copy of a JSON value in which every absolute path is its last part alone."""
    if isinstance(value, str):
        return _FOLDERS.sub("", value) if "/" in value else value
    if isinstance(value, dict):
        return {key: without_folders(item) for key, item in value.items()}
    if isinstance(value, list):
        return [without_folders(item) for item in value]
    return value


def _line(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))
