"""The end of an evaluation: its status, and from its probes the one row of facts and the summaries."""

from __future__ import annotations

from dataclasses import asdict

from sqlalchemy import Connection, select

from db import facts, summaries
from db.ingest import runs
from db.ingest.rows import Record, put
from db.tables import EVALUATION, FACTS, PROBE, REPLICA, RUN, SAMPLE, SUMMARY


def evaluation_finished(connection: Connection, record: Record) -> bool:
    """Set an evaluation's status, facts and summaries; False where its run is finished, and so is it."""
    evaluation, run, _ = runs.evaluation_row(connection, record["evaluation"])
    finished = connection.execute(select(RUN.c.status).where(RUN.c.id == run)).scalar_one() == "finished"
    known = connection.execute(select(EVALUATION.c.status).where(EVALUATION.c.id == evaluation)).scalar_one()
    if finished and known is not None:
        return False
    merged = facts.merge(probe_facts(connection, evaluation))
    put(
        connection,
        FACTS,
        {"evaluation_id": evaluation},
        {"probe_id": merged.probe_id, **merged.typed, "extra": merged.extra or None},
    )
    for summary in summaries.summarise(readings(connection, evaluation)):
        columns = asdict(summary)
        put(connection, SUMMARY, {"evaluation_id": evaluation, "metric": columns.pop("metric")}, columns)
    ended = {"status": record["status"], "reason": record.get("reason")}
    connection.execute(EVALUATION.update().where(EVALUATION.c.id == evaluation).values(ended))
    return bool(known != record["status"])


def probe_facts(connection: Connection, evaluation: int) -> list[facts.ProbeFacts]:
    """What each probe of an evaluation found."""
    rows = connection.execute(
        select(PROBE.c.id, REPLICA.c.number, PROBE.c.attempt, PROBE.c.probe, PROBE.c.cache, PROBE.c.facts)
        .outerjoin_from(PROBE, REPLICA, PROBE.c.replica_id == REPLICA.c.id)
        .where(PROBE.c.evaluation_id == evaluation)
    )
    return [
        facts.ProbeFacts(id_, number, attempt, probe, cache, found or {})
        for id_, number, attempt, probe, cache, found in rows
    ]


def readings(connection: Connection, evaluation: int) -> list[summaries.Reading]:
    """Every sample of an evaluation, with what decides whether it counts."""
    rows = connection.execute(
        select(
            REPLICA.c.number,
            PROBE.c.attempt,
            PROBE.c.cache,
            PROBE.c.status,
            SAMPLE.c.metric,
            SAMPLE.c.value,
            SAMPLE.c.flags,
        )
        .select_from(PROBE)
        .join(SAMPLE, SAMPLE.c.probe_id == PROBE.c.id)
        .outerjoin(REPLICA, PROBE.c.replica_id == REPLICA.c.id)
        .where(PROBE.c.evaluation_id == evaluation)
        .order_by(SAMPLE.c.id)
    )
    return [
        summaries.Reading(number, attempt, cache, status, metric, value, tuple(flags or ()))
        for number, attempt, cache, status, metric, value, flags in rows
    ]
