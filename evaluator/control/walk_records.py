"""A traced walk's evidence as fields of its buckets' records: facts, breaks, recompiles, kernels."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from evaluator import machine
from evaluator.control.attempts import Attempt
from evaluator.control.outcomes import ENDED, FAILED
from evaluator.trace.evidence import FACTS, Evidence, Segment, walk_evidence
from evaluator.trace.log import TraceLog, parse_log, read_log

Record = dict[str, Any]
# Keeps an artifact of a kind and gives its sha256.
Keep = Callable[[str, bytes], str]


def trace_file(folder: Path) -> Path | None:
    """The log a traced process wrote into its folder; None where nothing was traced."""
    return next(iter(sorted(folder.glob("*.log"))), None)


def read_evidence(attempt: Attempt, sources: Sequence[str], fullgraph: bool) -> dict[str, Evidence]:
    """The evidence of each bucket that this traced process came to."""
    assert attempt.trace_folder is not None
    path = trace_file(attempt.trace_folder)
    # A process in which nothing was traced writes no log: nothing happened, which is not "evidence lost".
    log: TraceLog = read_log(path) if path else parse_log(b"")
    segments = [
        Segment(bucket=record["bucket"], walk=record["walk"], call=record["call"], start=record["start"])
        for record in attempt.segments
    ]
    return walk_evidence(log, segments, sources=sources, fullgraph=fullgraph)


def evidence_fields(evidence: Evidence, keep: Keep) -> Record:
    """Facts, breaks, recompile_reasons, kernels and the artifacts that hold the kernels' sources."""
    found = evidence.as_dict()
    facts = found["facts"]
    # Lists that explain a fact are said only where there is something to explain.
    for name in ("refusals", "second_walk", "failures", "cudagraph_skips", "notes"):
        if found[name]:
            facts[f"evidence_{name}"] = found[name]
    phases = {name: value for name, value in found["phases"].items() if value is not None}
    if phases:
        facts["traced_phases"] = phases
    artifacts = []
    for kernel in found["kernels"]:
        source = kernel.pop("source", None)
        if source:
            kernel["source_sha256"] = keep("kernel_source", machine.shorten(source).encode())
            artifacts.append({"kind": "kernel_source", "sha256": kernel["source_sha256"]})
    return {
        "facts": facts,
        "breaks": found["breaks"],
        "recompile_reasons": found["recompile_reasons"],
        "kernels": found["kernels"],
        "artifacts": artifacts,
    }


def add_bytes_moved(kernels: Iterable[Record], generated: Iterable[Record]) -> None:
    """Give each kernel of a walk what Inductor said it moves, where it said so while it generated it."""
    said = {(_graph(one["graph"]), one["backward"], one["name"]): one["bytes_moved"] for one in generated}
    for kernel in kernels:
        key = (_graph(kernel["graph"]), kernel["origin"] == "backward", kernel["name"])
        kernel["bytes_moved"] = said.get(key)


def _graph(compile_id: str | None) -> str | None:
    """A compile id without the attempt at its end (``0/1_2``): each attempt generates anew."""
    return None if compile_id is None else compile_id.partition("_")[0]


def what_is_known(facts: Record, status: str) -> Record:
    """The facts of a walk that ended as ``status``, without what only calls that came back can tell.

    What raised did not go on in eager, and did not compile to the end either. A process that was ended while it
    compiled might have made a graph yet: that it made none is unknown too. What the target refused before the bucket had
    a graph was not tried: of nothing is it known that it was none.
    """
    if status not in FAILED:
        return facts
    known = facts | {"ran_eager": None}
    if status == "unsupported" and not facts["graphs"] and not _ran_earlier_code(facts):
        counted = {name: None if name in FACTS and not value else value for name, value in known.items()}
        return counted | {"nothing_compiled": None, "reused_code": None}
    if status in ENDED and facts["nothing_compiled"]:
        known["nothing_compiled"] = None
    return known


def _ran_earlier_code(facts: Record) -> bool:
    """Whether the call certainly ran code of earlier buckets: none was compiled anew, nor begun to be."""
    return bool(facts["reused_code"]) and facts.get("compile_starts") == 0


def whole_graph(facts: Record, fullgraph: bool, status: str) -> str:
    """Whether the whole call is one graph: yes, no, or untested.

    Only ``fullgraph=True`` tests it, by refusing anything else. Without it a break, a frame left to eager or a call
    that came back with nothing compiled says no, and their absence proves nothing.
    """
    if fullgraph:
        return {"ok": "yes", "compile_error": "no"}.get(status, "untested")
    if facts.get("graph_breaks") or facts.get("skipped_frames"):
        return "no"
    return "no" if facts.get("nothing_compiled") and status not in FAILED else "untested"


def ran_eager(bucket: str, regions: Sequence[str] | None, evidence: Mapping[str, Evidence]) -> str | None:
    """How much of a bucket's call ran eager: all of it, some of its regions after the recompile limit, or none.

    ``regions``: compile ids (``0/1``) of the compiled code that ran, None if that is not known; where there is none,
    nothing compiled ran, for whatever reason. A frame that the limit refused runs eager in silence from then on,
    so it is missed among them.
    """
    if regions is not None and not regions:
        return "all"
    refused: set[str] = set()
    for name, of in evidence.items():
        refused |= {one.compile_id.partition("/")[0].lstrip("!") for one in of.refusals}
        if name == bucket:
            break
    if not refused:
        return "none"
    if regions is None:
        return None
    ran = {region.partition("/")[0] for region in regions}
    if not refused - ran:
        return "none"
    return "some" if ran else "all"
