"""One unit of work: its probe processes through a server, and the records that come of it."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from evaluator.control.attempts import Attempt, Place, Settled, settle, skipped
from evaluator.control.builds import MANIFEST, builds_folder, write_manifest
from evaluator.control.outcomes import Outcome, skip_reason
from evaluator.control.probe_records import Files, Record, collect, merged, probe_record
from evaluator.control.progress import Progress
from evaluator.control.run_records import SEED, Settings
from evaluator.control.scratch import Scratch
from evaluator.control.server_client import Server
from evaluator.plan import ProbeKey, Step, Unit
from evaluator.worker.protocol import SEVERITY

# Environment (by index), workload, variant, bucket.
CellKey = tuple[int, str, str, str]

# How times are taken: 7 rounds of about 50 ms, after at least 10 calls and 300 ms (a GPU's clock needs them).
TIMING: Final = {"rounds": 7, "round_ms": 50, "warmup_calls": 10, "warmup_ms": 300}


@dataclass
class Done:
    """What a unit came to: its records, the outcome of each probe, and how many processes it took."""

    records: list[Record] = field(default_factory=list)
    outcomes: dict[CellKey, dict[ProbeKey, Outcome]] = field(default_factory=dict)
    processes: int = 0

    @property
    def note(self) -> str:
        """The worst status among its probes, with how many have it where there are several."""
        counts = Counter(outcome.status for of in self.outcomes.values() for outcome in of.values())
        worst = [f"{status} ({counts[status]})" for status in SEVERITY if counts[status] and status != "ok"]
        return ", ".join(worst) or "ok"


class UnitWork:
    """Runs units of one run. Remembers how often a timing round calls, so that every replica does alike.

    ``repeats``: what an earlier part of the run had, by (workload, variant) and bucket.
    """

    def __init__(
        self,
        settings: Settings,
        scratch: Scratch,
        evaluations: Mapping[CellKey, str],
        progress: Progress,
        repeats: Mapping[tuple[str, str], Mapping[str, int]],
    ) -> None:
        self._settings = settings
        self._scratch = scratch
        self._evaluations = evaluations
        self._progress = progress
        self._repeats = {place: dict(buckets) for place, buckets in repeats.items()}
        self._processes = 0

    def measure(
        self, server: Server, unit: Unit, known: Mapping[CellKey, Mapping[ProbeKey, Outcome]]
    ) -> Done:
        """Run the unit's steps for every bucket that is worth it. Raises ServerDied; then nothing counts."""
        done = Done()
        records: dict[tuple[str, ProbeKey], Record] = {}
        files: list[Files] = []
        for step in unit.steps:
            if step.probe == "build":
                write_manifest(self._manifest(unit), files)
            settled, attempts = self._step(server, unit, step, known, done)
            on_device = self._settings.selection.target == "cuda"
            files.append(collect(attempts, self._settings.sources, step.fullgraph, on_device))
            done.processes += len(attempts)
            for (probe, bucket), one in settled.items():
                key: ProbeKey = (unit.replica, probe, step.cache)
                cell = _cell(unit, bucket)
                record = probe_record(self._settings.run, self._evaluations[cell], key, one, files[-1])
                record["server"] = server.id
                walked = settled.get(("walk", bucket))
                if probe == "timing" and walked is not None and walked.attempt is not one.attempt:
                    _not_what_was_walked(record)
                before = records.get((bucket, key))
                record = merged(before, record) if before else record
                records[bucket, key] = record
                done.outcomes.setdefault(cell, {})[key] = Outcome(record["status"], record["reason"])
                self._remember_repeats(unit, bucket, record)
            self._remove_files(attempts)
        for one_files in files:
            done.records += one_files.artifacts.values()
        done.records += records.values()
        return done

    def free(self, unit: Unit) -> None:
        """Remove the cache folders that no later unit needs."""
        for folder in unit.frees:
            self._scratch.free(f"caches/{folder}")

    def _step(
        self,
        server: Server,
        unit: Unit,
        step: Step,
        known: Mapping[CellKey, Mapping[ProbeKey, Outcome]],
        done: Done,
    ) -> tuple[dict[Place, Settled], list[Attempt]]:
        settled: dict[Place, Settled] = {}
        wanted = []
        for bucket in step.buckets:
            cell = _cell(unit, bucket)
            reason = skip_reason(unit.replica, step, {**known[cell], **done.outcomes.get(cell, {})})
            if reason is None:
                wanted.append(bucket)
                continue
            for probe in step.reports:
                settled[probe, bucket] = skipped(probe, bucket, reason)

        def ask(buckets: tuple[str, ...], continued: bool) -> Attempt:
            return self._process(server, unit, step, buckets, continued)

        measured, attempts = settle(step, wanted, ask)
        return {**settled, **measured}, attempts

    def _process(
        self, server: Server, unit: Unit, step: Step, buckets: tuple[str, ...], continued: bool
    ) -> Attempt:
        self._processes += 1
        name = f"p{self._processes}"
        traces = self._scratch.folder(f"traces/{name}") if step.traced else None
        profiles = self._scratch.folder(f"profiles/{name}") if step.probe == "profile" else None
        attempt = Attempt(
            log=self._scratch.folder("logs") / f"{name}.log",
            limits=self._settings.limits,
            continued=continued,
            trace_folder=traces,
            profile_folder=profiles,
        )
        request: dict[str, Any] = {
            "probe": step.probe,
            "sources": list(self._settings.sources),
            "packs": self._settings.packs,
            "workload": unit.workload,
            "variant": unit.variant,
            "target": self._settings.selection.target,
            "buckets": list(buckets),
            "seed": SEED,
            "cache_dir": str(self._caches(step, name if continued else None)),
            "cache": step.cache,
            "mode": step.mode,
            "timing": self._timing(unit) if step.timing else None,
            "trace_dir": str(traces) if traces else None,
            "profile_dir": str(profiles) if profiles else None,
            "temporary": str(self._scratch.folder("temporary")),
            "limits": attempt.limits,
            "log": str(attempt.log),
            "continued": continued,
        }
        card = dict(self._settings.selection.card)
        if card:
            request["card"] = card
        if step.probe == "build":
            request |= {"manifest": str(self._manifest(unit) / MANIFEST), "builds_dir": str(builds_folder())}
        self._listen(server, unit, step, attempt, request)
        if attempt.lost is not None:
            self._find_origin(server, unit, step, attempt, request)
        return attempt

    def _listen(
        self, server: Server, unit: Unit, step: Step, attempt: Attempt, request: Mapping[str, Any]
    ) -> None:
        attempt.listen(
            server.probe(dict(request), self._settings.time_s),
            (step.probe, request["buckets"][0]),
            lambda stage: self._progress.stage(unit, stage["stage"], stage.get("bucket")),
        )

    def _find_origin(
        self, server: Server, unit: Unit, step: Step, attempt: Attempt, request: Mapping[str, Any]
    ) -> None:
        """Run what cost a process its device once more, untimed, each launch waited for: the error is then raised by
        the call that it comes from."""
        self._processes += 1
        name = f"p{self._processes}"
        again = Attempt(log=attempt.log.with_name(f"{name}.log"), limits=attempt.limits)
        blocking = {
            **request,
            "blocking": True,
            "buckets": [attempt.done.get("bucket") or request["buckets"][0]],
            "cache_dir": str(self._caches(step, name)),
            "timing": None,
            "trace_dir": None,
            "log": str(again.log),
        }
        self._listen(server, unit, step, again, blocking)
        again.log.unlink(missing_ok=True)
        attempt.done["origin"] = again.origin()

    def _manifest(self, unit: Unit) -> Path:
        """The folder of what a unit's build step is to build."""
        return self._scratch.folder(f"caches/{unit.steps[0].folder}/kernels")

    def _caches(self, step: Step, continued: str | None) -> Path:
        """The step's cache folder. A process that goes on after another has an empty one below it of its own."""
        folder = f"caches/{step.folder}"
        return self._scratch.folder(f"{folder}/{continued}" if continued else folder)

    def _timing(self, unit: Unit) -> dict[str, Any]:
        return {**TIMING, "repeats": self._repeats.get((unit.workload, unit.variant), {})}

    def _remove_files(self, attempts: Sequence[Attempt]) -> None:
        """Logs and traces are in the records now; a long run would otherwise fill the disk with them."""
        for attempt in attempts:
            attempt.log.unlink(missing_ok=True)
            for folder in (attempt.trace_folder, attempt.profile_folder):
                if folder is not None:
                    shutil.rmtree(folder, ignore_errors=True)

    def _remember_repeats(self, unit: Unit, bucket: str, record: Record) -> None:
        protocol = record.get("timing_protocol") or {}
        if protocol.get("repeats"):
            fixed = self._repeats.setdefault((unit.workload, unit.variant), {})
            fixed.setdefault(bucket, protocol["repeats"])


def _not_what_was_walked(record: Record) -> None:
    """Mark a timing that was made in a new process, after the one that walked the bucket had died.

    The new process compiled fewer buckets, so its code may be static where the walk's was dynamic, or compiled
    where the walk's ran eager: the numbers stay, and claim nothing of the evidence beside them.
    """
    for sample in record["samples"]:
        sample["flags"] = [*(sample.get("flags") or []), "other_process"]
    if record["status"] == "ok":
        record["status"] = "not_comparable"
        record["reason"] = "timed in a new process after the one that walked this bucket had died"


def _cell(unit: Unit, bucket: str) -> CellKey:
    return (unit.environment, unit.workload, unit.variant, bucket)
