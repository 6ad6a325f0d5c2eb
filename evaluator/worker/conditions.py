"""What is true for a moment on this machine: stored with each probe, never part of the environment's hash."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final


def _meminfo_mb(field: str) -> float | None:
    try:
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith(field + ":"):
                return round(int(line.split()[1]) / 1e3 * 1.024, 1)
    except OSError:
        return None
    return None


def _cpu_clock_mhz() -> float | None:
    """Mean of the cores' current clocks, from the frequency driver; None where the machine shows none."""
    readings = []
    for path in Path("/sys/devices/system/cpu").glob("cpu[0-9]*/cpufreq/scaling_cur_freq"):
        try:
            readings.append(int(path.read_text()) / 1e3)
        except (OSError, ValueError):
            continue
    return round(sum(readings) / len(readings), 1) if readings else None


def _throttle_count() -> int | None:
    """Thermal throttle events of the cores since boot; the difference of two readings says if one happened."""
    counts = []
    for path in Path("/sys/devices/system/cpu").glob("cpu[0-9]*/thermal_throttle/core_throttle_count"):
        try:
            counts.append(int(path.read_text()))
        except (OSError, ValueError):
            continue
    return sum(counts) if counts else None


def _steal_ticks() -> int | None:
    """Clock ticks that a hypervisor gave to other guests since boot."""
    try:
        return int(Path("/proc/stat").read_text().split("\n", 1)[0].split()[8])
    except (OSError, IndexError, ValueError):
        return None


# What is kept of a GPU under these names, from NVML's snapshot.
_GPU: Final[dict[str, str]] = {
    "gpu_clock_mhz": "sm_clock_mhz",
    "gpu_memory_clock_mhz": "memory_clock_mhz",
    "gpu_clock_reasons": "clock_reasons",
    "gpu_power_w": "power_w",
    "gpu_temperature_c": "temperature_c",
    "gpu_memory_used_mb": "memory_used_mb",
    "gpu_power_violation_ns": "power_violation",
    "gpu_thermal_violation_ns": "thermal_violation",
    "gpu_board_limit_violation_ns": "board_limit_violation",
    "gpu_reliability_violation_ns": "reliability_violation",
    "gpu_processes": "other_processes",
    "gpu_pids": "other_pids",
}


def read_conditions(gpu: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Load, memory, clocks and throttling now; what this machine does not show is None.

    ``gpu``: what NVML reads of the device that probes use, empty where it does not answer; without it nothing of a GPU
    is said, since a target without one has none to read.
    """
    load1, load5, _ = os.getloadavg()
    return {
        "unix_s": round(time.time(), 3),
        "load_1m": round(load1, 2),
        "load_5m": round(load5, 2),
        "memory_available_mb": _meminfo_mb("MemAvailable"),
        "cpu_clock_mhz": _cpu_clock_mhz(),
        "cpu_throttle_events": _throttle_count(),
        "cpu_steal_ticks": _steal_ticks(),
        **({} if gpu is None else {"gpu_uuid": gpu.get("uuid")}),
        **({} if gpu is None else {ours: gpu.get(theirs) for ours, theirs in _GPU.items()}),
    }
