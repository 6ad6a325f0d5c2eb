"""One evaluation with all its evidence: the Why page."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, NamedTuple

import pandas as pd
from sqlalchemy import Connection, String, cast, select

from db.compiling import Compiling
from db.models import (
    Accuracy,
    Artifact,
    Bucket,
    Cell,
    Difference,
    Environment,
    Evaluation,
    Facts,
    GraphBreak,
    Kernel,
    KernelBuild,
    Probe,
    ProbeArtifact,
    Recompile,
    Replica,
    Run,
    Summary,
    Variant,
    Workload,
)
from db.queries.evaluated_builds import NO_BUILDS, builds
from db.queries.evaluated_probes import deciding
from db.queries.frames import AnySelect, frame
from db.queries.noise import with_round_flags
from db.tables import EVALUATION

# What a kernel's row has of its build, the texts last.
_BUILT: Final = ("registers", "spilled", "stack", "shared", "cubin_bytes", "sass_hash", "error")


class Outputs(NamedTuple):
    """Whether the outputs are right (pass, fail, not_comparable; None: not measured), why or what was left out, and by
    which series of the accuracy probe."""

    verdict: str | None
    reason: str | None
    series: str


@dataclass(frozen=True)
class EvaluationRecord:
    """Who and what: one cell in one run and environment. Frames have one row each thing named, in recorded order.

    ``facts``: the exact facts by name, None where no walk left evidence. ``probes``: replica, probe, cache, attempt,
    status, reason, stage, error, log_tail, duration_s, limits, conditions, facts. ``breaks``, ``recompiles``, ``kernels``,
    ``accuracy``, ``differences``, ``builds`` (kernels built for a card that is not there): columns of those tables;
    ``kernels`` has build (the id of its row in ``builds``, missing: none) and its registers, spilled (bytes a thread
    writes and reads back), stack, shared, cubin_bytes, sass_hash, error. ``summaries``: metric, replicas, samples, median, lo, hi,
    min, max, round_flags (a list).
    ``precision``, ``workload_precision``: of float32, what the variant sets, and what the workload asks for else. ``artifacts``: kind, sha256, size, replica, probe, cache.
    """

    id: int
    uuid: str
    run: int
    run_label: str | None
    started_at: datetime
    workload: str
    stands_for: str | None
    definition_hash: str
    source_sha256: str | None
    training: bool | None
    bucket: str
    variant: str
    options: dict[str, Any]
    evidence_only: bool
    target: str
    torch: str | None
    environment: str
    environment_fields: dict[str, Any]
    status: str | None
    reason: str | None
    facts: dict[str, Any] | None
    probes: pd.DataFrame
    breaks: pd.DataFrame
    recompiles: pd.DataFrame
    kernels: pd.DataFrame
    accuracy: pd.DataFrame
    differences: pd.DataFrame
    summaries: pd.DataFrame
    artifacts: pd.DataFrame
    builds: pd.DataFrame = field(default_factory=pd.DataFrame)
    precision: str | None = None
    workload_precision: str | None = None

    @property
    def outputs(self) -> Outputs:
        """Whether the outputs are right, by the series that decides."""
        found: dict[str, Outputs] = {}
        for row in self.accuracy.to_dict("records"):
            verdict, reason = (
                row[name] if isinstance(row[name], str) else None for name in ("verdict", "reason")
            )
            # The first probe's counts.
            found.setdefault(row["series"], Outputs(verdict, reason, row["series"]))
        series = deciding({name: one.verdict for name, one in found.items()})
        return found.get(series, Outputs(None, None, series))


def evaluations_of(
    connection: Connection, workload: str, bucket: str, variant: str, target: str
) -> pd.DataFrame:
    """Every evaluation of a cell, of all its definitions, newest first: evaluation, run, label, started_at, torch,
    environment (hash), status (missing: not finished), definition_hash."""
    return frame(
        connection,
        select(
            Evaluation.id.label("evaluation"),
            Run.id.label("run"),
            Run.label.label("label"),
            Run.started_at,
            Environment.torch_version.label("torch"),
            Environment.hash.label("environment"),
            Evaluation.status,
            Workload.definition_hash,
        )
        .join(Run, Run.id == Evaluation.run_id)
        .join(Environment, Environment.id == Evaluation.environment_id)
        .join(Cell, Cell.id == Evaluation.cell_id)
        .join(Bucket, Bucket.id == Cell.bucket_id)
        .join(Variant, Variant.id == Cell.variant_id)
        .join(Workload, Workload.id == Bucket.workload_id)
        .where(
            Workload.name == workload, Bucket.name == bucket, Variant.name == variant, Cell.target == target
        )
        .order_by(Evaluation.id.desc()),
    )


def record(connection: Connection, evaluation_id: int) -> EvaluationRecord | None:
    """All that was recorded of one evaluation; None where there is none with this id."""
    row = connection.execute(_identity().where(Evaluation.id == evaluation_id)).mappings().first()
    if row is None:
        return None
    facts = (
        connection.execute(select(Facts.__table__).where(Facts.evaluation_id == evaluation_id))
        .mappings()
        .first()
    )
    walk = facts["probe_id"] if facts is not None else None
    mine = Probe.evaluation_id == evaluation_id
    source = (Replica.number.label("replica"), Probe.probe, Probe.cache)
    probes = (
        select(*source, Probe.attempt, Probe.status, Probe.reason, Probe.stage, Probe.error, Probe.log_tail)
        .add_columns(Probe.duration_s, Probe.limits, Probe.conditions, Probe.facts)
        .outerjoin(Replica, Replica.id == Probe.replica_id)
        .where(mine)
        .order_by(Probe.id)
    )
    files = (
        select(ProbeArtifact.kind, Artifact.sha256, Artifact.size, *source)
        .join(Artifact, Artifact.sha256 == ProbeArtifact.sha256)
        .join(Probe, Probe.id == ProbeArtifact.probe_id)
        .outerjoin(Replica, Replica.id == Probe.replica_id)
        .where(mine)
        .order_by(Probe.id, ProbeArtifact.kind, Artifact.sha256)
    )
    summaries = select(
        Summary.metric, Summary.replicas, Summary.samples, Summary.median, Summary.lo, Summary.hi
    )
    kernels = _with_builds(connection, _of_walk(connection, Kernel, walk), evaluation_id)
    compiling = Compiling.stored(row["options"])
    return EvaluationRecord(
        **{**row, "options": compiling.options},
        precision=compiling.precision,
        facts=None if facts is None else {k: v for k, v in facts.items() if not k.endswith("id")},
        probes=frame(connection, probes),
        breaks=_of_walk(connection, GraphBreak, walk),
        recompiles=_of_walk(connection, Recompile, walk),
        kernels=kernels,
        accuracy=_of_probes(connection, Accuracy, evaluation_id),
        differences=_of_probes(connection, Difference, evaluation_id),
        summaries=with_round_flags(
            frame(
                connection,
                summaries.add_columns(
                    Summary.min, Summary.max, cast(Summary.flags, String).label("round_flags")
                )
                .where(Summary.evaluation_id == evaluation_id)
                .order_by(Summary.id),
            )
        ),
        artifacts=frame(connection, files),
        builds=_that_count(_of_probes(connection, KernelBuild, evaluation_id), kernels),
    )


def _identity() -> AnySelect:
    """Names and texts that say which evaluation it is, labelled as the fields of ``EvaluationRecord``."""
    return (
        select(
            Evaluation.id,
            Evaluation.uuid,
            Run.id.label("run"),
            Run.label.label("run_label"),
            Run.started_at,
            Workload.name.label("workload"),
            Workload.stands_for,
            Workload.definition_hash,
            Workload.source_sha256,
            Workload.training,
            Workload.precision.label("workload_precision"),
            Bucket.name.label("bucket"),
            Variant.name.label("variant"),
            Variant.options,
            Variant.evidence_only,
            Cell.target,
            Environment.torch_version.label("torch"),
            Environment.hash.label("environment"),
            Environment.fields.label("environment_fields"),
            Evaluation.status,
            Evaluation.reason,
        )
        .join(Run, Run.id == Evaluation.run_id)
        .join(Cell, Cell.id == Evaluation.cell_id)
        .join(Bucket, Bucket.id == Cell.bucket_id)
        .join(Variant, Variant.id == Cell.variant_id)
        .join(Workload, Workload.id == Bucket.workload_id)
        .join(Environment, Environment.id == Evaluation.environment_id)
    )


def _of_walk(
    connection: Connection, table: type[GraphBreak | Recompile | Kernel], walk: int | None
) -> pd.DataFrame:
    return frame(connection, select(table.__table__).where(table.probe_id == walk).order_by(table.id))


def _with_builds(connection: Connection, kernels: pd.DataFrame, evaluation_id: int) -> pd.DataFrame:
    """The kernels with the numbers of their builds, missing where there is none."""
    found = builds(connection, EVALUATION.c.id == evaluation_id).get(evaluation_id, NO_BUILDS)
    rows = zip(kernels["source_sha256"], kernels["name"], strict=True)
    made = [found.of(source if isinstance(source, str) else None, name) for source, name in rows]
    values = {"build": [one.id if one else None for one in made]}
    values |= {name: [getattr(one, name) if one else None for one in made] for name in _BUILT}
    numbers = dict.fromkeys(("build", *_BUILT[:-2]), "Int64")
    return kernels.assign(**pd.DataFrame(values, index=kernels.index, dtype="object").astype(numbers))


def _that_count(found: pd.DataFrame, kernels: pd.DataFrame) -> pd.DataFrame:
    """The builds of the probe that the kernels' numbers are of: another attempt has the same kernels again."""
    of_kernels = found["id"].isin(kernels["build"].dropna())
    return found[found["probe_id"].isin(found[of_kernels]["probe_id"])] if of_kernels.any() else found


def _of_probes(
    connection: Connection, table: type[Accuracy | Difference | KernelBuild], evaluation_id: int
) -> pd.DataFrame:
    query = select(Replica.number.label("replica"), table.__table__).join(Probe, Probe.id == table.probe_id)
    query = query.outerjoin(Replica, Replica.id == Probe.replica_id)
    return frame(connection, query.where(Probe.evaluation_id == evaluation_id).order_by(table.id))
