"""The records of runs with several environments, and of the runs that confirm and explain them."""

from __future__ import annotations

import copy
import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.db import made

Record = dict[str, Any]


def fields(torch: str = "2.13.0+cpu", **changes: Any) -> dict[str, Any]:
    return {**made.FIELDS, "torch": torch, **changes}


def hash_of(of: Mapping[str, Any]) -> str:
    return hashlib.sha256(repr(sorted(of.items())).encode()).hexdigest()


BASE, CANDIDATE = fields("2.13.0+cpu"), fields("2.14.1+cpu", triton="3.8.0")


@dataclass(frozen=True)
class MadeRun:
    """A run that evaluates ``buckets`` of ``workloads`` as ``variants`` in each environment.

    The numbers are those of ``made``; ``slower`` multiplies the compiled times of the environment with that index,
    and ``without`` names (environment index, bucket) that are not evaluated. ``status``: that of every evaluation, None
    where they go on.
    """

    name: str
    environments: Sequence[Mapping[str, Any]] = (BASE, CANDIDATE)
    workloads: Sequence[str] = ("made.absolute",)
    variants: Sequence[str] = ("default",)
    buckets: Sequence[str] = made.BUCKETS
    replicas: int = 2
    purpose: str | None = None
    parent: str | None = None
    started_at: str = "2026-03-01T10:00:00+00:00"
    machine: str = "machine-1"
    definition: str = made.DEFINITION
    label: str | None = None
    slower: Mapping[int, float] = field(default_factory=dict)
    without: Sequence[tuple[int, str]] = ()
    status: str | None = "ok"
    ended: str | None = "finished"

    @property
    def uuid(self) -> str:
        return made.run_uuid(self.name)

    def evaluation(self, environment: int, workload: str, bucket: str, variant: str = "default") -> str:
        return made.named(
            "evaluation", self.name, hash_of(self.environments[environment]), workload, bucket, variant
        )

    def records(self) -> list[Record]:
        run, _, source, workload = copy.deepcopy(
            made.head(self.name, label=self.label, started_at=self.started_at)
        )
        run["machine"]["id"] = self.machine
        # In the order of the plan, which need not be that in which rows are made.
        run["plan"] = {"environments": [hash_of(one) for one in self.environments]}
        if self.purpose is not None:
            run |= {"purpose": self.purpose, "parent": self.parent}
        found = [run, source]
        for one in sorted(self.environments, key=hash_of):
            found.append({"type": "environment", "run": self.uuid, "hash": hash_of(one), "fields": dict(one)})
        for name in self.workloads:
            found.append(
                workload
                | {
                    "name": name,
                    "definition_hash": self.definition,
                    "rungs": [
                        {"name": f"default+{backend}", "options": {"backend": backend}}
                        for backend in ("eager", "aot_eager")
                    ],
                }
            )
        for index, environment in enumerate(self.environments):
            for number in range(self.replicas):
                found.append(
                    made.replica(
                        self.name,
                        number,
                        environment=hash_of(environment),
                        server=made.named(self.name, index, number),
                    )
                )
            for name in self.workloads:
                for variant in self.variants:
                    for bucket in self.buckets:
                        if (index, bucket) not in self.without:
                            found += self._cell(index, name, bucket, variant)
        return [*found, made.end(self.name, self.ended)] if self.ended else found

    def _cell(self, index: int, workload: str, bucket: str, variant: str) -> Iterable[Record]:
        uuid = self.evaluation(index, workload, bucket, variant)
        for record in copy.deepcopy(made.cell(self.name, bucket, self.replicas)):
            if record["type"] == "evaluation":
                record |= {
                    "uuid": uuid,
                    "environment": hash_of(self.environments[index]),
                    "workload": workload,
                    "definition_hash": self.definition,
                    "variant": variant,
                }
            elif record["type"] in ("probe", "evaluation_finished"):
                record["evaluation"] = uuid
            if record["type"] == "evaluation_finished":
                if self.status is None:
                    continue
                record["status"] = self.status
            for sample in record.get("samples") or ():
                if sample["metric"].startswith("compiled.") and sample["value"] is not None:
                    sample["value"] *= self.slower.get(index, 1.0)
            yield record
