"""Everything a run recorded, table by table: its cells, environments, failed probes, files and raw samples."""

from __future__ import annotations

from typing import Any, Final

import pandas as pd
from sqlalchemy import Connection, func, select

from db.models import (
    Artifact,
    Bucket,
    Cell,
    Environment,
    Evaluation,
    Facts,
    Probe,
    ProbeArtifact,
    Replica,
    Sample,
    Summary,
    Variant,
    Workload,
)
from db.queries.frames import AnySelect, frame
from db.queries.noise import warm_round_flags, with_round_flags

CELL_METRICS: Final = ("compile.cold_s", "compile.warm_cache_s", "eager.wall_ms", "compiled.wall_ms")


def cells(connection: Connection, run_id: int) -> pd.DataFrame:
    """One row an evaluation of a run, by workload, variant and declared bucket order: evaluation, workload, bucket,
    position, variant, target, torch, environment (hash), status, reason, evidence_only, graphs, graph_breaks,
    recompiles, recompile_limit_hit, ran_eager, nothing_compiled, round_flags (a list), and the median of each of ``CELL_METRICS``."""
    found = frame(
        connection,
        select(
            Evaluation.id.label("evaluation"),
            Workload.name.label("workload"),
            Bucket.name.label("bucket"),
            Bucket.position,
            Variant.name.label("variant"),
            Cell.target,
            Environment.torch_version.label("torch"),
            Environment.hash.label("environment"),
            Evaluation.status,
            Evaluation.reason,
            Variant.evidence_only,
            Facts.graphs,
            Facts.graph_breaks,
            Facts.recompiles,
            Facts.recompile_limit_hit,
            Facts.ran_eager,
            Facts.nothing_compiled,
            warm_round_flags(),
        )
        .join(Cell, Cell.id == Evaluation.cell_id)
        .join(Bucket, Bucket.id == Cell.bucket_id)
        .join(Variant, Variant.id == Cell.variant_id)
        .join(Workload, Workload.id == Bucket.workload_id)
        .join(Environment, Environment.id == Evaluation.environment_id)
        .outerjoin(Facts, Facts.evaluation_id == Evaluation.id)
        .where(Evaluation.run_id == run_id)
        .order_by(
            Workload.name, Environment.id, Cell.target, Variant.position, Bucket.position, Evaluation.id
        ),
    )
    medians = frame(
        connection,
        select(Summary.evaluation_id.label("evaluation"), Summary.metric, Summary.median)
        .join(Evaluation, Evaluation.id == Summary.evaluation_id)
        .where(Evaluation.run_id == run_id, Summary.metric.in_(CELL_METRICS)),
    )
    wide = medians.pivot(index="evaluation", columns="metric", values="median").reindex(
        columns=list(CELL_METRICS)
    )
    return with_round_flags(found).join(wide, on="evaluation")


def environments(connection: Connection, run_id: int) -> list[dict[str, Any]]:
    """The environments of a run, in the order they came: hash, torch, triton, python, gpu, cpu, and all ``fields``."""
    used = select(Replica.environment_id).where(Replica.run_id == run_id)
    evaluated = select(Evaluation.environment_id).where(Evaluation.run_id == run_id)
    rows = connection.execute(
        select(Environment)
        .with_only_columns(
            Environment.hash,
            Environment.torch_version.label("torch"),
            Environment.torch_git,
            Environment.torch_cuda,
            Environment.triton_version.label("triton"),
            Environment.python_version.label("python"),
            Environment.gpu,
            Environment.driver,
            Environment.cpu_model.label("cpu"),
            Environment.fields,
        )
        .where(Environment.id.in_(used.union(evaluated)))
        .order_by(Environment.id)
    )
    return [dict(row._mapping) for row in rows]


def replicas(connection: Connection, run_id: int) -> pd.DataFrame:
    """The process servers of a run: replica, torch, started_at, conditions (a dict or missing)."""
    return frame(
        connection,
        select(
            Replica.number.label("replica"),
            Environment.torch_version.label("torch"),
            Replica.started_at,
            Replica.conditions,
        )
        .join(Environment, Environment.id == Replica.environment_id)
        .where(Replica.run_id == run_id)
        .order_by(Replica.environment_id, Replica.number, Replica.id),
    )


