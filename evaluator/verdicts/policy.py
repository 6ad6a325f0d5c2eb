"""Which metrics are judged, by what margin, and how sure a verdict must be. Source of the figures: README."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

# Relative differences from which a time counts. Cold compiles are noisier, and cost a user less often.
WARM_MARGIN: Final = 0.03
COLD_MARGIN: Final = 0.10

# metric -> margin. Gating metrics: a finding about them counts for the answer.
GATING_TIMES: Final[Mapping[str, float]] = {
    "compiled.wall_ms": WARM_MARGIN,
    "compiled.stream_ms": WARM_MARGIN,
    "compile.cold_s": COLD_MARGIN,
    "compile.cold_serial_s": COLD_MARGIN,
    "compile.warm_cache_s": COLD_MARGIN,
}
# Judged to explain the others.
DIAGNOSTIC_TIMES: Final[Mapping[str, float]] = {
    "eager.wall_ms": WARM_MARGIN,
    "eager.stream_ms": WARM_MARGIN,
}
# Judged, and never gating: host memory of a compile in MB, its own and that of the compilers it starts.
DIAGNOSTIC_MEMORY: Final[Mapping[str, float]] = {
    "compile.host_peak_mb": COLD_MARGIN,
    "compile.children_peak_mb": COLD_MARGIN,
}
# The same of a GPU's memory, by what torch's allocator gave out. What it took from the device and keeps beyond that is its
# cache, so no verdict rests on it. CUDA graphs keep theirs in private pools, where a replay gives out nothing: apart.
DEVICE_MEMORY: Final[Mapping[str, float]] = {
    "compile.device_allocated_peak_mb": COLD_MARGIN,
    "compiled.device_allocated_peak_mb": WARM_MARGIN,
    "compiled.device_private_pools_mb": WARM_MARGIN,
}
ENVIRONMENT_TIMES: Final[Mapping[str, float]] = {
    "import.torch_s": COLD_MARGIN,
    "import.compiler_s": COLD_MARGIN,
}

# Below this no verdict: 3 against 3 cannot reach p < .05.
LEAST_REPLICAS: Final = 4


@dataclass(frozen=True)
class Policy:
    """How strict a comparison is. ``rerun_confidence`` holds for the second stage; ``margins`` override by metric."""

    confidence: float = 0.95
    rerun_confidence: float = 0.99
    equivalence_confidence: float = 0.90
    margins: Mapping[str, float] = field(default_factory=dict)

    def margin(self, metric: str) -> float:
        """The relative difference from which this metric's change counts."""
        for known in (
            self.margins,
            GATING_TIMES,
            DIAGNOSTIC_TIMES,
            DIAGNOSTIC_MEMORY,
            DEVICE_MEMORY,
            ENVIRONMENT_TIMES,
        ):
            if metric in known:
                return known[metric]
        return COLD_MARGIN if metric.endswith("_s") else WARM_MARGIN
