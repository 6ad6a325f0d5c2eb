"""The profile probe: a Chrome trace of one batch of calls, one mode a process, and where the host waits for the device.

No time is taken here: a profiled host is slower. What the trace says is read by the evaluator, without torch. Every bucket is
met first, in order, so that the code of a walk is what runs; then each one is recorded.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import torch
from torch.profiler import ProfilerActivity, record_function

from evaluator.worker import calling, launchers, waits
from evaluator.worker.errors import describe_error
from evaluator.worker.protocol import PROFILED_REGION
from evaluator.worker.quiet import muted
from evaluator.worker.session import WORKLOAD_ERRORS, ProbeSession
from evaluator.worker.sides import Side
from evaluator.worker.walked import CompileCount

if TYPE_CHECKING:
    from workloads.registry import Bucket

# As often as a CUDA graph needs to be replayed.
_WARM_CALLS: Final = 3
_MOST_CALLS: Final = 5
# Of plain text, for all calls of a batch together: a page reads it in a second or so.
_WANTED_BYTES: Final = 8 << 20


def run(session: ProbeSession) -> None:
    """Record the session's buckets in the mode of the request; a trace is left in ``profile_dir`` for each."""
    # Tearing CUPTI down between two recordings is what crashes beside CUDA graphs; torch turns it off for them alone.
    os.environ["TEARDOWN_CUPTI"] = "0"
    mode = session.request["mode"]
    try:
        session.stage("build")
        built = session.build()
        fn = session.compile(built) if mode == "compiled" else built
    except WORKLOAD_ERRORS as error:
        for bucket in session.buckets:
            session.failure(bucket, error, "build")
        return
    count = CompileCount()
    first, later = ("compile", "call") if mode == "compiled" else ("eager", "eager")
    met = [bucket for bucket in session.buckets if _call_alone(session, bucket, fn, first)]
    for place, bucket in enumerate(met):
        # Buckets met since may have changed which code serves this one.
        if not _call_alone(session, bucket, fn, later):
            continue
        try:
            side = Side(session, bucket, mode, fn)
        except WORKLOAD_ERRORS as error:
            session.failure(bucket, error, later)
            continue
        session.stage("profile", bucket)
        facts = _recorded(session, side, Path(session.request["profile_dir"]) / f"{place}.json", count)
        facts |= _waits(session, side)
        facts["launchers"] = launchers.loaded() if mode == "compiled" else {}
        session.result(bucket, facts={mode: facts})


def _call_alone(session: ProbeSession, bucket: Bucket, fn: Any, stage: str) -> bool:
    """Call a bucket until nothing compiles or is captured any more; whether it went well, else its failure is reported."""
    session.stage(stage, bucket)
    try:
        for _ in range(max(_WARM_CALLS, session.calls)):
            args, kwargs = session.inputs(bucket)
            calling.call(session.workload, fn, args, kwargs, seed=session.seed, target=session.target)
    except WORKLOAD_ERRORS as error:
        session.failure(bucket, error, stage)
        return False
    return True


def _recorded(session: ProbeSession, side: Side, file: Path, count: CompileCount) -> dict[str, Any]:
    """The trace's file and how many calls it holds, or why there is none.

    What runs without the profiler and raises under it says nothing of the workload: no failure.
    """
    try:
        # Once for nothing: the first recording starts the profiler's own machinery. Its size says what a call takes.
        _record(session, side, 1, file)
        one = file.stat().st_size
        calls = max(1, min(_MOST_CALLS, _WANTED_BYTES // max(one, 1)))
        before = count.total
        _record(session, side, calls, file)
    except WORKLOAD_ERRORS as error:
        file.unlink(missing_ok=True)
        info = describe_error(error)
        problem = f"under the profiler it raised {info.get('type')}: {info.get('message', '')}"
        return {"calls": None, "file": None, "problem": problem.partition("\n")[0]}
    return {
        "calls": calls,
        "file": file.name,
        "problem": None,
        "compiles_in_batch": count.total - before,
    }


def _record(session: ProbeSession, side: Side, calls: int, file: Path) -> None:
    # A set for each call, since a call may change its own.
    inputs = [side.fresh() for _ in range(calls)]
    calling.synchronize(session.target)
    with calling.restored_grad_mode(), side.ready(), _profiling(session) as recorder:
        with record_function(PROFILED_REGION):
            side.submit(inputs)
        # Inside the recording, so that it has all of the device's work and the wait that ends it.
        calling.synchronize(session.target)
        if not torch.autograd._profiler_enabled():
            # To export what another one took with it is a segmentation fault of torch.
            raise RuntimeError("a profiler of the workload's own ended this one")
    with muted():
        recorder.export_chrome_trace(str(file))


@contextmanager
def _profiling(session: ProbeSession) -> Iterator[Any]:
    activities = [ProfilerActivity.CPU]
    if session.target.device.startswith("cuda"):
        activities.append(ProfilerActivity.CUDA)
    recorder = torch.profiler.profile(activities=activities)
    with muted():
        recorder.__enter__()
    try:
        yield recorder
    finally:
        with muted():
            recorder.__exit__(None, None, None)


def _waits(session: ProbeSession, side: Side) -> dict[str, Any]:
    """Where the host is made to wait in one more call, which nothing times or profiles; NULL with the reason elsewhere."""
    if not session.target.device.startswith("cuda"):
        return {
            "sync_points": None,
            "sync_reason": "the host does the work itself: there is no device to wait for",
        }
    before = torch.cuda.get_sync_debug_mode()
    try:
        inputs = [side.fresh()]
        calling.synchronize(session.target)
        with calling.restored_grad_mode(), side.ready(), waits.noted() as stacks:
            torch.cuda.set_sync_debug_mode("warn")
            try:
                side.submit(inputs)
            finally:
                torch.cuda.set_sync_debug_mode(before)
        calling.synchronize(session.target)
    except WORKLOAD_ERRORS as error:
        raised = describe_error(error).get("type")
        return {"sync_points": None, "sync_reason": f"with torch's sync debugging on it raised {raised}"}
    return {"sync_points": [one.as_json() for one in waits.sync_points(stacks)], "sync_reason": None}
