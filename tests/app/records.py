"""Builds the records of a run as a controller writes them, from invented numbers, for databases in tests."""

from __future__ import annotations

import hashlib
import random
import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from evaluator.sink import artifact
from evaluator.worker.protocol import Status, worst

Record = dict[str, Any]

BEGAN = datetime(2026, 3, 2, 21, 15, tzinfo=UTC)


@dataclass(frozen=True)
class MadeWorkload:
    """An invented workload: what it costs, where it breaks and how it ends."""

    name: str
    buckets: tuple[tuple[str, dict[str, Any]], ...]
    stands_for: str = "A workload of a test"
    cold_s: float = 3.0
    eager_ms: float = 2.0
    speed_up: float = 1.6
    variants: tuple[tuple[str, dict[str, Any], bool], ...] = (("default", {}, False),)
    training: bool = False
    breaks: tuple[Record, ...] = ()
    recompiles: tuple[Record, ...] = ()
    kernels: tuple[Record, ...] = ()
    reuses: bool = False
    limit_from: int | None = None
    nothing: bool = False
    failures: dict[tuple[str, str], tuple[str, Status, str]] = field(default_factory=dict)
    """(torch version or "*", bucket or "*") -> (probe, status, reason)"""

    @property
    def definition_hash(self) -> str:
        return hashlib.sha256(self.name.encode()).hexdigest()

    def failure(self, torch: str, bucket: str) -> tuple[str, Status, str] | None:
        keys = ((torch, bucket), (torch, "*"), ("*", bucket), ("*", "*"))
        return next((self.failures[key] for key in keys if key in self.failures), None)


def environment(torch: str, **changes: Any) -> Record:
    """Environment fields as a worker reports them."""
    return {
        "torch": torch,
        "torch_git": hashlib.sha1(torch.encode()).hexdigest(),
        "built_cuda": None,
        "built_hip": None,
        "triton": "3.7.1",
        "python": "3.11.9",
        "python_implementation": "cpython",
        "os": "Linux 6.1.0",
        "libc": "glibc 2.36",
        "compiler": "g++ (Debian 12.2.0) 12.2.0",
        "cpu_model": "Example CPU @ 2.40GHz",
        "cpu_count": 8,
        "cpu_affinity": 8,
        "cpu_capability": "AVX512",
        "threads": 4,
        "interop_threads": 8,
        "gpu": None,
        "capability": None,
        "driver": None,
        "libraries": {"numpy": "2.4.1", "transformers": "5.24.0"},
        "variables": {"OMP_NUM_THREADS": "4"},
    } | changes


def environment_hash(fields: Record) -> str:
    return hashlib.sha256(repr(sorted(fields.items())).encode()).hexdigest()


@dataclass
class MadeRun:
    """The records of one run of one environment, in the order in which a controller writes them."""

    torch: str
    number: int
    label: str | None = None
    profile: str = "standard"
    replicas: int = 5
    machine: str = "machine-1"
    fields: Record = field(default_factory=dict)
    status: str | None = "finished"
    drift: float = 1.0

    def __post_init__(self) -> None:
        self.uuid = str(uuid.uuid5(uuid.NAMESPACE_OID, f"run {self.number}"))
        self.started = BEGAN + timedelta(days=self.number)
        self.fields = environment(self.torch) | self.fields
        self.hash = environment_hash(self.fields)
        self.random = random.Random(self.number)

    def records(self, workloads: Sequence[MadeWorkload]) -> Iterable[Record]:
        host = {"cpu_model": "Example CPU @ 2.40GHz", "cpu_count": 8, "memory_mb": 32000, "os": "Linux 6.1.0"}
        yield {
            "type": "run",
            "uuid": self.uuid,
            "label": self.label,
            "profile": self.profile,
            "started_at": self.started.isoformat(),
            "argv": ["run", "--profile", self.profile],
            "machine": {"id": self.machine, **host},
            "evaluator_version": "0.1.0",
            "plan": {"replicas": self.replicas},
        }
        yield {"type": "environment", "run": self.uuid, "hash": self.hash, "fields": self.fields}
        for index in range(self.replicas):
            yield self._replica(index)
        for workload in workloads:
            yield from self._workload(workload)
        if self.status is not None:
            finished = self.started + timedelta(minutes=14 + self.number)
            yield {
                "type": "run_finished",
                "run": self.uuid,
                "status": self.status,
                "finished_at": finished.isoformat(),
            }

    def _replica(self, index: int) -> Record:
        samples = [{"metric": "import.torch_s", "value": 3.9}, {"metric": "import.compiler_s", "value": 7.5}]
        return {
            "type": "replica",
            "run": self.uuid,
            "environment": self.hash,
            "index": index,
            "server": str(uuid.uuid5(uuid.UUID(self.uuid), str(index))),
            "started_at": self.started.isoformat(),
            "samples": samples,
            "conditions": conditions(0.4 + index / 10),
        }

    def _workload(self, workload: MadeWorkload) -> Iterable[Record]:
        source = artifact("workload_source", f"def build():\n    return {workload.name!r}\n".encode())
        yield source
        yield {
            "type": "workload",
            "run": self.uuid,
            "name": workload.name,
            "stands_for": workload.stands_for,
            "definition_hash": workload.definition_hash,
            "source_sha256": source["sha256"],
            "origin": "workloads.made",
            "form": "registry",
            "training": workload.training,
            "grad": False,
            "calls": 2,
            "requires": None,
            "repeats": None,
            "precision": None,
            "tolerance": {},
            "environment": [],
            "libraries": [],
            "tags": [],
            "buckets": [{"name": name, "params": params} for name, params in workload.buckets],
            "variants": [
                {"name": name, "options": options, "evidence_only": evidence, "requires": None}
                for name, options, evidence in workload.variants
            ],
        }
        for variant, _, evidence_only in workload.variants:
            for position, (bucket, _) in enumerate(workload.buckets):
                yield from self._cell(workload, variant, evidence_only, bucket, position)

    def _cell(
        self, workload: MadeWorkload, variant: str, evidence_only: bool, bucket: str, position: int
    ) -> Iterable[Record]:
        evaluation = str(uuid.uuid5(uuid.UUID(self.uuid), f"{workload.name}{bucket}{variant}"))
        yield {
            "type": "evaluation",
            "run": self.uuid,
            "uuid": evaluation,
            "environment": self.hash,
            "workload": workload.name,
            "definition_hash": workload.definition_hash,
            "bucket": bucket,
            "variant": variant,
            "target": "cpu",
        }
        failed = workload.failure(self.torch.partition("+")[0], bucket)
        statuses: list[Status] = []
        for replica in range(1 if evidence_only or failed else self.replicas):
            kinds = ["walk"] if evidence_only else ["cold", "warm", "walk", "timing"]
            if replica == 0 and not evidence_only:
                kinds += ["accuracy"]
            for kind in kinds:
                probe = Probing(self, workload, bucket, position, replica, kind, failed)
                yield from probe.records(evaluation)
                statuses.append(probe.status)
        if self.status is None and workload.name.endswith("pending"):
            return
        status = worst(statuses)
        reason = failed[2] if failed and status != "ok" else None
        yield {
            "type": "evaluation_finished",
            "run": self.uuid,
            "evaluation": evaluation,
            "status": status,
            "reason": reason,
        }


