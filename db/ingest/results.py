"""The end of an evaluation: its status, and from its probes the one row of facts, the summaries and the noise."""

from __future__ import annotations

from dataclasses import asdict
from typing import Final

from sqlalchemy import Connection, select

from db import facts, summaries
from db.ingest import runs
from db.ingest.rows import Record, put
from db.tables import EVALUATION, FACTS, NOISE, PROBE, REPLICA, RUN, SAMPLE, SUMMARY
from evaluator.verdicts.noise import noise_of, usable
from evaluator.verdicts.policy import DIAGNOSTIC_TIMES, GATING_TIMES

# Times that a verdict is given about, and so the ones whose noise is asked for.
_JUDGED_TIMES: Final = frozenset({*GATING_TIMES, *DIAGNOSTIC_TIMES})


def evaluation_finished(connection: Connection, record: Record) -> bool:
    """Set an evaluation's status, facts and summaries, and in a calibration its noise; False where all is finished."""
    evaluation, run, _ = runs.evaluation_row(connection, record["evaluation"])
    of_run = connection.execute(select(RUN.c.status, RUN.c.purpose).where(RUN.c.id == run)).one()
    known = connection.execute(select(EVALUATION.c.status).where(EVALUATION.c.id == evaluation)).scalar_one()
    if of_run.status == "finished" and known is not None:
        return False
    merged = facts.merge(probe_facts(connection, evaluation))
    put(
        connection,
        FACTS,
        {"evaluation_id": evaluation},
        {"probe_id": merged.probe_id, **merged.typed, "extra": merged.extra or None},
    )
    measured = readings(connection, evaluation)
    for summary in summaries.summarise(measured):
        columns = asdict(summary)
        put(connection, SUMMARY, {"evaluation_id": evaluation, "metric": columns.pop("metric")}, columns)
    if of_run.purpose == "calibrate":
        _put_noise(connection, evaluation, measured)
    ended = {"status": record["status"], "reason": record.get("reason")}
    connection.execute(EVALUATION.update().where(EVALUATION.c.id == evaluation).values(ended))
    return bool(known != record["status"])


def _put_noise(connection: Connection, evaluation: int, measured: list[summaries.Reading]) -> None:
    """What an evaluation of a calibration says of noise: a row for each time of enough replicas to say what is usual."""
    place = dict(
        connection.execute(
            select(EVALUATION.c.run_id, EVALUATION.c.cell_id, EVALUATION.c.environment_id).where(
                EVALUATION.c.id == evaluation
            )
        )
        .mappings()
        .one()
    )
    for metric, rounds in summaries.rounds_by_replica(measured).items():
        if metric not in _JUDGED_TIMES:
            continue
        try:
            noise = usable(noise_of(metric, rounds, place["run_id"]))
        except ValueError:
            continue  # one replica has no spread
        if noise is None:
            continue
        columns = {
            "replicas": len(noise.values),
            "rounds": noise.rounds,
            "between_sd": noise.between_sd,
            "within_sd": noise.within_sd,
            "replica_values": list(noise.values),
        }
        put(connection, NOISE, {**place, "metric": metric}, columns)


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
