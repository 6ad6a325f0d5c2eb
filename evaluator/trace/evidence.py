"""What the compiler did in each shape bucket of a walk, from the walk's structured log.

An event belongs to the call during which torch wrote it: the caller notes the log's size before each call, and a
bucket's facts are what its calls of the first walk caused. Compiles of the second walk are counted apart, since a
stable workload has none.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from evaluator.trace.backwards import backward_graphs
from evaluator.trace.breaks import Break, BreakEvent, break_events, distinct_breaks
from evaluator.trace.compiles import Compile, Key, compile_key, compiles_of
from evaluator.trace.kernel_uses import KernelUse, kernel_uses
from evaluator.trace.log import Event, TraceLog
from evaluator.trace.phases import Phases, add_up
from evaluator.trace.places import places_for
from evaluator.trace.recompiles import Recompile, logged_reasons, recompiles_of
from evaluator.trace.segments import Calls
from evaluator.trace.segments import Segment as Segment

Fact = int | bool | None

# Every fact, so that evidence that was lost can say None for each.
FACTS: Final = (
    "graphs",
    "ops",
    "graph_breaks",
    "break_events",
    "compiles",
    "recompiles",
    "recompile_limit_hit",
    "refused_compiles",
    "skipped_frames",
    "failed_compiles",
    "second_walk_compiles",
    "cache_hits",
    "cache_misses",
    "cache_bypasses",
    "aot_cache_hits",
    "aot_cache_misses",
    "aot_cache_bypasses",
    "backward_graphs",
    "dynamic_symbols",
    "guards",
    "nothing_compiled",
    "reused_code",
)

_CACHE_ARTIFACTS: Final = {
    "fx_graph_cache_hit": "cache_hits",
    "fx_graph_cache_miss": "cache_misses",
    "fx_graph_cache_bypass": "cache_bypasses",
    "aotautograd_cache_hit": "aot_cache_hits",
    "aotautograd_cache_miss": "aot_cache_misses",
    "aotautograd_cache_bypass": "aot_cache_bypasses",
}


@dataclass(frozen=True)
class Evidence:
    """What the compiler did in one bucket's calls of the first walk.

    ``facts`` holds every name of ``FACTS``, None for what is not known. ``refusals`` are attempts that the recompile
    limit stopped, which are no recompiles; ``second_walk`` is why the second walk compiled again; ``failures`` are
    compiles that raised or gave up: ``{"compile_id", "type", "message", "file", "line"}``.
    """

    bucket: str
    facts: Mapping[str, Fact]
    breaks: tuple[Break, ...] = ()
    recompile_reasons: tuple[Recompile, ...] = ()
    refusals: tuple[Recompile, ...] = ()
    second_walk: tuple[Recompile, ...] = ()
    failures: tuple[Mapping[str, Any], ...] = ()
    kernels: tuple[KernelUse, ...] = ()
    cudagraph_skips: tuple[str, ...] = ()
    phases: Phases = field(default_factory=Phases)
    notes: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """Plain data for a record: facts, breaks, recompile_reasons, refusals, second_walk, failures, kernels, ..."""
        return {
            "facts": dict(self.facts),
            "breaks": [item.as_dict() for item in self.breaks],
            "recompile_reasons": [item.as_dict() for item in self.recompile_reasons],
            "refusals": [item.as_dict() for item in self.refusals],
            "second_walk": [item.as_dict() for item in self.second_walk],
            "failures": [dict(item) for item in self.failures],
            "kernels": [item.as_dict() for item in self.kernels],
            "cudagraph_skips": list(self.cudagraph_skips),
            "phases": self.phases.as_dict(),
            "notes": list(self.notes),
        }


def lost_evidence(bucket: str) -> Evidence:
    """What is known of a bucket whose log was lost: nothing, so every fact is None."""
    return Evidence(bucket, dict.fromkeys(FACTS), notes=("the trace of this walk was lost",))


def walk_evidence(
    log: TraceLog,
    segments: Sequence[Segment],
    *,
    sources: Sequence[str | Path] = (),
    fullgraph: bool | None = None,
) -> dict[str, Evidence]:
    """The evidence of each bucket, in the order in which the segments name them.

    ``sources`` are the workload sources, for short file names. ``fullgraph``: see ``breaks.break_events``. A bucket
    that the walk never reached has no segment and no evidence; an event before the first segment belongs to none.
    """
    places = places_for(sources)
    compiles = compiles_of(log, places)
    breaks = break_events(log, compiles, places, fullgraph)
    reasons = logged_reasons(log)
    calls = Calls(segments)
    rows = calls.split(compiles)
    ends = calls.split(breaks)
    events = calls.split(log.events)
    earlier = _Earlier()
    evidence: dict[str, Evidence] = {}
    for bucket in dict.fromkeys(segment.bucket for segment in segments):
        own, own_breaks = rows[bucket, 1], ends[bucket, 1]
        broken = {compile_key(event.compile_id) for event in own_breaks}
        inherited = earlier.inherited(own)
        earlier.add(own, own_breaks)
        shown = distinct_breaks(own_breaks, inherited)
        found = recompiles_of(own, reasons, places)
        again = recompiles_of(rows[bucket, 2], reasons, places)
        kernels, notes = kernel_uses(log, events[bucket, 1], own)
        facts = _facts(own, events[bucket, 1], broken)
        facts["backward_graphs"] = backward_graphs(log, events[bucket, 1], own)
        facts["graph_breaks"] = len({(item.file, item.line) for item in shown})
        facts["break_events"] = len(own_breaks)
        facts["recompile_limit_hit"] = earlier.limit_hit
        facts["nothing_compiled"] = not earlier.compiled_a_graph
        facts["reused_code"] = earlier.reused_by(own)
        facts["second_walk_compiles"] = _successes(rows[bucket, 2]) if calls.reached(bucket, walk=2) else None
        evidence[bucket] = Evidence(
            bucket=bucket,
            facts={name: facts[name] for name in FACTS},
            breaks=shown,
            recompile_reasons=tuple(item for item in found if not item.refused),
            refusals=tuple(item for item in found if item.refused),
            second_walk=tuple(item for item in again if not item.refused),
            failures=tuple(_failure(row) for row in own if _failed(row, broken)),
            kernels=kernels,
            cudagraph_skips=tuple(dict.fromkeys(row.cudagraph_skip for row in own if row.cudagraph_skip)),
            phases=add_up(row.phases for row in own),
            notes=notes,
        )
    return evidence


class _Earlier:
    """What the buckets so far left behind in the process."""

    def __init__(self) -> None:
        self.limit_hit = False
        self.compiled_a_graph = False
        self.breaks: list[BreakEvent] = []

    def inherited(self, compiles: Iterable[Compile]) -> list[BreakEvent]:
        """Breaks in frames that these compiles did not compile anew, and which the bucket therefore runs as they are."""
        anew = {row.frame_key for row in compiles if row.forward and row.succeeded}
        return [event for event in self.breaks if event.frame_key not in anew]

    def add(self, compiles: Sequence[Compile], breaks: Sequence[BreakEvent]) -> None:
        self.limit_hit = self.limit_hit or any(row.refused for row in compiles)
        self.compiled_a_graph = self.compiled_a_graph or any(row.graphs for row in compiles)
        self.breaks += breaks

    def reused_by(self, compiles: Sequence[Compile]) -> bool | None:
        """Whether a bucket with these compiles only ran code of earlier buckets.

        Once the limit was hit a silent bucket runs either cached code or eager, and the log does not say which.
        """
        if compiles or not self.compiled_a_graph:
            return False
        return None if self.limit_hit else True


def _facts(compiles: Sequence[Compile], events: Sequence[Event], broken: set[Key]) -> dict[str, Fact]:
    succeeded = [row for row in compiles if row.forward and row.succeeded]
    guards = [row.guards for row in succeeded if row.guards is not None]
    facts: dict[str, Fact] = {
        "graphs": sum(row.graphs for row in succeeded),
        "ops": sum(row.ops for row in succeeded),
        "compiles": len(succeeded),
        "recompiles": sum(1 for row in succeeded if row.recompile),
        "refused_compiles": sum(1 for row in compiles if row.refused),
        "skipped_frames": sum(1 for row in compiles if _left_to_eager(row, broken)),
        "failed_compiles": sum(1 for row in compiles if _failed(row, broken)),
        "dynamic_symbols": sum(len(row.symbols) for row in succeeded),
        "guards": sum(guards) if guards else None if succeeded else 0,
    }
    names = [event.name for event in events]
    return {**facts, **{fact: names.count(name) for name, fact in _CACHE_ARTIFACTS.items()}}


def _left_to_eager(row: Compile, broken: set[Key]) -> bool:
    """A frame that torch chose to run eager, because of a break it cannot resume from or by its own rules."""
    return row.forward and (
        row.fail_type == "SkipFrame" or (row.fail_type == "Unsupported" and row.key in broken)
    )


def _failed(row: Compile, broken: set[Key]) -> bool:
    """A compile that raised."""
    return row.fail_type is not None and not row.refused and not _left_to_eager(row, broken)


def _successes(compiles: Iterable[Compile]) -> int:
    return sum(1 for row in compiles if row.forward and row.succeeded)


def _failure(row: Compile) -> dict[str, Any]:
    return {
        "compile_id": row.compile_id.text,
        "type": row.fail_type,
        "message": row.fail_reason,
        "file": row.fail_file,
        "line": row.fail_line,
    }
