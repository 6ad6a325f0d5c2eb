"""The walk: every bucket in order in one process, as a server would meet them, then the whole walk again.

What the compiler did is read from its structured trace afterwards, by a module without torch; this process
says where in the log each call began, how long each bucket's first call took, and which compiled regions ran
in it at the end. Timing follows here, so that it times the code that serves.
"""

from __future__ import annotations

import contextlib
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import torch

from evaluator.worker import calling
from evaluator.worker.errors import Unsupported
from evaluator.worker.probes import timing
from evaluator.worker.quiet import muted
from evaluator.worker.session import (
    WORKLOAD_ERRORS,
    ProbeSession,
    start_trace,
    trace_file,
    trace_offset,
)
from evaluator.worker.targets.codegen import walking
from evaluator.worker.targets.cuda import graphs
from evaluator.worker.trees import flatten
from evaluator.worker.walked import BucketWalk, CompileCount

if TYPE_CHECKING:
    from workloads.registry import Bucket

_REGION: Final = re.compile(r"Torch-Compiled Region: (\d+/\d+)")


def run(session: ProbeSession) -> None:
    """Walk the session's buckets twice, report each, and time them if the request asks for it."""
    trace_dir = Path(session.request["trace_dir"]) if session.request.get("trace_dir") else None
    walks = [BucketWalk(bucket) for bucket in session.buckets]
    if session.codegen is not None:
        # Before the trace begins: eager compiles too (torch.cond does), and would write a log of its own.
        walks = walking.without_slow(session, walks)
    if trace_dir is not None:
        start_trace(trace_dir)
    with session.calling_compiled():
        _run(session, walks, trace_dir)


def _run(session: ProbeSession, walks: list[BucketWalk], trace_dir: Path | None) -> None:
    try:
        session.stage("build")
        built = session.build()
    except WORKLOAD_ERRORS as error:
        for walk in walks:
            walk.fail(session.ended(walk.bucket, error, "build"), "build")
            _report(session, walk)
        return
    count = CompileCount()
    try:
        compiled = session.compile(built)
    except Unsupported as error:
        for walk in walks:
            walk.fail(session.ended(walk.bucket, error, "compile"), "compile")
            _report(session, walk)
        return
    watch = graphs.Watch() if session.target.name == "cuda" else None
    for number in (1, 2):
        for walk in walks:
            if walk.status != "ok":
                continue
            _visit(session, walk, compiled, number, count, trace_dir)
            if watch is not None:
                walk.cuda_graphs = graphs.merged(walk.cuda_graphs, watch.take())
            if walk.status != "ok":
                # Told at once, in whichever walk it failed: a later bucket may end the process.
                _report(session, walk)
    for walk in walks:
        if walk.status == "ok":
            _mark(session, walk.bucket, 3, 0, trace_dir)
            if session.codegen is None:
                _note_regions(session, walk, compiled, count)
            _report(session, walk)
    if trace_dir is not None:
        log = trace_file(trace_dir)
        session.emit({"kind": "trace", "path": str(log) if log else None})
    if session.request.get("timing"):
        timing.run(session, compiled, [walk for walk in walks if walk.status == "ok"], count)


def _visit(
    session: ProbeSession,
    walk: BucketWalk,
    compiled: Any,
    number: int,
    count: CompileCount,
    trace_dir: Path | None,
) -> None:
    """One visit of a bucket: its calls, each with fresh inputs, each ready before the next begins.

    Where nothing is timed, one call tells that the second walk compiles nothing, and which regions run.
    """
    bucket = walk.bucket
    last = session.codegen is not None and number == 2
    for call in range(1 if last else session.calls):
        stage, before = "inputs", count.total
        try:
            session.stage(stage, bucket)
            args, kwargs = session.inputs(bucket)
            versions = _versions(args, kwargs)
            stage = "compile" if number == 1 and call == 0 else "call"
            session.stage(stage, bucket)
            _mark(session, bucket, number, call, trace_dir)
            before = count.total
            started = time.perf_counter()
            with _regions_of(walk, count) if last else contextlib.nullcontext():
                calling.call(
                    session.workload, compiled, args, kwargs, seed=session.seed, target=session.target
                )
            elapsed = time.perf_counter() - started
        except WORKLOAD_ERRORS as error:
            # Eager is asked next whether it raises too, and may compile something itself (torch.cond does).
            walk.count(number, count.total - before)
            walk.fail(session.ended(bucket, error, stage), stage)
            return
        finally:
            walking.note_generated(session, walk)
        walk.count(number, count.total - before)
        if number == 1 and call == 0:
            walk.first_call_s = elapsed
            walk.mutates = [
                path for path, version in _versions(args, kwargs).items() if versions.get(path) != version
            ]


