"""One workload over torch versions: which cells it has, their newest evaluations, summaries and failures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import pandas as pd
from sqlalchemy import Connection, case, func, select

from db.models import (
    Bucket,
    Cell,
    Environment,
    Evaluation,
    Facts,
    Kernel,
    Machine,
    Probe,
    Run,
    Summary,
    Variant,
    Workload,
)
from db.queries import evaluated_builds, evaluated_probes
from db.queries.frames import frame, frame_of_ids
from db.queries.noise import warm_round_flags, with_round_flags
from db.queries.rungs import of_cells
from db.queries.versions import built_for, targets_in_order
from db.tables import EVALUATION

_CACHE_OF: Final = {"compile.warm_cache_s": "warm", "compile.cold_serial_s": "cold_serial"}


def probe_of(metric: str) -> tuple[str, str | None]:
    """The probe that measures a metric of a cell, and for a compile the caches it finds."""
    side, _, name = metric.partition(".")
    if side in ("compile", "init"):
        return "compile", _CACHE_OF.get(metric, "cold")
    if side in ("eager", "compiled"):
        return "timing" if name.endswith("_ms") else "memory", None
    return side, None


@dataclass(frozen=True)
class Choices:
    """What can be asked about a workload. All are in declared order; ``definition`` is the id of the newest evaluated
    definition, which ``buckets`` and ``variants`` belong to; ``older`` counts evaluations of earlier definitions."""

    definition: int
    stands_for: str | None
    targets: tuple[str, ...]
    variants: tuple[str, ...]
    buckets: tuple[str, ...]
    older: int


def workload_names(connection: Connection) -> list[str]:
    """Names of workloads with at least one evaluation, sorted."""
    evaluated = select(Cell.bucket_id).where(Cell.id.in_(select(Evaluation.cell_id).where(of_cells())))
    query = (
        select(Workload.name).join(Bucket, Bucket.workload_id == Workload.id).where(Bucket.id.in_(evaluated))
    )
    return sorted(connection.scalars(query.distinct()))


def machines(connection: Connection) -> pd.DataFrame:
    """Machines that have runs, the one of the newest run first: machine (id), cpu_model, cpu_count, newest_run."""
    newest = func.max(Run.id)
    query = select(
        Machine.id.label("machine"), Machine.cpu_model, Machine.cpu_count, newest.label("newest_run")
    )
    return frame(
        connection, query.join(Run, Run.machine_id == Machine.id).group_by(Machine.id).order_by(newest.desc())
    )


def choices(connection: Connection, workload: str) -> Choices | None:
    """What was evaluated of the newest definition of ``workload``; None where there is none of that name."""
    rows = frame(
        connection,
        select(
            Workload.id.label("definition"),
            Workload.stands_for,
            Cell.target,
            Variant.name.label("variant"),
            Variant.position.label("variant_position"),
            Bucket.name.label("bucket"),
            Bucket.position.label("bucket_position"),
            func.count(Evaluation.id).label("evaluations"),
            func.max(Evaluation.id).label("newest"),
        )
        .join(Bucket, Bucket.workload_id == Workload.id)
        .join(Cell, Cell.bucket_id == Bucket.id)
        .join(Variant, Variant.id == Cell.variant_id)
        .join(Evaluation, Evaluation.cell_id == Cell.id)
        .where(Workload.name == workload, of_cells())
        .group_by(Workload.id, Cell.id, Variant.id, Bucket.id),
    )
    if rows.empty:
        return None
    definition = int(rows.sort_values("newest")["definition"].iloc[-1])
    mine = rows[rows["definition"] == definition]
    stands_for = mine["stands_for"].iloc[0]
    return Choices(
        definition=definition,
        stands_for=stands_for if isinstance(stands_for, str) else None,
        targets=targets_in_order(mine["target"].unique()),
        variants=tuple(mine.sort_values(["variant_position", "variant"])["variant"].unique()),
        buckets=tuple(mine.sort_values(["bucket_position", "bucket"])["bucket"].unique()),
        older=int(rows["evaluations"].sum() - mine["evaluations"].sum()),
    )


def evaluations(
    connection: Connection, definition: int, *, target: str, variant: str, machine: str | None = None
) -> pd.DataFrame:
    """Evaluations of a definition's cells, oldest first: evaluation, run, started_at, torch, environment (hash),
    bucket, status (missing: not finished), reason, evidence_only, recompile_limit_hit, ran_eager, nothing_compiled, reused_code,
    graphs, graph_breaks, recompiles, built_cuda, built_hip, round_flags (a list). ``machine`` restricts them to one machine: only its times compare."""
    query = (
        select(
            Evaluation.id.label("evaluation"),
            Run.id.label("run"),
            Run.started_at,
            Environment.torch_version.label("torch"),
            Environment.hash.label("environment"),
            Bucket.name.label("bucket"),
            Evaluation.status,
            Evaluation.reason,
            Variant.evidence_only,
            Facts.recompile_limit_hit,
            Facts.ran_eager,
            Facts.nothing_compiled,
            Facts.reused_code,
            Facts.graphs,
            Facts.graph_breaks,
            Facts.recompiles,
            *built_for(Environment),
            warm_round_flags(),
        )
        .join(Run, Run.id == Evaluation.run_id)
        .join(Environment, Environment.id == Evaluation.environment_id)
        .join(Cell, Cell.id == Evaluation.cell_id)
        .join(Bucket, Bucket.id == Cell.bucket_id)
        .join(Variant, Variant.id == Cell.variant_id)
        .outerjoin(Facts, Facts.evaluation_id == Evaluation.id)
        .where(Bucket.workload_id == definition, Cell.target == target, Variant.name == variant, of_cells())
        .order_by(Evaluation.id)
    )
    return with_round_flags(frame(connection, query.where(Run.machine_id == machine) if machine else query))


def newest_of_each_version(found: pd.DataFrame) -> pd.DataFrame:
    """Of ``evaluations``, the newest of each torch version and bucket; a version that is unknown is left out."""
    known = found.dropna(subset=["torch"])
    return known.drop_duplicates(["torch", "bucket"], keep="last")


def summaries(connection: Connection, ids: Sequence[int], metrics: Sequence[str]) -> pd.DataFrame:
    """Summary rows: evaluation, metric, replicas, median, lo, hi (missing: no interval), min, max, replica_numbers,
    replica_medians (lists, same order); values in the metric's unit."""
    query = select(
        Summary.evaluation_id.label("evaluation"),
        Summary.metric,
        Summary.replicas,
        Summary.median,
        Summary.lo,
        Summary.hi,
        Summary.min,
        Summary.max,
        Summary.replica_numbers,
        Summary.replica_medians,
    ).where(Summary.metric.in_(list(metrics)))
    return frame_of_ids(connection, query, Summary.evaluation_id, list(ids))


