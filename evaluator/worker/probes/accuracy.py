"""The accuracy probe: what compiled calls return against what eager calls return, call by call.

Each pass builds the workload anew, beside what the first build left at the top of its file, and visits the buckets in
order, with fresh inputs from the same seed before each call: eager; eager again, for its own noise; float64; compiled.
Where a random generator moved in eager the compiled pass runs once more with Inductor told to draw as eager does. One
bucket's failure leaves the others.
"""

from __future__ import annotations

import importlib
from typing import Any

import torch

from evaluator.worker import calling
from evaluator.worker.bucket_accuracy import BucketAccuracy, Difference
from evaluator.worker.calling import Outcome
from evaluator.worker.closeness import coarser
from evaluator.worker.compare import ComparedCall, Noise, repeat_noise
from evaluator.worker.errors import describe_error
from evaluator.worker.file_state import FileState
from evaluator.worker.reference import (
    ReferenceUnavailable,
    cast_inputs,
    coarsest_dtype,
    float64_arithmetic,
    not_float64,
    widened_state,
)
from evaluator.worker.session import WORKLOAD_ERRORS, ProbeSession
from evaluator.worker.snapshot import Snapshot, Watch
from evaluator.worker.visit import Failure, Unreadable, Visit, report, run_check


def run(session: ProbeSession) -> None:
    """Judge the session's buckets and report each with one result."""
    visits = [Visit(bucket) for bucket in session.buckets]
    try:
        session.stage("build")
        built = session.build()
        state = FileState(session.workload)
    except WORKLOAD_ERRORS as error:
        for visit in visits:
            session.failure(visit.bucket, error, "build")
        return
    _eager(session, built, state, visits)
    del built
    _repeat(session, state, visits)
    _reference(session, state, visits)
    _compiled(session, state, visits)
    _fallback_random(session, state, [visit for visit in visits if visit.random])


def _eager(session: ProbeSession, built: Any, state: FileState, visits: list[Visit]) -> None:
    watch = Watch(built, state)
    for visit in visits:
        stage = "inputs"
        try:
            for _ in range(session.calls):
                stage = "inputs"
                args, kwargs = _inputs(session, visit)
                visit.coarsest = coarser(visit.coarsest, coarsest_dtype(built, args, kwargs, state.named()))
                stage = "eager"
                session.stage(stage, visit.bucket)
                snapshot, outcome = _call(session, built, watch, args, kwargs)
                visit.eager.append(snapshot)
                visit.eager_check = run_check(session, outcome)
        except WORKLOAD_ERRORS as error:
            visit.eager_failure = Failure(stage, error)


def _repeat(session: ProbeSession, state: FileState, visits: list[Visit]) -> None:
    """Eager again, compared at once: what it can't repeat can't be held against the compiled run."""
    try:
        session.stage("build")
        built = _built(session, state)
    except WORKLOAD_ERRORS:
        # The compiled pass builds too, and reports what it meets.
        return
    watch = Watch(built, state)
    for visit in visits:
        for snapshot in visit.eager:
            try:
                args, kwargs = _inputs(session, visit)
                session.stage("eager", visit.bucket)
                again, _ = _call(session, built, watch, args, kwargs)
            except WORKLOAD_ERRORS as error:
                reason = f"eager's second run raised {describe_error(error)['type']}"
                visit.noise.append(Noise(False, None, dict.fromkeys(snapshot.outputs, reason)))
                break
            visit.noise.append(repeat_noise(snapshot, again, visit.rules(session)))


def _reference(session: ProbeSession, state: FileState, visits: list[Visit]) -> None:
    """The float64 run, as far as it goes; a bucket it can't do says why and is judged by eager."""
    try:
        session.stage("build")
        built = _built(session, state)
        with widened_state(built, state.named()):
            watch = Watch(built, state)
            for visit in visits:
                _visit_reference(session, visit, built, watch)
    except WORKLOAD_ERRORS as error:
        for visit in visits:
            visit.no_reference = _unavailable(error)


def _visit_reference(session: ProbeSession, visit: Visit, built: Any, watch: Watch) -> None:
    for snapshot in visit.eager:
        try:
            args, kwargs = cast_inputs(*_inputs(session, visit))
            session.stage("reference", visit.bucket)
            with float64_arithmetic(session.target.device) as coarsest:
                found, _ = _call(session, built, watch, args, kwargs)
        except WORKLOAD_ERRORS as error:
            visit.no_reference = _unavailable(error)
            return
        visit.coarsest = coarser(visit.coarsest, coarsest.dtype)
        visit.no_reference = visit.no_reference or not_float64(snapshot, found)
        visit.reference.append(found)


def _compiled(session: ProbeSession, state: FileState, visits: list[Visit]) -> None:
    try:
        session.stage("build")
        built = _built(session, state)
        compiled = session.compile(built)
    except WORKLOAD_ERRORS as error:
        for visit in visits:
            session.failure(visit.bucket, error, "build")
        return
    watch = Watch(built, state)
    for position, visit in enumerate(visits):
        visit.accuracy, visit.failure = _visit_compiled(session, visit, compiled, watch)
        if position == 0 and visit.eager and visit.failure is None:
            visit.accuracy.differences += _contamination(session, state, visit)
        # A bucket with a second series to come waits for it; every other is safe before the next may end us.
        if not visit.random:
            report(session, visit)
            visit.release()