def _mark(session: ProbeSession, bucket: Bucket, walk: int, call: int, trace_dir: Path | None) -> None:
    """Say where in the log a call begins. What is called after the walks belongs to walk 3, which is none."""
    start = trace_offset(trace_dir) if trace_dir else 0
    session.emit({"kind": "segment", "bucket": bucket.name, "walk": walk, "call": call, "start": start})


def _versions(args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, int]:
    """How often each input tensor was written in place so far, by path; inference tensors keep no count."""
    found = {}
    for path, tensor in [*flatten(args, "args").tensors(), *flatten(kwargs, "kwargs").tensors()]:
        if not tensor.is_inference():
            found[path] = tensor._version
    return found


def _note_regions(session: ProbeSession, walk: BucketWalk, compiled: Any, count: CompileCount) -> None:
    """Ask the profiler, in one untimed call, which compiled regions with a graph run for this bucket.

    After the recompile limit a frame runs eager in silence: only what ran can tell. None if the call fails.
    """
    session.stage("call", walk.bucket)
    args, kwargs = session.inputs(walk.bucket)
    try:
        with _regions_of(walk, count):
            calling.call(session.workload, compiled, args, kwargs, seed=session.seed, target=session.target)
    except WORKLOAD_ERRORS as error:
        walk.fail(session.ended(walk.bucket, error, "call"), "call")


@contextlib.contextmanager
def _regions_of(walk: BucketWalk, count: CompileCount) -> Iterator[None]:
    """Notes the regions with a graph that ran inside; none where the call in it raises."""
    with _profile() as profile:
        yield
    names = {match.group(1) for event in profile.function_events if (match := _REGION.fullmatch(event.name))}
    walk.regions = sorted(names - count.empty)


@contextlib.contextmanager
def _profile() -> Iterator[Any]:
    """torch's profiler, without the lines that its start and stop write into every workload's log."""
    profile = torch.autograd.profiler.profile()
    with muted():
        profile.__enter__()
    try:
        yield profile
    finally:
        with muted():
            profile.__exit__(None, None, None)


def _report(session: ProbeSession, walk: BucketWalk) -> None:
    session.result(
        walk.bucket,
        walk.status,
        "walk",
        reason=walk.reason,
        stage=walk.stage,
        error=walk.error,
        samples=_first_call(session, walk),
        facts={
            "compile_starts": walk.compiles[0],
            "second_walk_compile_starts": walk.compiles[1],
            "mutates": walk.mutates,
            "regions": walk.regions,
            **walking.facts_of_card(session, walk),
            **_graph_facts(session, walk),
        },
    )


def _graph_facts(session: ProbeSession, walk: BucketWalk) -> dict[str, Any]:
    if session.target.name != "cuda":
        return {}
    return {"cuda_graphs": graphs.fact(walk.cuda_graphs, session.options, walk.regions)}


def _first_call(session: ProbeSession, walk: BucketWalk) -> list[Any]:
    """The sample of the first call; none for a card that is not there, whose code never ran."""
    if session.codegen is not None:
        return []
    flags = [] if walk.compiles[0] else ["reused_code"]
    sample = {"metric": "walk.first_call_s", "round": None, "value": walk.first_call_s, "flags": flags}
    return [sample] if walk.status == "ok" else [{**sample, "value": None, "flags": ["failed"]}]