def failed_probes(connection: Connection, ids: Sequence[int]) -> pd.DataFrame:
    """Probes of these evaluations that are not ok: evaluation, probe, cache, status, reason."""
    query = select(
        Probe.evaluation_id.label("evaluation"), Probe.probe, Probe.cache, Probe.status, Probe.reason
    ).where(Probe.status != "ok")
    return frame_of_ids(connection, query, Probe.evaluation_id, list(ids))


def shown_while_going_on(connection: Connection, ids: Sequence[int]) -> int:
    """How many probes there are of evaluations that are not finished of which something is shown already: failed ones, and
    those whose findings are their own (accuracy, builds). Facts and summaries come with an evaluation's end."""
    own = Probe.probe.in_(("accuracy", "build"))
    counted = select(func.count()).where(Probe.evaluation_id.in_(list(ids)), own | (Probe.status != "ok"))
    return int(connection.execute(counted).scalar_one())


def accuracies(connection: Connection, ids: Sequence[int]) -> pd.DataFrame:
    """The accuracy results of these evaluations that have one: evaluation, verdict, rmse_fp64, eager_rmse_fp64 (root mean
    square errors to float64, missing: unknown), reason."""
    found = evaluated_probes.accuracies(connection, EVALUATION.c.id.in_(list(ids)))
    columns = ("verdict", "rmse_fp64", "eager_rmse_fp64", "reason")
    rows = [{"evaluation": of, **{name: row[name] for name in columns}} for of, row in found.items()]
    return pd.DataFrame(rows, columns=pd.Index(["evaluation", *columns]))


