"""How many backward graphs were compiled: torch does it at three moments, and only one of them writes a row."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final

from evaluator.trace.compiles import Compile, Key, compile_key
from evaluator.trace.log import Event, TraceLog

# AOTAutograd's description of the forward says how many symbolic sizes it keeps for the backward.
_METADATA: Final = "aot_forward_graph_fw_metadata"
_SAVED_SIZES: Final = re.compile(r"\bnum_symints_saved_for_bw=([1-9]\d*)")


def backward_graphs(log: TraceLog, events: Sequence[Event], compiles: Iterable[Compile]) -> int:
    """Backward graphs that these compiles made ready to run.

    One is compiled when it first runs, which writes a row; together with its forward where that keeps symbolic sizes
    for it; or it comes whole out of the AOTAutograd cache. A backward that was only traced counts for nothing.
    """
    rows = list(compiles)
    ran = {row.key for row in rows if not row.forward and row.succeeded}
    kept = {row.key: row.compile_id.attempt for row in rows if row.forward and row.succeeded}
    traced: set[Key] = set()
    ready: set[Key] = set()
    failed: set[Key] = set()
    for event in events:
        if event.compile_id is None or kept.get(compile_key(event.compile_id)) != event.compile_id.attempt:
            continue
        key = compile_key(event.compile_id)
        if event.name == "aot_backward_graph":
            traced.add(key)
        elif event.name == "aotautograd_cache_hit" or (
            event.name == _METADATA and _SAVED_SIZES.search(log.payload(event) or "")
        ):
            ready.add(key)
        elif event.name == "eager_compile_backwards_failure":
            failed.add(key)
    return len(ran | ((traced & ready) - failed))
