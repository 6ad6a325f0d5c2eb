"""The tables behind the models, for statements that take or give whole rows."""

from __future__ import annotations

from typing import Any, Final

from sqlalchemy import Table

from db import models


def _table(model: Any) -> Table:
    table = model.__table__
    assert isinstance(table, Table)
    return table


MACHINE: Final = _table(models.Machine)
ENVIRONMENT: Final = _table(models.Environment)
ARTIFACT: Final = _table(models.Artifact)
WORKLOAD: Final = _table(models.Workload)
BUCKET: Final = _table(models.Bucket)
VARIANT: Final = _table(models.Variant)
CELL: Final = _table(models.Cell)

RUN: Final = _table(models.Run)
REPLICA: Final = _table(models.Replica)
ENVIRONMENT_SAMPLE: Final = _table(models.EnvironmentSample)
EVALUATION: Final = _table(models.Evaluation)
PROBE: Final = _table(models.Probe)
SAMPLE: Final = _table(models.Sample)
PROBE_ARTIFACT: Final = _table(models.ProbeArtifact)

FACTS: Final = _table(models.Facts)
GRAPH_BREAK: Final = _table(models.GraphBreak)
RECOMPILE: Final = _table(models.Recompile)
KERNEL: Final = _table(models.Kernel)
KERNEL_BUILD: Final = _table(models.KernelBuild)
OBSERVED_KERNEL: Final = _table(models.ObservedKernel)
OBSERVED_OPERATOR: Final = _table(models.ObservedOperator)
ACCURACY: Final = _table(models.Accuracy)
DIFFERENCE: Final = _table(models.Difference)
SUMMARY: Final = _table(models.Summary)
NOISE: Final = _table(models.Noise)
PRUNING: Final = _table(models.Pruning)
