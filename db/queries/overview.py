"""What a database holds at a glance: counts, versions, the list of runs."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

import pandas as pd
from sqlalchemy import Connection, func, select

from db.models import Bucket, Cell, Environment, Evaluation, Probe, Run, Workload
from db.queries.frames import frame
from db.queries.rungs import of_cells
from db.queries.versions import in_order


@dataclass(frozen=True)
class Headline:
    """Counts over the whole database, rungs left out. ``newest``: id of the newest run that has cells.

    ``versions`` are in version order.
    """

    runs: int
    newest: int | None
    last_started: datetime | None
    versions: tuple[str, ...]
    workloads: int
    cells: int
    evaluations: int
    running: int


def stamp(connection: Connection) -> tuple[int, int, int, int]:
    """Changes whenever something was recorded or pruned: what cached reads are keyed on. Cheap at any size."""
    newest = connection.scalar(select(func.max(Run.id))) or 0
    probes = connection.scalar(select(func.max(Probe.id))) or 0
    runs = connection.scalar(select(func.count()).select_from(Run)) or 0
    unfinished = select(Run.id).where(Run.status != "finished")
    settled = select(func.count(Evaluation.status)).where(Evaluation.run_id.in_(unfinished))
    # A run that finishes adds no probe: it leaves the unfinished ones, and takes its settled evaluations with it.
    open_runs = connection.scalar(select(func.count()).select_from(unfinished.subquery())) or 0
    return newest, probes, runs, open_runs * 1_000_000 + (connection.scalar(settled) or 0)


def headline(connection: Connection) -> Headline:
    """Counts for the first screen; only what was evaluated counts, not what was merely planned."""
    unfinished = func.count().filter(Run.status == "running")
    n_runs, newest, last, running = connection.execute(
        select(
            func.count(Run.id),
            func.max(Run.id).filter(Run.purpose != "explain"),
            func.max(Run.started_at),
            unfinished,
        )
    ).one()
    versions = connection.scalars(
        select(Environment.torch_version)
        .where(Environment.id.in_(select(Evaluation.environment_id).where(of_cells())))
        .distinct()
    )
    cells, evaluations = connection.execute(
        select(func.count(Evaluation.cell_id.distinct()), func.count(Evaluation.id)).where(of_cells())
    ).one()
    workloads = connection.scalar(
        select(func.count(Workload.name.distinct()))
        .join(Bucket, Bucket.workload_id == Workload.id)
        .join(Cell, Cell.bucket_id == Bucket.id)
        .where(Cell.id.in_(select(Evaluation.cell_id).where(of_cells())))
    )
    known = in_order([version for version in versions if version])
    return Headline(n_runs, newest, last, tuple(known), workloads or 0, cells, evaluations, running)


def runs(connection: Connection) -> pd.DataFrame:
    """One row a run, newest first: run, uuid, label, profile, purpose, machine, started_at, finished_at, status, argv,
    evaluator_version, torch (its versions in order, joined), evaluations, ok, not_ok, pending (counts)."""
    listed = frame(
        connection,
        select(
            Run.id.label("run"),
            Run.uuid,
            Run.label.label("label"),
            Run.profile,
            Run.purpose,
            Run.machine_id.label("machine"),
            Run.started_at,
            Run.finished_at,
            Run.status,
            Run.argv,
            Run.evaluator_version,
        ).order_by(Run.id.desc()),
    )
    for moment in ("started_at", "finished_at"):
        # A column with nothing but NULL has no type of its own.
        listed[moment] = pd.to_datetime(listed[moment], utc=True)
    counted = frame(
        connection,
        select(
            Evaluation.run_id.label("run"),
            Environment.torch_version.label("torch"),
            func.count(Evaluation.id).label("evaluations"),
            func.count().filter(Evaluation.status == "ok").label("ok"),
            func.count().filter(Evaluation.status.is_(None)).label("pending"),
        )
        .join(Environment, Environment.id == Evaluation.environment_id)
        .group_by(Evaluation.run_id, Environment.torch_version),
    )
    columns = ["evaluations", "ok", "pending"]
    sums = counted.groupby("run")[columns].sum()
    torch = (
        counted.dropna(subset=["torch"]).groupby("run")["torch"].agg(lambda found: ", ".join(in_order(found)))
    )
    listed = listed.join(torch, on="run").join(sums, on="run")
    listed[columns] = listed[columns].fillna(0).astype("int64")
    listed["not_ok"] = listed["evaluations"] - listed["ok"] - listed["pending"]
    return listed


def status_counts(connection: Connection, run_id: int) -> dict[str | None, int]:
    """How many evaluations of a run have each status, most first; None are those not finished."""
    rows = connection.execute(
        select(Evaluation.status, func.count()).where(Evaluation.run_id == run_id).group_by(Evaluation.status)
    )
    return dict(sorted(((row[0], row[1]) for row in rows), key=lambda row: (-row[1], row[0] or "")))
