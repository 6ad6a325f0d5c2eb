"""What the accuracy probe gathers about one bucket over its passes, and how it is reported."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from evaluator.worker.bucket_accuracy import STATUS_OF_VERDICT, BucketAccuracy
from evaluator.worker.calling import Outcome
from evaluator.worker.closeness import Rules, coarser
from evaluator.worker.compare import ComparedCall, Noise, Verdict
from evaluator.worker.errors import describe_error, status_of
from evaluator.worker.protocol import ErrorInfo
from evaluator.worker.session import WORKLOAD_ERRORS, ProbeSession
from evaluator.worker.snapshot import Snapshot

if TYPE_CHECKING:
    from workloads.registry import Bucket


@dataclass(frozen=True)
class Failure:
    """What ended a bucket in one pass."""

    stage: str
    error: BaseException


@dataclass
class Visit:
    """All that is known of one bucket: eager's snapshots call by call, and what the other passes added."""

    bucket: Bucket
    eager: list[Snapshot] = field(default_factory=list)
    eager_failure: Failure | None = None
    eager_check: str | None = None
    noise: list[Noise] = field(default_factory=list)
    reference: list[Snapshot] = field(default_factory=list)
    no_reference: str | None = None
    coarsest: str = "float64"
    accuracy: BucketAccuracy | None = None
    failure: Failure | None = None

    @property
    def random(self) -> bool:
        """Whether a random generator moved in one of eager's calls."""
        return any(snapshot.generators for snapshot in self.eager)


def _rules(session: ProbeSession, visit: Visit) -> Rules:
    coarsest = visit.coarsest
    if session.workload.precision == "tf32" and session.target.device.startswith("cuda"):
        coarsest = coarser(coarsest, "tf32")
    return Rules(session.workload.tolerance, coarsest)


def _compared(visit: Visit, call: int, compiled: Snapshot) -> ComparedCall:
    usable = visit.no_reference is None and call < len(visit.reference)
    return ComparedCall(
        eager=visit.eager[call],
        compiled=compiled,
        reference=visit.reference[call] if usable else None,
        no_reference=None if usable else visit.no_reference or "the float64 run ended before this call",
        noise=visit.noise[call] if call < len(visit.noise) else None,
    )


def _check(session: ProbeSession, outcome: Outcome) -> str | None:
    """What the workload's own check says of an output: "ok", or its message; None if it has no check."""
    if session.workload.check is None:
        return None
    try:
        session.workload.check(outcome.args, outcome.kwargs, outcome.output)
    except AssertionError as error:
        return str(error) or "the workload's own check failed without a message"
    except WORKLOAD_ERRORS as error:
        return f"the workload's own check raised {describe_error(error)['type']}: {error}"
    return "ok"


def _note_check(accuracy: BucketAccuracy, visit: Visit, said: str | None) -> None:
    if said is None:
        return
    verdict: Verdict = "pass" if said == "ok" else "fail"
    if verdict == "fail" and visit.eager_check != "ok":
        verdict, said = "not_comparable", f"the workload's own check fails in eager too: {said}"
    accuracy.note_check(verdict, said)


def _report(session: ProbeSession, visit: Visit, fallback_random: dict[str, Any] | None) -> None:
    accuracy = visit.accuracy
    if accuracy is None:
        return
    fields: dict[str, Any] = {"samples": accuracy.samples(), "differences": accuracy.differences, "facts": {}}
    if accuracy.calls:
        fields["accuracy"] = accuracy.record()
    if fallback_random is not None:
        fields["accuracy_fallback_random"] = fallback_random
    if visit.eager_failure is not None:
        _report_eager_failure(session, visit, visit.eager_failure, fields)
    elif visit.failure is not None:
        session.failure(visit.bucket, visit.failure.error, visit.failure.stage, **fields)
    else:
        status = STATUS_OF_VERDICT[accuracy.verdict()]
        session.result(visit.bucket, status, reason=accuracy.reason(), **fields)


def _report_eager_failure(
    session: ProbeSession, visit: Visit, failed: Failure, fields: dict[str, Any]
) -> None:
    """Eager is what the compiled run is held against; where it raised, that is the finding."""
    info = describe_error(failed.error)
    status = status_of(failed.error, failed.stage)
    if failed.stage == "eager":
        info = ErrorInfo(**{**info, "message": f"EAGER: {info['message']}"})
        if visit.failure is None:
            reason = "eager raised, compiled returned"
        else:
            reason = f"eager raised, compiled raised {describe_error(visit.failure.error)['type']}"
    else:
        reason = f"{failed.stage} raised {info['type']}"
    session.result(visit.bucket, status, reason=reason, stage=failed.stage, error=info, **fields)