def _of_run(statement: AnySelect, run_id: int) -> AnySelect:
    """``statement`` over probes, joined to the names of their cells and restricted to a run."""
    return (
        statement.join(Evaluation, Evaluation.id == Probe.evaluation_id)
        .join(Cell, Cell.id == Evaluation.cell_id)
        .join(Bucket, Bucket.id == Cell.bucket_id)
        .join(Variant, Variant.id == Cell.variant_id)
        .join(Workload, Workload.id == Bucket.workload_id)
        .outerjoin(Replica, Replica.id == Probe.replica_id)
        .where(Evaluation.run_id == run_id)
    )


_PROBE_NAMES: Final = (
    Probe.evaluation_id.label("evaluation"),
    Workload.name.label("workload"),
    Bucket.name.label("bucket"),
    Variant.name.label("variant"),
    Replica.number.label("replica"),
    Probe.probe,
    Probe.cache,
)


def failed_probes(connection: Connection, run_id: int) -> pd.DataFrame:
    """Probes of a run that are not ok, as they happened: evaluation, workload, bucket, variant, replica, probe,
    cache, attempt, status, reason, stage, error (a dict or missing), log_tail, duration_s."""
    columns = (
        Probe.attempt,
        Probe.status,
        Probe.reason,
        Probe.stage,
        Probe.error,
        Probe.log_tail,
        Probe.duration_s,
    )
    query = _of_run(select(*_PROBE_NAMES, *columns).select_from(Probe), run_id)
    return frame(connection, query.where(Probe.status != "ok").order_by(Probe.id))


def artifacts(connection: Connection, run_id: int) -> pd.DataFrame:
    """Files the probes of a run left: kind, sha256, size (bytes), probes (how many left it), evaluation,
    workload, bucket, variant and probe of the first of them."""
    columns = (ProbeArtifact.kind, Artifact.sha256, Artifact.size)
    query = select(*_PROBE_NAMES, *columns).select_from(Probe)
    query = query.join(ProbeArtifact, ProbeArtifact.probe_id == Probe.id)
    query = query.join(Artifact, Artifact.sha256 == ProbeArtifact.sha256)
    found = frame(connection, _of_run(query, run_id).order_by(Probe.id, ProbeArtifact.kind, Artifact.sha256))
    first = found.drop_duplicates(["kind", "sha256"])
    times = found.groupby(["kind", "sha256"]).size().rename("probes")
    return first.join(times, on=["kind", "sha256"])


def sample_count(connection: Connection, run_id: int, metric: str | None = None) -> int:
    """How many raw samples a run has, of one metric or of all."""
    query = select(func.count(Sample.id)).join(Probe, Probe.id == Sample.probe_id)
    query = query.join(Evaluation, Evaluation.id == Probe.evaluation_id).where(Evaluation.run_id == run_id)
    return connection.scalar(query.where(Sample.metric == metric) if metric else query) or 0


def sample_metrics(connection: Connection, run_id: int) -> list[str]:
    """Metrics that a run has samples of, by name."""
    query = select(Sample.metric).join(Probe, Probe.id == Sample.probe_id)
    query = query.join(Evaluation, Evaluation.id == Probe.evaluation_id).where(Evaluation.run_id == run_id)
    return sorted(connection.scalars(query.distinct()))


def samples(
    connection: Connection, run_id: int, *, metric: str | None, offset: int, limit: int
) -> pd.DataFrame:
    """A page of raw samples in the order they were recorded: evaluation, workload, bucket, variant, replica, probe,
    cache, metric, round, value (in the metric's unit; missing: it failed), flags."""
    query: AnySelect = select(
        *_PROBE_NAMES, Sample.metric, Sample.round, Sample.value, Sample.flags
    ).select_from(Probe)
    query = _of_run(query.join(Sample, Sample.probe_id == Probe.id), run_id)
    if metric:
        query = query.where(Sample.metric == metric)
    return frame(connection, query.order_by(Sample.id).offset(offset).limit(limit))
