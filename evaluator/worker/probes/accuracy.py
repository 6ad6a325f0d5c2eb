"""The accuracy probe: what compiled calls return against what eager calls return, call by call.

Each pass builds the workload anew and visits the buckets in order, with fresh inputs from the same seed before
each call: eager; eager again, for its own noise; float64; compiled. Where a random generator moved in eager the
compiled pass runs once more with Inductor told to draw as eager does. One bucket's failure leaves the others.
"""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import torch

from evaluator.worker import calling
from evaluator.worker.bucket_accuracy import STATUS_OF_VERDICT, BucketAccuracy, Difference
from evaluator.worker.calling import Outcome
from evaluator.worker.closeness import Rules, coarser
from evaluator.worker.compare import ComparedCall, Noise, Verdict, repeat_noise
from evaluator.worker.errors import describe_error, status_of
from evaluator.worker.protocol import ErrorInfo
from evaluator.worker.reference import (
    ReferenceUnavailable,
    cast_inputs,
    cast_state,
    coarsest_dtype,
    float64_arithmetic,
    not_float64,
)
from evaluator.worker.session import WORKLOAD_ERRORS, ProbeSession
from evaluator.worker.snapshot import Snapshot, Watch

if TYPE_CHECKING:
    from workloads.registry import Bucket


def run(session: ProbeSession) -> None:
    """Judge the session's buckets and report each with one result."""
    visits = [Visit(bucket) for bucket in session.buckets]
    try:
        session.stage("build")
        built = session.build()
    except WORKLOAD_ERRORS as error:
        for visit in visits:
            session.failure(visit.bucket, error, "build")
        return
    _eager(session, built, visits)
    del built
    _repeat(session, visits)
    _reference(session, visits)
    _compiled(session, visits)
    _fallback_random(session, [visit for visit in visits if visit.random])


def _eager(session: ProbeSession, built: Any, visits: list[Visit]) -> None:
    watch = Watch(built)
    for visit in visits:
        stage = "inputs"
        try:
            for _ in range(session.workload.calls):
                stage = "inputs"
                args, kwargs = _inputs(session, visit)
                visit.coarsest = coarser(visit.coarsest, coarsest_dtype(built, args, kwargs))
                stage = "eager"
                session.stage(stage, visit.bucket)
                snapshot, outcome = _call(session, built, watch, args, kwargs)
                visit.eager.append(snapshot)
                visit.eager_check = _check(session, outcome)
        except WORKLOAD_ERRORS as error:
            visit.eager_failure = Failure(stage, error)


def _repeat(session: ProbeSession, visits: list[Visit]) -> None:
    """Eager again, compared at once: what it can't repeat can't be held against the compiled run."""
    try:
        session.stage("build")
        built = session.build()
    except WORKLOAD_ERRORS:
        # The compiled pass builds too, and reports what it meets.
        return
    watch = Watch(built)
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
            visit.noise.append(repeat_noise(snapshot, again, _rules(session, visit)))


def _reference(session: ProbeSession, visits: list[Visit]) -> None:
    """The float64 run, as far as it goes; a bucket it can't do says why and is judged by eager."""
    try:
        session.stage("build")
        built = session.build()
        cast_state(built)
    except WORKLOAD_ERRORS as error:
        for visit in visits:
            visit.no_reference = _unavailable(error)
        return
    watch = Watch(built)
    for visit in visits:
        for snapshot in visit.eager:
            try:
                args, kwargs = cast_inputs(*_inputs(session, visit))
                session.stage("reference", visit.bucket)
                with float64_arithmetic(session.target.device) as coarsest:
                    found, _ = _call(session, built, watch, args, kwargs)
            except WORKLOAD_ERRORS as error:
                visit.no_reference = _unavailable(error)
                break
            visit.coarsest = coarser(visit.coarsest, coarsest.dtype)
            visit.no_reference = visit.no_reference or not_float64(snapshot, found)
            visit.reference.append(found)


