"""What the accuracy probe gathers about one bucket over its passes, and how that is reported."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from evaluator.worker.bucket_accuracy import STATUS_OF_VERDICT, BucketAccuracy
from evaluator.worker.calling import Outcome
from evaluator.worker.closeness import Rules, coarser
from evaluator.worker.compare import ComparedCall, Noise, Verdict
from evaluator.worker.errors import describe_error
from evaluator.worker.session import WORKLOAD_ERRORS, ProbeSession, eager_ended
from evaluator.worker.snapshot import Snapshot

if TYPE_CHECKING:
    from workloads.registry import Bucket


class Unreadable(Exception):
    """What a call returned could not be read or compared: no fault of the call, and nothing can be judged."""


@dataclass(frozen=True)
class Failure:
    """What ended a bucket in one pass."""

    stage: str
    error: BaseException

    def said(self) -> str:
        """In a few words, for a reason."""
        if isinstance(self.error, Unreadable):
            return str(self.error)
        return f"{self.stage} raised {describe_error(self.error)['type']}"


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

    def release(self) -> None:
        """Give the snapshots' memory back once the bucket is reported."""
        self.eager.clear()
        self.reference.clear()

    def rules(self, session: ProbeSession) -> Rules:
        """What counts as near in this bucket."""
        reduced = session.precision == "tf32" and session.target.device.startswith("cuda")
        coarsest = coarser(self.coarsest, "tf32") if reduced else self.coarsest
        return Rules(session.workload.tolerance, coarsest)

    def compared(self, call: int, compiled: Snapshot, draws_as_eager: bool) -> ComparedCall:
        """Call `call` of both modes, with what the other passes know of it."""
        usable = self.no_reference is None and call < len(self.reference)
        return ComparedCall(
            eager=self.eager[call],
            compiled=compiled,
            reference=self.reference[call] if usable else None,
            no_reference=None if usable else self.no_reference or "the float64 run ended before this call",
            noise=self.noise[call] if call < len(self.noise) else None,
            draws_as_eager=draws_as_eager,
        )

    def note_check(self, accuracy: BucketAccuracy, said: str | None) -> None:
        """Add what the workload's own check said of a compiled output, if it has one."""
        if said is None:
            return
        verdict: Verdict = "pass" if said == "ok" else "fail"
        if verdict == "fail" and self.eager_check != "ok":
            verdict, said = "not_comparable", f"the workload's own check fails in eager too: {said}"
        accuracy.note_check(verdict, said)


def run_check(session: ProbeSession, outcome: Outcome) -> str | None:
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


def report(session: ProbeSession, visit: Visit, fallback_random: dict[str, Any] | None = None) -> None:
    """Report a bucket that the compiled pass has visited, with its second series if it has one."""
    accuracy = visit.accuracy
    if accuracy is None:
        return
    fields: dict[str, Any] = {
        "samples": accuracy.samples(),
        "differences": accuracy.differences,
        "facts": {},
    }
    if accuracy.calls:
        fields["accuracy"] = accuracy.record()
    if fallback_random is not None:
        fields["accuracy_fallback_random"] = fallback_random
    failures = [failure for failure in (visit.eager_failure, visit.failure) if failure is not None]
    unreadable = next((failure for failure in failures if isinstance(failure.error, Unreadable)), None)
    if unreadable is not None:
        error = describe_error(unreadable.error)
        session.result(visit.bucket, "not_comparable", reason=unreadable.said(), error=error, **fields)
    elif visit.eager_failure is not None:
        _report_eager_failure(session, visit, visit.eager_failure, fields)
    elif visit.failure is not None:
        session.failure(visit.bucket, visit.failure.error, visit.failure.stage, **fields)
    else:
        status, reason = STATUS_OF_VERDICT[accuracy.verdict()], accuracy.reason()
        with_eagers = fallback_random or {}
        if status == "not_comparable" and with_eagers.get("verdict") == "fail":
            # Random numbers were why nothing could be said; with eager's own ones it can.
            status, reason = "accuracy_failed", f"with eager's random numbers: {with_eagers['reason']}"
        elif status == "ok":
            # Of a pass the accuracy record says what was not compared; the probe as such is fine.
            reason = None
        session.result(visit.bucket, status, reason=reason, **fields)


def _report_eager_failure(
    session: ProbeSession, visit: Visit, failed: Failure, fields: dict[str, Any]
) -> None:
    """Eager is what the compiled run is held against; where it raised, that is the finding."""
    if failed.stage == "eager":
        compiled = visit.failure.error if visit.failure is not None else None
        ended = eager_ended(failed.error, compiled, returned=compiled is None)
    else:
        ended = session.ended(visit.bucket, failed.error, failed.stage)
    session.result(
        visit.bucket, ended.status, reason=ended.reason, stage=failed.stage, error=ended.error, **fields
    )
