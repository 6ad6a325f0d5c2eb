"""Records about the course of a run: its start and end, the servers it started, the evaluations it makes."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection, select

from db import values
from db.failures import RecordError
from db.ingest import identity
from db.ingest.rows import Record, Row, add_many, find, intern
from db.tables import ENVIRONMENT_SAMPLE, EVALUATION, REPLICA, RUN


def run(connection: Connection, record: Record) -> Row:
    """A run record: a new run is ``running``; one that is there stays as it is."""
    found = find(connection, RUN, {"uuid": record["uuid"]})
    if found is not None:
        return Row(found, False)
    started = values.moment(record.get("started_at"))
    if started is None:
        raise RecordError(
            f"run {record['uuid']} does not say when it started: it was not written by this evaluator"
        )
    columns = {
        "label": values.text(record.get("label")),
        "profile": values.text(record.get("profile")),
        "machine_id": identity.machine(connection, record.get("machine") or {}).id,
        "started_at": started,
        "finished_at": None,
        "status": "running",
        "argv": values.json_list(record.get("argv")) or [],
        "plan": values.json_object(record.get("plan")) or {},
        "evaluator_version": values.text(record.get("evaluator_version")),
        "purpose": values.text(record.get("purpose")) or "evaluate",
        "parent_uuid": values.text(record.get("parent")),
    }
    return intern(connection, RUN, {"uuid": record["uuid"]}, columns)


def run_id(connection: Connection, uuid: str) -> int:
    """The run with this uuid; RecordError where no record began it."""
    found = find(connection, RUN, {"uuid": uuid})
    if found is None:
        raise RecordError(f"no record begins run {uuid}: records are missing before this one")
    return int(found)


def run_finished(connection: Connection, record: Record) -> bool:
    """The end of a run, whole or interrupted; whether that is news."""
    row = run_id(connection, record["run"])
    status = connection.execute(select(RUN.c.status).where(RUN.c.id == row)).scalar_one()
    if status in ("finished", record["status"]):
        return False
    ended = {"status": record["status"], "finished_at": values.moment(record.get("finished_at"))}
    connection.execute(RUN.update().where(RUN.c.id == row).values(ended))
    return True


def replica(connection: Connection, record: Record) -> bool:
    """A start of the process server, with the samples of its environment; whether any of it is new."""
    row_run = run_id(connection, record["run"])
    environment = identity.environment_id(connection, record["environment"])
    key = {
        "run_id": row_run,
        "environment_id": environment,
        "number": record["index"],
        "server": values.text(record.get("server")),
    }
    columns = {
        "started_at": values.moment(record.get("started_at")),
        "conditions": values.json_object(record.get("conditions")),
    }
    row = intern(connection, REPLICA, key, columns)
    known = set(
        connection.execute(
            select(ENVIRONMENT_SAMPLE.c.metric).where(ENVIRONMENT_SAMPLE.c.replica_id == row.id)
        ).scalars()
    )
    fresh = [one for one in record.get("samples") or () if one["metric"] not in known]
    add_many(
        connection,
        ENVIRONMENT_SAMPLE,
        [
            {
                "run_id": row_run,
                "environment_id": environment,
                "replica_id": row.id,
                "metric": one["metric"],
                "value": values.number(one.get("value")),
                "flags": values.json_list(one.get("flags")),
            }
            for one in fresh
        ],
    )
    return row.new or bool(fresh)


def replica_id(connection: Connection, run: int, environment: int, number: int | None) -> int | None:
    """The latest start of a run's replica; one without a server where none was recorded; None for no number."""
    if number is None:
        return None
    key: dict[str, Any] = {"run_id": run, "environment_id": environment, "number": number}
    found = connection.execute(
        select(REPLICA.c.id)
        .where(*(REPLICA.c[name] == value for name, value in key.items()))
        .order_by(REPLICA.c.id.desc())
        .limit(1)
    ).scalar()
    if found is not None:
        return int(found)
    return int(
        intern(connection, REPLICA, {**key, "server": None}, {"started_at": None, "conditions": None}).id
    )


def evaluation(connection: Connection, record: Record) -> bool:
    """A cell that is to be evaluated; whether it is new. RecordError where its run evaluates it already."""
    row_run = run_id(connection, record["run"])
    if find(connection, EVALUATION, {"uuid": record["uuid"]}) is not None:
        return False
    place = {
        "run_id": row_run,
        "cell_id": identity.cell_id(connection, record),
        "environment_id": identity.environment_id(connection, record["environment"]),
    }
    row = intern(connection, EVALUATION, place, {"uuid": record["uuid"], "status": None, "reason": None})
    if not row.new:
        raise RecordError(
            f"run {record['run']} already evaluates {record['workload']} {record.get('bucket')} in this environment "
            "under another id: start a new run"
        )
    return True


def evaluation_row(connection: Connection, uuid: str) -> tuple[int, int, int]:
    """(id, run id, environment id) of an evaluation; RecordError where no record began it."""
    found = connection.execute(
        select(EVALUATION.c.id, EVALUATION.c.run_id, EVALUATION.c.environment_id).where(
            EVALUATION.c.uuid == uuid
        )
    ).first()
    if found is None:
        raise RecordError(f"no record begins evaluation {uuid}: records are missing before this one")
    return int(found.id), int(found.run_id), int(found.environment_id)
