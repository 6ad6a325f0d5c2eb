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
from tests.app.probing import Probing, conditions

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
    request_ms: float | None = None
    variants: tuple[tuple[str, dict[str, Any], bool], ...] = (("default", {}, False),)
    training: bool = False
    breaks: tuple[Record, ...] = ()
    recompiles: tuple[Record, ...] = ()
    kernels: tuple[Record, ...] = ()
    reuses: bool = False
    limit_from: int | None = None
    nothing: bool = False
    edition: str = ""
    target: str = "cpu"
    builds: tuple[Record, ...] = ()
    """What was built of its kernels on a target on which nothing runs; a build names its kernel's ``source``."""
    failures: dict[tuple[str, str], tuple[str, Status, str]] = field(default_factory=dict)
    """(torch version or "*", bucket or "*") -> (probe, status, reason)"""

    @property
    def definition_hash(self) -> str:
        return hashlib.sha256((self.name + self.edition).encode()).hexdigest()

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
    rounds: int = 7

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
        named = f"{workload.name}{bucket}{variant}{workload.target.removeprefix('cpu')}"
        evaluation = str(uuid.uuid5(uuid.UUID(self.uuid), named))
        yield {
            "type": "evaluation",
            "run": self.uuid,
            "uuid": evaluation,
            "environment": self.hash,
            "workload": workload.name,
            "definition_hash": workload.definition_hash,
            "bucket": bucket,
            "variant": variant,
            "target": workload.target,
        }
        simulated = workload.target != "cpu"
        failed = workload.failure(self.torch.partition("+")[0], bucket)
        statuses: list[Status] = []
        for replica in range(1 if evidence_only or failed or simulated else self.replicas):
            kinds = ["walk"] if evidence_only or simulated else ["cold", "warm", "walk", "timing"]
            if replica == 0 and not evidence_only and not simulated:
                kinds += ["accuracy"]
            for kind in kinds:
                probe = Probing(self, workload, bucket, position, replica, kind, failed)
                yield from probe.records(evaluation)
                statuses.append(probe.status)
        if workload.builds and not failed:
            yield self._build(workload, evaluation)
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

    def _build(self, workload: MadeWorkload, evaluation: str) -> Record:
        """The probe that built the kernels of a walk, whose sources that walk left."""
        return {
            "type": "probe",
            "run": self.uuid,
            "evaluation": evaluation,
            "replica": 0,
            "probe": "build",
            "cache": None,
            "attempt": 1,
            "started_at": self.started.isoformat(),
            "duration_s": 1.5,
            "status": "ok",
            "stage": "done",
            "builds": [
                {k: v for k, v in one.items() if k != "source"}
                | {"source_sha256": artifact("kernel_source", str(one["source"]).encode())["sha256"]}
                for one in workload.builds
            ],
        }
