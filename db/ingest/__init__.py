"""From records to rows. Everything is idempotent: a record that is stored already changes nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from sqlalchemy import Connection

from db.artifacts import ArtifactFolder
from db.failures import RecordError
from db.ingest import identity, probes, results, runs
from db.ingest.rows import Record

_Write = Callable[[Connection, Record, ArtifactFolder], bool]

# In the order in which records build on each other: within a transaction they are stored in this order.
_WRITERS: Final[dict[str, _Write]] = {
    "run": lambda connection, record, _: runs.run(connection, record).new,
    "environment": lambda connection, record, _: identity.environment(connection, record).new,
    "artifact": lambda connection, record, folder: identity.artifact(connection, record, folder).new,
    "workload": lambda connection, record, _: identity.workload(connection, record).new,
    "replica": lambda connection, record, _: runs.replica(connection, record),
    "evaluation": lambda connection, record, _: runs.evaluation(connection, record),
    "probe": lambda connection, record, _: probes.probe(connection, record),
    "evaluation_finished": lambda connection, record, _: results.evaluation_finished(connection, record),
    "run_finished": lambda connection, record, _: runs.run_finished(connection, record),
}
_RANK: Final = {kind: rank for rank, kind in enumerate(_WRITERS)}


def in_order(records: Iterable[Record]) -> list[Record]:
    """The records so that each comes after what it builds on. Raises RecordError for an unknown type."""
    listed = list(records)
    for record in listed:
        if record.get("type") not in _RANK:
            raise RecordError(
                f"unknown record type {record.get('type')!r}: a newer version wrote it, update the code"
            )
    return sorted(listed, key=lambda record: _RANK[record["type"]])


def ingest(connection: Connection, record: Record, folder: ArtifactFolder) -> bool:
    """Store one record; whether it brought anything new. Raises RecordError where it lacks what it builds on."""
    try:
        return _WRITERS[record["type"]](connection, record, folder)
    except KeyError as error:
        raise RecordError(
            f"a {record['type']} record has no {error.args[0]!r}: it was not written by this evaluator"
        ) from error