def conditions(load: float) -> Record:
    return {"load_1m": load, "load_5m": 0.5, "memory_available_mb": 21000.0, "cpu_clock_mhz": 2400.0}


ORDER = ("cold", "warm", "walk", "timing", "accuracy")
PROBE_NAMES = {
    "cold": "compile",
    "warm": "compile",
    "walk": "walk",
    "timing": "timing",
    "accuracy": "accuracy",
}


@dataclass
class Probing:
    """One probe of one cell in one replica."""

    run: MadeRun
    workload: MadeWorkload
    bucket: str
    position: int
    replica: int
    kind: str
    failed: tuple[str, Status, str] | None

    @property
    def status(self) -> Status:
        if self.failed is None:
            return "ok"
        kind, status, _ = self.failed
        if self.kind == kind:
            return status
        # Where a process ended or nothing compiled, what builds on it was not worth running.
        stops = status not in ("accuracy_failed", "not_comparable") and ORDER.index(self.kind) > ORDER.index(
            kind
        )
        return "skipped" if stops else "ok"

    def records(self, evaluation: str) -> Iterable[Record]:
        ok = self.status == "ok"
        kernels = []
        if self.kind == "walk" and ok and self.replica == 0 and not self._reuses():
            for kernel in self.workload.kernels:
                made = artifact("kernel_source", str(kernel["source"]).encode())
                yield made
                kept = {k: v for k, v in kernel.items() if k != "source"}
                kernels.append({**kept, "source_sha256": made["sha256"], "source_hash": made["sha256"]})
        log = f"{self.workload.name} {self.bucket} {self.kind}\nprinted by the workload\n"
        kept_log = artifact("log", log.encode())
        yield kept_log
        files = [{"kind": "log", "sha256": kept_log["sha256"]}]
        if self.kind == "walk" and self.replica == 0:
            trace = artifact("trace", f"V0302 trace of {self.workload.name}\n".encode())
            yield trace
            files.append({"kind": "trace", "sha256": trace["sha256"]})
        for kernel in kernels:
            files.append({"kind": "kernel_source", "sha256": kernel["source_sha256"]})
        yield {
            "type": "probe",
            "run": self.run.uuid,
            "evaluation": evaluation,
            "replica": self.replica,
            "probe": PROBE_NAMES[self.kind],
            "cache": self.kind if self.kind in ("cold", "warm") else None,
            "attempt": 1,
            "started_at": self.run.started.isoformat(),
            "duration_s": 4.2,
            "status": self.status,
            "reason": None if ok else (self.failed or ("", "", ""))[2],
            "stage": "done" if ok else "compile",
            "error": self._error(),
            "log_tail": log,
            "artifacts": files,
            "samples": self._samples() if self.status in ("ok", "accuracy_failed", "not_comparable") else [],
            "facts": self._facts() if self.kind == "walk" and self.replica == 0 else {},
            "breaks": self._breaks() if self.kind == "walk" and self.replica == 0 and ok else [],
            "recompile_reasons": self._recompiles()
            if self.kind == "walk" and self.replica == 0 and ok
            else [],
            "kernels": kernels,
            "accuracy": self._accuracy(),
            "differences": [],
            "timing_protocol": {"rounds": 7, "round_ms": 50} if self.kind == "timing" else None,
            "conditions": {"before": conditions(0.4), "after": conditions(0.6)},
            "limits": {"time_s": 300, "memory_mb": 8000},
        }

    def _reuses(self) -> bool:
        return self.workload.reuses and self.position > 1

    def _ran_eager(self) -> bool:
        return self.workload.limit_from is not None and self.position >= self.workload.limit_from

    def _error(self) -> Record | None:
        if self.status in ("ok", "skipped", "unsupported"):
            return None
        message = (self.failed or ("", "", ""))[2]
        return {
            "type": "torch._inductor.exc.InductorError",
            "message": message,
            "chain": [f"LoweringException: {message}"],
            "traceback": f'Traceback (most recent call last):\n  File "model.py", line 12\n{message}',
        }

    def _noisy(self, value: float, spread: float) -> float:
        return float(value * self.run.drift * self.run.random.lognormvariate(0, spread))

    def _samples(self) -> list[Record]:
        scale = 1 + self.position
        cold = self.workload.cold_s * (1 + 0.15 * self.position)
        if self.kind == "cold":
            share = {"compile.dynamo_s": 0.11, "compile.aot_autograd_s": 0.06}
            share |= {"compile.inductor_s": 0.21, "compile.toolchain_s": 0.58, "compile.cold_s": 1.0}
            total = self._noisy(cold, 0.05)
            return [
                {"metric": metric, "round": None, "value": total * part} for metric, part in share.items()
            ]
        if self.kind == "warm":
            value = self._noisy(cold * 0.18, 0.04)
            return [{"metric": "compile.warm_cache_s", "round": None, "value": value, "flags": []}]
        if self.kind == "walk":
            return [{"metric": "walk.first_call_s", "round": None, "value": self._noisy(cold, 0.05)}]
        if self.kind == "accuracy":
            return [{"metric": "accuracy.rmse_fp64", "round": None, "value": 2.1e-7}]
        eager = self.workload.eager_ms * scale * self.run.random.lognormvariate(0, 0.01)
        ratio = 1.0 if self._ran_eager() or self.workload.nothing else self.workload.speed_up
        rounds = []
        for number in range(7):
            for metric, value in (("eager.wall_ms", eager), ("compiled.wall_ms", eager / ratio)):
                rounds.append(
                    {"metric": metric, "round": number, "value": self._noisy(value, 0.01), "flags": []}
                )
        return rounds

    def _facts(self) -> Record:
        if self.status != "ok":
            return {
                "graphs": 0,
                "ops": 0,
                "graph_breaks": 0,
                "break_events": 0,
                "compiles": 0,
                "recompiles": 0,
            }
        broken, quiet = len(self.workload.breaks), self._reuses() or self.workload.nothing
        recompiles = 0 if self.position == 0 else len(self.workload.recompiles)
        refused = self._ran_eager()
        return {
            "graphs": 0 if quiet or refused else 1 + broken,
            "ops": 0 if quiet or refused else 24,
            "graph_breaks": broken,
            "break_events": 0 if quiet else broken,
            "compiles": 0 if quiet or refused else 1 + broken,
            "recompiles": 0 if quiet or refused else recompiles,
            "recompile_limit_hit": refused,
            "ran_eager": "all" if refused else "none",
            "second_walk_compiles": 0,
            "cache_hits": 0,
            "cache_misses": 0 if quiet or refused else 1,
            "cache_bypasses": 0,
            "backward_graphs": 1 if self.workload.training else 0,
            "dynamic_symbols": 1 if self.workload.reuses and self.position == 1 else 0,
            "nothing_compiled": self.workload.nothing,
        }

    def _breaks(self) -> list[Record]:
        inherited = self._reuses()
        return [
            {**one, "inherited": inherited, "events": 0 if inherited else 1} for one in self.workload.breaks
        ]

    def _recompiles(self) -> list[Record]:
        quiet = self.position == 0 or self._reuses() or self._ran_eager()
        return [] if quiet else list(self.workload.recompiles)

    def _accuracy(self) -> Record | None:
        if self.kind != "accuracy" or self.status not in ("ok", "accuracy_failed", "not_comparable"):
            return None
        verdict = {"ok": "pass", "accuracy_failed": "fail", "not_comparable": "not_comparable"}[self.status]
        bad = verdict == "fail"
        return {
            "verdict": verdict,
            "max_abs": 0.031 if bad else 9.5e-7,
            "max_rel": 0.4 if bad else 1.2e-6,
            "rmse_fp64": 0.0072 if bad else 2.1e-7,
            "eager_rmse_fp64": 2.3e-7,
            "reason": self.failed[2] if self.failed and verdict != "pass" else None,
        }