def _fallback_random(session: ProbeSession, state: FileState, visits: list[Visit]) -> None:
    """The compiled pass once more, drawing random numbers as eager does, for the buckets that draw any."""
    if not visits:
        return
    importlib.import_module("torch._dynamo").reset()
    inductor_config = importlib.import_module("torch._inductor.config")
    with inductor_config.patch(fallback_random=True):
        try:
            session.stage("build")
            built = _built(session, state)
            compiled, watch = session.compile(built), Watch(built, state)
        except WORKLOAD_ERRORS as error:
            for visit in visits:
                report(session, visit, {"verdict": None, "reason": Failure("build", error).said()})
            return
        for visit in visits:
            accuracy, failure = _visit_compiled(session, visit, compiled, watch, draws_as_eager=True)
            record = accuracy.record()
            if failure is not None:
                record["error"] = describe_error(failure.error)
            report(session, visit, record)


def _visit_compiled(
    session: ProbeSession, visit: Visit, compiled: Any, watch: Watch, *, draws_as_eager: bool = False
) -> tuple[BucketAccuracy, Failure | None]:
    """Every compiled call of a bucket, each judged at once; stops at the first that raises."""
    accuracy = BucketAccuracy(visit.rules(session))
    stage = "inputs"
    try:
        for call in range(session.calls):
            stage = "inputs"
            args, kwargs = _inputs(session, visit)
            stage = "compile" if call == 0 else "call"
            session.stage(stage, visit.bucket)
            snapshot, outcome = _call(session, compiled, watch, args, kwargs)
            if call >= len(visit.eager):
                # Eager raised here; that this returned is all there is to know.
                accuracy.note_unfinished(f"eager raised in call {call + 1}")
                break
            session.stage("compare", visit.bucket)
            _judge(accuracy, visit.compared(call, snapshot, draws_as_eager))
            visit.note_check(accuracy, run_check(session, outcome))
    except WORKLOAD_ERRORS as error:
        failure = Failure(stage, error)
        accuracy.note_unfinished(f"{failure.said()} in call {accuracy.calls + 1}")
        return accuracy, failure
    return accuracy, None


def _judge(accuracy: BucketAccuracy, call: ComparedCall) -> None:
    try:
        accuracy.add(call)
    except Exception as error:
        raise Unreadable(f"the outputs could not be compared: {type(error).__name__}: {error}") from error


def _contamination(session: ProbeSession, state: FileState, visit: Visit) -> list[Difference]:
    """Eager once more, after a compile in this process: it must still give what it gave before."""
    if not visit.noise or not all(noise.identical for noise in visit.noise):
        return []
    compiled = FileState(session.workload)
    try:
        built = _built(session, state)
        watch = Watch(built, state)
        for call, snapshot in enumerate(visit.eager):
            args, kwargs = _inputs(session, visit)
            session.stage("eager", visit.bucket)
            again, _ = _call(session, built, watch, args, kwargs)
            noise = repeat_noise(snapshot, again, visit.rules(session))
            if not noise.identical:
                after = f"another result in call {call + 1}, largest difference {noise.max_abs}"
                return [_contaminated(after)]
    except WORKLOAD_ERRORS as error:
        return [_contaminated(f"raised {describe_error(error)['type']}")]
    finally:
        # The compiled pass goes on with the next bucket.
        compiled.restore()
    return []


def _contaminated(after: str) -> Difference:
    return {
        "leaf": "out",
        "kind": "contamination",
        "eager": "before compiling",
        "compiled": f"after: {after}",
    }


def _built(session: ProbeSession, state: FileState) -> Any:
    """A fresh build, beside what the first one left in its file."""
    state.restore()
    return session.build()


def _call(
    session: ProbeSession, fn: Any, watch: Watch, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[Snapshot, Outcome]:
    """One call and its snapshot; a grad mode that inputs() switched reaches no further than its call."""
    try:
        before = watch.before(args, kwargs)
        outcome = calling.call(session.workload, fn, args, kwargs, seed=session.seed, target=session.target)
        try:
            return watch.after(before, outcome), outcome
        except Exception as error:
            raise Unreadable(f"the outputs could not be read: {type(error).__name__}: {error}") from error
    finally:
        torch.set_grad_enabled(True)


def _inputs(session: ProbeSession, visit: Visit) -> tuple[tuple[Any, ...], dict[str, Any]]:
    session.stage("inputs", visit.bucket)
    return session.inputs(visit.bucket)


def _unavailable(error: BaseException) -> str:
    if isinstance(error, ReferenceUnavailable):
        return str(error)
    info = describe_error(error)
    return f"the float64 run raised {info['type']}: {info['message'][:300]}"