def kernel_counts(connection: Connection, ids: Sequence[int]) -> pd.DataFrame:
    """Kernels in the evidence of these evaluations, of those that have some: evaluation, generated, extern."""
    extern = func.sum(case((Kernel.kind == "extern", 1), else_=0))
    query = (
        select(
            Facts.evaluation_id.label("evaluation"),
            (func.count() - extern).label("generated"),
            extern.label("extern"),
        )
        .join(Kernel, Kernel.probe_id == Facts.probe_id)
        .group_by(Facts.evaluation_id)
    )
    return frame_of_ids(connection, query, Facts.evaluation_id, list(ids))


def kernel_costs(connection: Connection, ids: Sequence[int]) -> pd.DataFrame:
    """What is known of the Triton kernels of these evaluations without running them, of those of which anything is:
    evaluation, bytes_moved (the sum of Inductor's estimates; missing where one kernel has none), and of what was built
    registers (the most of a kernel), spilled (bytes, the sum) and refused (how many kernels)."""
    silent = case((Kernel.bytes_moved.is_(None), 1), else_=0)
    query = (
        select(
            Facts.evaluation_id.label("evaluation"),
            func.sum(Kernel.bytes_moved).label("bytes_moved"),
            func.sum(silent).label("silent"),
        )
        .join(Kernel, Kernel.probe_id == Facts.probe_id)
        .where(Kernel.kind.in_(("triton", "template")), Kernel.source_hash.is_not(None))
        .group_by(Facts.evaluation_id)
    )
    moved = frame_of_ids(connection, query, Facts.evaluation_id, list(ids))
    moved["bytes_moved"] = moved["bytes_moved"].where(moved.pop("silent") == 0)
    rows = []
    for of, found in evaluated_builds.builds(connection, EVALUATION.c.id.in_(list(ids))).items():
        every = list(found.by_name.values())
        registers = [one.registers for one in every if one.registers is not None]
        spilled = [one.spilled for one in every if one.spilled is not None]
        most, total = max(registers, default=None), sum(spilled) if spilled else None
        rows.append((of, most, total, sum(1 for one in every if one.refused)))
    built = pd.DataFrame(rows, columns=pd.Index(["evaluation", "registers", "spilled", "refused"]))
    numbers = dict.fromkeys(("bytes_moved", "registers", "spilled", "refused"), "float64")
    known = moved.merge(built, on="evaluation", how="outer").astype(numbers)
    return known.dropna(how="all", subset=list(numbers))


def without_value(
    found: pd.DataFrame, failed: pd.DataFrame, summary: pd.DataFrame, metric: str
) -> pd.DataFrame:
    """Evaluations in which ``metric`` failed, with why: evaluation, status, reason.

    A failed probe of this metric counts even where other replicas gave a value. Where the probe was never reached and
    there is no value, the evaluation's own status says why; one that is ok or unfinished is merely not measured.
    """
    probe, cache = probe_of(metric)
    mine = failed[(failed["probe"] == probe) & ((failed["cache"] == cache) if cache else True)]
    own = mine.drop_duplicates("evaluation")[["evaluation", "status", "reason"]]
    measured = set(summary.loc[summary["metric"] == metric, "evaluation"]) | set(own["evaluation"])
    rest = found[~found["evaluation"].isin(measured) & found["status"].notna() & (found["status"] != "ok")]
    return pd.concat([own, rest[["evaluation", "status", "reason"]]], ignore_index=True)
