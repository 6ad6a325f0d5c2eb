"""The records that say what a run is about: itself, its environments, workloads, evaluations and replicas."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, Final

from evaluator import machine
from evaluator.control.server_client import Server
from evaluator.interpreters.planning import Interpreter
from evaluator.plan import PROFILES, SERIAL_PROFILES
from evaluator.selection import Cell, Selection
from evaluator.sink import artifact
from evaluator.verdicts.words import is_codegen

Record = dict[str, Any]

# Inputs, builds and cotangents of every probe are made from it.
SEED: Final = 0


@dataclass(frozen=True)
class Settings:
    """What a run was told to do. ``sources``: workload files (absolute) and modules; limits in s and MB.

    ``count``: replicas, where not the profile's. ``purpose``: evaluate, upgrade, confirm, explain, calibrate or
    nightly; ``parent``: the run that this one confirms or explains; ``extra``: what else its plan says. ``chrome_traces``:
    whether the profile probe records what runs.
    """

    run: str
    selection: Selection
    profile: str
    sources: tuple[str, ...]
    packs: bool
    interpreters: tuple[Interpreter, ...]
    time_s: float
    memory_mb: float
    label: str | None = None
    argv: tuple[str, ...] = ()
    count: int | None = None
    purpose: str = "evaluate"
    parent: str | None = None
    chrome_traces: bool = False
    extra: Mapping[str, Any] = field(default_factory=dict)

    @property
    def replicas(self) -> int:
        """Starts of the process server: one where there are facts alone, which do not repeat differently."""
        if is_codegen(self.selection.target):
            return 1
        return self.count or PROFILES[self.profile]

    @property
    def serial(self) -> bool:
        """Whether a cold compile with one compile thread is measured too."""
        return self.profile in SERIAL_PROFILES

    def child(
        self,
        purpose: str,
        only: tuple[tuple[str, str], ...],
        interpreters: tuple[Interpreter, ...],
        replicas: int,
        rungs: tuple[str, ...] = (),
    ) -> Settings:
        """The settings of a run that confirms or explains this one: these workloads and variants, whole, since what a
        bucket compiles depends on the buckets before it, under some of its interpreters."""
        return replace(
            self,
            run=str(uuid.uuid4()),
            label=None,
            interpreters=interpreters,
            selection=replace(self.selection, only=only, rungs=rungs, variants=(), tags=(), workloads=()),
            count=replicas,
            purpose=purpose,
            parent=self.run,
            chrome_traces=False,
            extra={},
        )

    @property
    def limits(self) -> dict[str, float]:
        return {"time_s": self.time_s, "memory_mb": self.memory_mb}


def now() -> str:
    """This moment in UTC, as records have it."""
    return datetime.now(UTC).isoformat()


def evaluation_id(run: str, environment: str, cell: Cell) -> str:
    """The id of a cell's evaluation: the same each time, so that a resumed run goes on with the ones it began."""
    parts = (environment, cell.workload, cell.definition_hash, cell.bucket, cell.variant, cell.target)
    return str(uuid.uuid5(uuid.UUID(run), "\n".join(parts)))


def run_record(settings: Settings, host: Record, cells: Mapping[str, Sequence[Cell]]) -> Record:
    """The run. ``cells``: those of each environment, by its hash, in order.

    Its ``plan`` holds what ``--resume`` needs to go on with the same cells, or to see that it can't.
    """
    return {
        "type": "run",
        "uuid": settings.run,
        "label": settings.label,
        "purpose": settings.purpose,
        "parent": settings.parent,
        "profile": settings.profile,
        "started_at": now(),
        "argv": machine.portable_arguments(settings.argv),
        "machine": {"id": machine.machine_id(), **host},
        "evaluator_version": machine.version(),
        "plan": {
            "selection": settings.selection.as_json(),
            "profile": settings.profile,
            "replicas": settings.replicas,
            "sources": [machine.portable_path(s) if s.startswith("/") else s for s in settings.sources],
            "packs": settings.packs,
            "interpreters": [_interpreter(one) for one in settings.interpreters],
            "limits": settings.limits,
            "chrome_traces": settings.chrome_traces,
            "seed": SEED,
            "environments": list(cells),
            "definitions": {cell.workload: cell.definition_hash for of in cells.values() for cell in of},
            "cells": sum(len(of) for of in cells.values()),
            **settings.extra,
        },
    }


def _interpreter(one: Interpreter) -> Record:
    return {
        "python": machine.portable_path(one.python),
        "variables": machine.without_home(dict(one.variables)),
        "copy": one.copy,
    }


def environment_record(run: str, environment_hash: str, fields: Record) -> Record:
    return {"type": "environment", "run": run, "hash": environment_hash, "fields": fields}


def workload_records(run: str, description: Record) -> list[Record]:
    """A described workload, after the artifact that holds its source; one that did not load has none."""
    if "problem" in description:
        return [{"type": "workload", "run": run, **description}]
    source = artifact("workload_source", machine.shorten(description.get("source") or "").encode())
    return [source, {"type": "workload", "run": run, **description, "source_sha256": source["sha256"]}]


def evaluation_record(run: str, environment: str, cell: Cell) -> Record:
    return {
        "type": "evaluation",
        "run": run,
        "uuid": evaluation_id(run, environment, cell),
        "environment": environment,
        "workload": cell.workload,
        "definition_hash": cell.definition_hash,
        "bucket": cell.bucket,
        "variant": cell.variant,
        "target": cell.target,
    }


def finished_record(run: str, evaluation: str, status: str, reason: str | None) -> Record:
    return {
        "type": "evaluation_finished",
        "run": run,
        "evaluation": evaluation,
        "status": status,
        "reason": reason,
    }


def replica_record(run: str, environment: str, index: int, server: Server, samples: list[Record]) -> Record:
    """One start of the process server, with what belongs to the environment: import and toolchain costs."""
    return {
        "type": "replica",
        "run": run,
        "environment": environment,
        "index": index,
        "server": server.id,
        "started_at": server.started_at,
        "samples": [*server.hello.samples, *samples],
        "conditions": server.hello.conditions,
    }


def run_finished_record(run: str, status: str) -> Record:
    return {"type": "run_finished", "run": run, "status": status, "finished_at": now()}
