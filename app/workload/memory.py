"""Which metrics the Memory part of a workload shows: the host's, and a GPU's where one was measured. Pure."""

from __future__ import annotations

from typing import Final

MEMORY: Final = (
    *("compile.host_peak_mb", "compile.children_peak_mb", "eager.host_peak_mb", "compiled.host_peak_mb"),
)
# Of a GPU, where it was measured: what is drawn, a pair of modes a chart, and what the table has besides.
DEVICE_MEMORY: Final = tuple(
    f"{mode}.{name}"
    for name in (
        *(
            "device_allocated_peak_mb",
            "device_allocated_mb",
            "device_reserved_mb",
            "device_inactive_split_mb",
        ),
        *("device_private_pools_mb", "device_workspace_mb", "device_outside_mb", "device_alloc_retries"),
    )
    for mode in ("eager", "compiled")
)
DEVICE_COMPILE: Final = ("compile.device_allocated_peak_mb", "compile.device_reserved_peak_mb")
