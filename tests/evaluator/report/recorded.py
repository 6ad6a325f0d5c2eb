"""Databases that hold an upgrade: two environments in one run, and the run that confirms what it found."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from db.store import Store
from evaluator.sink import artifact
from tests.db import made

Record = dict[str, Any]

BASE, CANDIDATE = "1" * 64, "2" * 64
TORCH = {BASE: "2.13.0+cpu", CANDIDATE: "2.14.1+cpu"}
OTHER_KERNEL = b'extern "C" void kernel(const float* in0, float* out0) { out0[0] = 1; }\n'
REPLICAS = 5


def upgrade(path: Path, slower: Mapping[str, float], **changes: Any) -> Path:
    """``store_upgrade`` into a new file."""
    store_upgrade(str(path), slower, **changes)
    return path


def store_upgrade(
    database: str,
    slower: Mapping[str, float],
    *,
    confirmed: bool = True,
    name: str = "upgrade",
    status: str | None = "finished",
    workload: str | None = None,
    plan: Mapping[str, Any] | None = None,
) -> None:
    """Store an upgrade of one workload. ``slower``: metric -> ratio of the candidate's values to the base's, 1 where
    absent; with any, the candidate has another kernel. ``confirmed``: with a second run that finds the same; ``status``: how the first ended, None while it goes on;
    ``workload``: another name of it; ``plan``: what else the first run's plan says."""
    store = Store(database)
    records = list(_run(name, slower, purpose="upgrade"))
    records[0]["plan"] |= plan or {}
    records[-1]["status"] = status
    store.write_many(_named(one, workload) for one in (records if status else records[:-1]))
    if confirmed:
        parent = made.run_uuid(name)
        again = _run(f"{name}-again", slower, replicas=8, purpose="confirm", parent=parent)
        store.write_many(_named(one, workload) for one in again)
    store.close()


def _run(
    name: str, slower: Mapping[str, float], replicas: int = REPLICAS, **changes: Any
) -> Iterator[Record]:
    run, environment, *definition = copy.deepcopy(made.head(name, **changes))
    run["plan"] = {"replicas": replicas, "environments": [BASE, CANDIDATE]}
    yield run
    for hash_ in (BASE, CANDIDATE):
        yield environment | {"hash": hash_, "fields": made.FIELDS | {"torch": TORCH[hash_]}}
    yield from definition
    for number in range(replicas):
        for hash_ in (BASE, CANDIDATE):
            server = made.named("server", name, hash_, number)
            yield made.replica(name, number, environment=hash_, server=server)
    yield artifact("kernel_source", OTHER_KERNEL)
    for hash_ in (BASE, CANDIDATE):
        ratios = slower if hash_ == CANDIDATE else {}
        for bucket in made.BUCKETS:
            for record in copy.deepcopy(made.cell(name, bucket, replicas)):
                yield _of(record, hash_, ratios)
    yield made.end(name)


def _named(record: Record, workload: str | None) -> Record:
    """A record in which the workload has this name."""
    if workload is not None:
        record |= {key: workload for key in ("name", "workload") if record.get(key) == made.WORKLOAD}
    return record


def _of(record: Record, environment: str, ratios: Mapping[str, float]) -> Record:
    """A record as this environment's: an evaluation of its own, and times that spread by half a percent."""
    if "evaluation" in record:
        record["evaluation"] = made.named(record["evaluation"], environment)
    if record["type"] == "evaluation":
        record |= {"uuid": made.named(record["uuid"], environment), "environment": environment}
    for kernel in record.get("kernels", ()) if ratios else ():
        kernel |= {
            "source_hash": "c" * 64,
            "source_sha256": artifact("kernel_source", OTHER_KERNEL)["sha256"],
        }
    for sample in record.get("samples", ()):
        sample["flags"] = [flag for flag in sample["flags"] if flag != "cache_missed"]
        if sample["value"] is not None:
            sample["value"] = (1 + 0.001 * record["replica"]) * ratios.get(sample["metric"], 1.0)
    return record
