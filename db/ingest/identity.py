"""Records about what runs share: environments, workloads with their buckets and variants, cells, artifacts."""

from __future__ import annotations

from typing import Any, Final

from sqlalchemy import Connection

from db import values
from db.artifacts import ArtifactFolder, content_of
from db.compiling import Compiling
from db.failures import RecordError
from db.ingest.rows import Record, Row, find, intern
from db.tables import ARTIFACT, BUCKET, CELL, ENVIRONMENT, MACHINE, VARIANT, WORKLOAD

# The definition hash of a workload that failed to load, and the bucket that stands for all of its buckets.
UNKNOWN: Final = "-"


def machine(connection: Connection, record: Record) -> Row:
    """The machine of a run record; RecordError where it has no id."""
    identity = values.text(record.get("id"))
    if not identity:
        raise RecordError("a run record names no machine: it was not written by this evaluator")
    facts = {
        "cpu_model": values.text(record.get("cpu_model")),
        "cpu_count": values.integer(record.get("cpu_count")),
        "memory_mb": values.number(record.get("memory_mb")),
        "os": values.text(record.get("os")),
    }
    return intern(connection, MACHINE, {"id": identity}, facts)


def environment(connection: Connection, record: Record) -> Row:
    """An environment record."""
    fields = values.json_object(record.get("fields")) or {}
    columns = {
        "torch_version": values.text(fields.get("torch")),
        "torch_git": values.text(fields.get("torch_git")),
        "torch_cuda": values.text(fields.get("built_cuda")),
        "triton_version": values.text(fields.get("triton")),
        "python_version": values.text(fields.get("python")),
        "gpu": values.text(fields.get("gpu")),
        "gpu_capability": values.text(fields.get("capability")),
        "driver": values.text(fields.get("driver")),
        "cpu_model": values.text(fields.get("cpu_model")),
        "fields": fields,
    }
    return intern(connection, ENVIRONMENT, {"hash": record["hash"]}, columns)


def environment_id(connection: Connection, hash_: str) -> int:
    """The environment with this hash; RecordError where no record brought it."""
    found = find(connection, ENVIRONMENT, {"hash": hash_})
    if found is None:
        raise RecordError(f"no record describes environment {hash_}: records are missing before this one")
    return int(found)


def artifact(connection: Connection, record: Record, folder: ArtifactFolder) -> Row:
    """An artifact record: the file first, so that a row never names a file that is not there."""
    content = content_of(record)
    sha256 = folder.write(content)
    columns = {"kind": values.text(record.get("kind")) or "other", "size": len(content)}
    return intern(connection, ARTIFACT, {"sha256": sha256}, columns)


def artifact_name(connection: Connection, sha256: Any, what: str) -> str | None:
    """The name of a stored artifact; None for None; RecordError where no record brought it."""
    if sha256 is None:
        return None
    if find(connection, ARTIFACT, {"sha256": sha256}) is None:
        raise RecordError(f"no record carries the {what} {sha256}: records are missing before this one")
    return str(sha256)


def workload(connection: Connection, record: Record) -> Row:
    """A workload record with its buckets, variants and rungs, or with the problem that kept it from loading.

    A rung (``{name, options, precision}``) is a variant derived from a declared one: the same under another backend.
    """
    columns = {
        "stands_for": values.text(record.get("stands_for")),
        "origin": values.text(record.get("origin")),
        "form": values.text(record.get("form")),
        "training": values.flag(record.get("training")),
        "grad": values.flag(record.get("grad")),
        "calls": values.integer(record.get("calls")),
        "requires": values.text(record.get("requires")),
        "repeats": values.integer(record.get("repeats")),
        "precision": values.text(record.get("precision")),
        "tolerance": values.json_object(record.get("tolerance")),
        "variables": values.json_list(record.get("environment")),
        "libraries": values.json_list(record.get("libraries")),
        "tags": sorted(tags) if (tags := values.json_list(record.get("tags"))) else None,
        "problem": values.text(record.get("problem")),
        "source_sha256": artifact_name(connection, record.get("source_sha256"), "workload source"),
    }
    key = {"name": record["name"], "definition_hash": record.get("definition_hash") or UNKNOWN}
    row = intern(connection, WORKLOAD, key, columns)
    for position, one in enumerate(record.get("buckets") or ()):
        shape = {"position": position, "params": values.json_object(one.get("params")) or {}}
        intern(connection, BUCKET, {"workload_id": row.id, "name": one["name"]}, shape)
    # Rungs come after the variants they are derived from.
    for position, one in enumerate([*(record.get("variants") or ()), *(record.get("rungs") or ())]):
        options = values.json_object(one.get("options")) or {}
        how = {
            "position": position,
            "options": Compiling(options, values.text(one.get("precision"))).column(),
            "evidence_only": bool(one.get("evidence_only")),
            "requires": values.text(one.get("requires")),
        }
        intern(connection, VARIANT, {"workload_id": row.id, "name": one["name"]}, how)
    return row


def cell_id(connection: Connection, record: Record) -> int:
    """The cell of an evaluation record. A workload that failed to load gets the bucket and variant it is named with.

    Raises RecordError where no record described the workload.
    """
    name, definition = record["workload"], record.get("definition_hash") or UNKNOWN
    workload_id = find(connection, WORKLOAD, {"name": name, "definition_hash": definition})
    if workload_id is None:
        raise RecordError(
            f"no record describes workload {name} ({definition}): records are missing before this one"
        )
    place: dict[str, Any] = {"workload_id": workload_id}
    bucket = intern(
        connection,
        BUCKET,
        {**place, "name": record.get("bucket") or UNKNOWN},
        {"position": None, "params": {}},
    )
    undescribed: dict[str, Any] = {"position": None, "options": {}, "evidence_only": False, "requires": None}
    variant = intern(connection, VARIANT, {**place, "name": record.get("variant") or UNKNOWN}, undescribed)
    key = {"bucket_id": bucket.id, "variant_id": variant.id, "target": record["target"]}
    return int(intern(connection, CELL, key, {}).id)