def _compiled(session: ProbeSession, visits: list[Visit]) -> None:
    try:
        session.stage("build")
        compiled = session.compile(session.build())
    except WORKLOAD_ERRORS as error:
        for visit in visits:
            session.failure(visit.bucket, error, "build")
        return
    watch = Watch(compiled)
    for position, visit in enumerate(visits):
        visit.accuracy, visit.failure = _visit_compiled(session, visit, compiled, watch)
        if position == 0 and visit.eager and visit.failure is None:
            visit.accuracy.differences += _contamination(session, visit)
        # A bucket with a second series to come waits for it; every other is safe before the next may end us.
        if not visit.random:
            _report(session, visit, None)


def _fallback_random(session: ProbeSession, visits: list[Visit]) -> None:
    """The compiled pass once more, drawing random numbers as eager does, for the buckets that draw any."""
    if not visits:
        return
    importlib.import_module("torch._dynamo").reset()
    inductor_config = importlib.import_module("torch._inductor.config")
    with inductor_config.patch(fallback_random=True):
        try:
            session.stage("build")
            compiled = session.compile(session.build())
            watch = Watch(compiled)
        except WORKLOAD_ERRORS as error:
            for visit in visits:
                _report(
                    session,
                    visit,
                    {"verdict": None, "reason": f"build raised {describe_error(error)['type']}"},
                )
            return
        for visit in visits:
            accuracy, failure = _visit_compiled(session, visit, compiled, watch)
            if failure is not None:
                info = describe_error(failure.error)
                record: dict[str, Any] = {"verdict": None, "reason": f"raised {info['type']}", "error": info}
            else:
                record = accuracy.record()
            _report(session, visit, record)


def _visit_compiled(
    session: ProbeSession, visit: Visit, compiled: Any, watch: Watch
) -> tuple[BucketAccuracy, Failure | None]:
    """Every compiled call of a bucket, each judged at once; stops at the first that raises."""
    accuracy = BucketAccuracy(_rules(session, visit))
    stage = "inputs"
    try:
        for call in range(session.workload.calls):
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
            accuracy.add(_compared(visit, call, snapshot))
            _note_check(accuracy, visit, _check(session, outcome))
    except WORKLOAD_ERRORS as error:
        accuracy.note_unfinished(
            f"{stage} raised {describe_error(error)['type']} in call {accuracy.calls + 1}"
        )
        return accuracy, Failure(stage, error)
    return accuracy, None


def _contamination(session: ProbeSession, visit: Visit) -> list[Difference]:
    """Eager once more, after a compile in this process: it must still give what it gave before."""
    if not visit.noise or not all(noise.identical for noise in visit.noise):
        return []
    found: list[Difference] = []
    try:
        built = session.build()
        watch = Watch(built)
        for call, snapshot in enumerate(visit.eager):
            session.stage("eager", visit.bucket)
            again, _ = _call(session, built, watch, *_inputs(session, visit))
            noise = repeat_noise(snapshot, again, _rules(session, visit))
            if not noise.identical:
                after = f"another result in call {call + 1}, largest difference {noise.max_abs}"
                found.append(_contaminated(after))
    except WORKLOAD_ERRORS as error:
        found.append(_contaminated(f"raised {describe_error(error)['type']}"))
    return found


def _contaminated(after: str) -> Difference:
    return {
        "leaf": "out",
        "kind": "contamination",
        "eager": "before compiling",
        "compiled": f"after: {after}",
    }


def _call(
    session: ProbeSession, fn: Any, watch: Watch, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[Snapshot, Outcome]:
    """One call and its snapshot; a grad mode that the workload switched reaches no further than the call."""
    with _ordinary_grad_mode_after():
        before = watch.before(args, kwargs)
        outcome = calling.call(session.workload, fn, args, kwargs, seed=session.seed, target=session.target)
        return watch.after(before, outcome), outcome


@contextlib.contextmanager
def _ordinary_grad_mode_after() -> Iterator[None]:
    try:
        yield
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
