"""The tables of the database, one class each. A column's meaning and unit are declared with it."""

from db.models.base import Base, UtcTime
from db.models.evidence import (
    ACCURACY_SERIES,
    ACCURACY_VERDICTS,
    RAN_EAGER,
    Accuracy,
    Difference,
    Facts,
    GraphBreak,
    Noise,
    Pruning,
    Recompile,
    Summary,
)
from db.models.identity import Artifact, Bucket, Cell, Environment, Machine, Variant, Workload
from db.models.kernels import Kernel, KernelBuild
from db.models.runs import (
    RUN_PURPOSES,
    RUN_STATUSES,
    EnvironmentSample,
    Evaluation,
    Probe,
    ProbeArtifact,
    Replica,
    Run,
    Sample,
)

__all__ = [
    "ACCURACY_SERIES",
    "ACCURACY_VERDICTS",
    "RAN_EAGER",
    "RUN_PURPOSES",
    "RUN_STATUSES",
    "Accuracy",
    "Artifact",
    "Base",
    "Bucket",
    "Cell",
    "Difference",
    "Environment",
    "EnvironmentSample",
    "Evaluation",
    "Facts",
    "GraphBreak",
    "Kernel",
    "KernelBuild",
    "Machine",
    "Noise",
    "Probe",
    "ProbeArtifact",
    "Pruning",
    "Recompile",
    "Replica",
    "Run",
    "Sample",
    "Summary",
    "UtcTime",
    "Variant",
    "Workload",
]
