"""One step's probe processes: what each said, and how a bucket that ends its process is told from the others."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from evaluator.plan import Step
from evaluator.worker.protocol import ProbeName

Record = dict[str, Any]
# A probe of a bucket: what one result of a process is about.
Place = tuple[ProbeName, str]


@dataclass
class Attempt:
    """One probe process. ``spent``: seconds by place, from what it said it began; they add up to its life. ``lost``:
    what it said of a device that an error had cost it, for which it then ended."""

    log: Path
    limits: dict[str, float]
    continued: bool = False
    started_at: str = ""
    results: dict[Place, Record] = field(default_factory=dict)
    segments: list[Record] = field(default_factory=list)
    generated: list[Record] = field(default_factory=list)
    trace_folder: Path | None = None
    profile_folder: Path | None = None
    done: Record = field(default_factory=dict)
    spent: dict[Place, float] = field(default_factory=dict)
    lost: Record | None = None

    def listen(self, records: Iterable[Record], first: Place, on_stage: Callable[[Record], None]) -> None:
        """Take in everything a process says. ``first``: the place that its start-up is counted to."""
        self.started_at = datetime.now(UTC).isoformat()
        place, since = first, time.monotonic()
        for record in records:
            kind = record.get("kind")
            if kind == "stage":
                now = time.monotonic()
                self.spent[place] = self.spent.get(place, 0.0) + now - since
                since = now
                place = (record.get("probe") or place[0], record.get("bucket") or place[1])
                on_stage(record)
            elif kind == "result":
                self.results.setdefault((record["probe"], record["bucket"]), record)
            elif kind == "segment":
                self.segments.append(record)
            elif kind == "generated":
                self.generated.append(record)
            elif kind == "lost":
                self.lost = record
            elif kind == "done":
                self.done = self._of_lost(record)
        self.spent[place] = self.spent.get(place, 0.0) + time.monotonic() - since

    def origin(self) -> Record:
        """Where an error came from, of a process in which each launch was waited for; a ``message`` alone where it did
        not come again."""
        if self.lost is not None:
            return {"stage": self.done.get("stage"), **self.lost["error"]}
        return {"message": "it did not come again with CUDA_LAUNCH_BLOCKING=1"}

    def _of_lost(self, done: Record) -> Record:
        """How the process ended, with what it said of a lost device before."""
        if self.lost is None:
            return done
        return {**done, "reason": f"{self.lost['reason']}; it ended the process", "error": self.lost["error"]}


@dataclass(frozen=True)
class Settled:
    """What is known of one probe of one bucket: the result, its own or made from how the process ended.

    ``attempt`` is None where no process was started for it.
    """

    result: Record
    attempt: Attempt | None


def skipped(probe: ProbeName, bucket: str, reason: str) -> Settled:
    """A probe that was not run, with why."""
    return Settled({"probe": probe, "bucket": bucket, "status": "skipped", "reason": reason}, None)


def settle(
    step: Step, buckets: Sequence[str], ask: Callable[[tuple[str, ...], bool], Attempt]
) -> tuple[dict[Place, Settled], list[Attempt]]:
    """Run a step for these buckets to a result for each, in as many processes as it takes.

    ``ask(buckets, continued)`` runs one process. If one dies at a bucket, what it reported stands, that bucket
    gets how the process ended, and the buckets without a result are asked for again in a new process.
    """
    settled: dict[Place, Settled] = {}
    attempts: list[Attempt] = []
    pending = tuple(buckets)
    while pending:
        attempt = ask(pending, bool(attempts))
        attempts.append(attempt)
        for place, result in attempt.results.items():
            settled.setdefault(place, Settled(result, attempt))
        open_ = _open(step, pending, settled)
        if not open_:
            break
        if attempt.done.get("status") == "ok":
            # The process is content: what it left out follows from what it did report.
            for bucket in open_:
                _close(step, bucket, attempt, None, settled)
            break
        for bucket in _failed(step, open_, settled):
            _close(step, bucket, attempt, None, settled)
        for bucket in _blamed(attempt.done.get("bucket"), _open(step, pending, settled)):
            _close(step, bucket, attempt, attempt.done, settled)
        pending = _open(step, pending, settled)
    return settled, attempts


def _open(step: Step, buckets: Sequence[str], settled: dict[Place, Settled]) -> tuple[str, ...]:
    return tuple(b for b in buckets if any((probe, b) not in settled for probe in step.reports))


def _failed(step: Step, buckets: Sequence[str], settled: dict[Place, Settled]) -> list[str]:
    """Buckets whose first probe reported a failure, which leaves the others nothing to measure."""
    found = [(bucket, settled.get((step.probe, bucket))) for bucket in buckets]
    return [bucket for bucket, known in found if known is not None and known.result["status"] != "ok"]


def _blamed(bucket: str | None, open_: tuple[str, ...]) -> tuple[str, ...]:
    """Whom an ending belongs to: the bucket the process was at, or all of them where it came before any."""
    if bucket is None:
        return open_
    return (bucket,) if bucket in open_ else open_[:1]


def _close(
    step: Step, bucket: str, attempt: Attempt, ending: Record | None, settled: dict[Place, Settled]
) -> None:
    """Give a result to each probe of the bucket that has none: the first gets the ending, the others are skipped."""
    for probe in step.reports:
        place = (probe, bucket)
        if place in settled:
            continue
        if ending is not None:
            settled[place] = Settled(_from_ending(probe, bucket, ending), attempt)
            ending = None
            continue
        before = settled.get((step.probe, bucket))
        if before is None:
            ended = {"status": "crashed", "reason": "the probe reported nothing for this bucket"}
            settled[place] = Settled(_from_ending(probe, bucket, ended), attempt)
        else:
            settled[place] = skipped(probe, bucket, f"the {step.probe} ended as {before.result['status']}")


def _from_ending(probe: ProbeName, bucket: str, ending: Record) -> Record:
    facts = {"signal": ending.get("signal"), "exit_code": ending.get("exit_code")}
    if ending.get("origin"):
        facts["origin"] = ending["origin"]
    return {
        "error": ending.get("error"),
        "probe": probe,
        "bucket": bucket,
        "status": ending["status"],
        "reason": ending.get("reason"),
        "stage": ending.get("stage"),
        "facts": facts,
    }
