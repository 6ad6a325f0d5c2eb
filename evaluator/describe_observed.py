"""What was seen to run in an evaluation's profiled batches, as lines."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from evaluator.chrome_trace.names import short
from evaluator.table import MISSING, aligned, number
from evaluator.worker.protocol import MODES

Document = dict[str, Any]

# heading -> the field of an observed kernel, the numbers from the fifth on.
_COLUMNS: Final = ("mode", "kind", "name", "launches", "device ms", "registers", "spills")


def observed_lines(evaluation: Document) -> Iterator[str]:
    """What a batch launched in each mode or why that is not known, then kernels, copies and sets by name, and where the host was
    made to wait."""
    profile = (evaluation.get("facts") or {}).get("profile") or {}
    said = {mode: profile[mode] for mode in MODES if isinstance(profile.get(mode), dict)}
    for mode, one in said.items():
        batch = one.get("batch") or {}
        if batch:
            counts = ", ".join(
                f"{MISSING if batch.get(name) is None else batch[name]} {what}"
                for name, what in (("kernels", "kernel launches"), ("copies", "copies"), ("sets", "sets"))
            )
            bound = f", bound by the {batch['bound']}" if batch.get("bound") else ""
            yield f"profiled {mode}, {one.get('calls')} calls: {counts}{bound}"
        elif one.get("reason"):
            yield f"profiled {mode}, kernels not known: {one['reason']}"
    kernels = (evaluation.get("observed") or {}).get("kernels") or []
    if kernels:
        rows = [list(_COLUMNS), *(list(_row(one)) for one in kernels)]
        yield from aligned(rows, 3, len(_COLUMNS))
        yield "device ms: all launches of the batch together, under the profiler; no timing"
    for mode, one in said.items():
        for point in one.get("sync_points") or ():
            yield (
                f"the host waits ({mode}) at {point.get('file')}:{point.get('line')} in {point.get('function')}, "
                f"{point.get('times')} time(s) a call"
            )


def _row(one: Document) -> Iterator[str]:
    yield from (str(one.get("mode")), str(one.get("kind")), short(str(one.get("name"))))
    yield str(one.get("launches"))
    yield number(one.get("device_ms"))
    yield from (MISSING if one.get(name) is None else str(one[name]) for name in ("registers", "spills"))
