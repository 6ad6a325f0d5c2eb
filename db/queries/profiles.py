"""Chrome traces that probes left."""

from __future__ import annotations

from typing import Any, Final

import pandas as pd
from sqlalchemy import Connection, select

from db.models import (
    Artifact,
    Bucket,
    Cell,
    Environment,
    Evaluation,
    Probe,
    ProbeArtifact,
    Replica,
    Run,
    Variant,
    Workload,
)
from db.queries.frames import frame

# What a probe calls a trace of torch's profiler in its list of artifacts.
KIND: Final = "chrome_trace"
# The newest are shown.
MOST: Final = 500


def chrome_traces(connection: Connection) -> pd.DataFrame:
    """The newest Chrome traces, newest first: sha256, size (bytes), probe, replica, run, started_at, evaluation, workload,
    bucket, variant, target, torch, gpu (missing: none was there), mode (eager or compiled; missing: not said)."""
    listed = frame(
        connection,
        select(
            Artifact.sha256,
            Artifact.size,
            Probe.probe,
            Replica.number.label("replica"),
            Run.id.label("run"),
            Run.started_at,
            Evaluation.id.label("evaluation"),
            Workload.name.label("workload"),
            Bucket.name.label("bucket"),
            Variant.name.label("variant"),
            Cell.target,
            Environment.torch_version.label("torch"),
            Environment.gpu,
            Probe.facts,
        )
        .select_from(ProbeArtifact)
        .join(Artifact, Artifact.sha256 == ProbeArtifact.sha256)
        .join(Probe, Probe.id == ProbeArtifact.probe_id)
        .join(Evaluation, Evaluation.id == Probe.evaluation_id)
        .join(Run, Run.id == Evaluation.run_id)
        .join(Environment, Environment.id == Evaluation.environment_id)
        .join(Cell, Cell.id == Evaluation.cell_id)
        .join(Bucket, Bucket.id == Cell.bucket_id)
        .join(Variant, Variant.id == Cell.variant_id)
        .join(Workload, Workload.id == Bucket.workload_id)
        .outerjoin(Replica, Replica.id == Probe.replica_id)
        .where(ProbeArtifact.kind == KIND)
        .order_by(Probe.id.desc(), ProbeArtifact.sha256)
        .limit(MOST),
    )
    modes = [_mode(one, sha256) for one, sha256 in zip(listed["facts"], listed["sha256"], strict=True)]
    return listed.drop(columns="facts").assign(mode=pd.Series(modes, index=listed.index, dtype="object"))


def _mode(facts: Any, sha256: str) -> str | None:
    """The mode that this trace is of, as the probe that left it says."""
    said = facts.items() if isinstance(facts, dict) else ()
    return next((name for name, one in said if isinstance(one, dict) and one.get("trace") == sha256), None)
