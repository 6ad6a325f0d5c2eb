"""NVML: what the driver tells of one GPU. No CUDA context is made for it, and reading takes no part in a measurement.

The module that speaks to the driver (``pynvml`` of nvidia-ml-py: one file of pure Python) is the controller's; a worker
is told where the file lies, since its own interpreter need not have it.
"""

from __future__ import annotations

import ctypes
import importlib.util
import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from evaluator.worker.processes import is_below

# What NVML reads at one moment, JSON-able; a thing that the card or the driver does not tell is None.
Snapshot = dict[str, Any]

# Bits of the "clocks event reasons" (formerly "clocks throttle reasons") by their names in NVML's header.
REASONS: Final[dict[int, str]] = {
    0x1: "gpu_idle",
    0x2: "applications_clocks_setting",
    0x4: "sw_power_cap",
    0x8: "hw_slowdown",
    0x10: "sync_boost",
    0x20: "sw_thermal_slowdown",
    0x40: "hw_thermal_slowdown",
    0x80: "hw_power_brake_slowdown",
    0x100: "display_clock_setting",
    0x200: "board_limit",
    0x400: "reliability",
}
# With one of these the card runs slower than it was set to, for want of power or for heat. An idle card, and clocks
# that someone set, are none.
THROTTLING: Final = frozenset(
    {
        "sw_power_cap",
        "hw_slowdown",
        "sw_thermal_slowdown",
        "hw_thermal_slowdown",
        "hw_power_brake_slowdown",
        "board_limit",
        "reliability",
    }
)
# How long a policy held the clocks down since the driver was loaded: what of it moves between two readings happened
# between them, also where neither reading saw it.
VIOLATIONS: Final[dict[str, str]] = {
    "power_violation": "POWER",
    "thermal_violation": "THERMAL",
    "board_limit_violation": "BOARD_LIMIT",
    "reliability_violation": "RELIABILITY",
}
_LIBRARY: Final = "libnvidia-ml.so.1"


class NoNvml(Exception):
    """NVML, or the GPU in it, can't be had; the message says why."""


def load(path: str | None) -> Any:
    """The module ``pynvml`` from this file, or the interpreter's own where ``path`` is None, with NVML started.

    Raises NoNvml without the module, without a driver, or where the driver refuses.
    """
    if path is not None and not Path(path).is_file():
        raise NoNvml(f"{path} is not there, which reads what the driver says")
    spec = importlib.util.find_spec("pynvml") if path is None else _spec(path)
    if spec is None or spec.loader is None:
        raise NoNvml("no pynvml reads what the driver says: install nvidia-ml-py where the evaluator runs")
    module: Any = sys.modules.get("pynvml")
    if module is None:
        # It looks itself up by its name while it is loaded.
        module = sys.modules["pynvml"] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    try:
        module.nvmlInit()
    except module.NVMLError as error:
        if error.value == module.NVML_ERROR_LIBRARY_NOT_FOUND:
            raise NoNvml(f"no NVIDIA driver is there ({_LIBRARY} is not found)") from None
        raise NoNvml(f"the NVIDIA driver does not answer: {error}") from None
    return module


def _spec(path: str) -> Any:
    return importlib.util.spec_from_file_location("pynvml", path)


def release() -> None:
    """Close what NVML keeps open in this process, whoever started it; harmless where nobody did.

    torch starts NVML when it counts devices without CUDA, and never ends it; a server keeps no device file open.
    """
    try:
        library = ctypes.CDLL(_LIBRARY, mode=os.RTLD_NOLOAD)
    except OSError:
        return
    # It counts its users, and refuses once there is none.
    for _ in range(64):
        if library.nvmlShutdown() != 0:
            return


class NvmlReader:
    """One GPU, or MIG instance, in NVML, found by its UUID."""

    def __init__(self, library: Any, uuid: str) -> None:
        """``library``: from ``load``. Raises NoNvml where the driver knows no such device."""
        self._library = library
        self.uuid = uuid
        try:
            self._device = library.nvmlDeviceGetHandleByUUID(uuid)
            # Clocks, power and temperature are the board's; an instance has only memory and processes of its own.
            self._board = (
                library.nvmlDeviceGetDeviceHandleFromMigDeviceHandle(self._device)
                if uuid.startswith("MIG-")
                else self._device
            )
        except library.NVMLError as error:
            raise NoNvml(f"the driver does not know {uuid}: {error}") from None

    def driver(self) -> str | None:
        """The driver's version."""
        return _text(self._ask("nvmlSystemGetDriverVersion"))

    def name(self) -> str | None:
        """The device's name as the driver gives it."""
        return _text(self._ask("nvmlDeviceGetName", self._device))

    def capability(self) -> str | None:
        """Compute capability, as in ``9.0``."""
        found = self._ask("nvmlDeviceGetCudaComputeCapability", self._board)
        return None if found is None else ".".join(str(number) for number in found)

    def snapshot(self, root: int | None = None, *, context: bool = True) -> Snapshot:
        """Clocks (MHz), the reasons that hold them down, power (W), temperature (Celsius), memory in use on the device
        (MB), violation counters (ns) and the other processes there.

        ``root``: the process whose tree is our own (default: this one), ``context``: whether it has a CUDA context.
        """
        power = self._ask("nvmlDeviceGetPowerUsage", self._board)
        memory = self._ask("nvmlDeviceGetMemoryInfo", self._device)
        return {
            "uuid": self.uuid,
            "sm_clock_mhz": self._clock("SM"),
            "memory_clock_mhz": self._clock("MEM"),
            "clock_reasons": self._reasons(),
            "power_w": None if power is None else power / 1e3,
            "temperature_c": self._temperature(),
            "memory_used_mb": None if memory is None else round(memory.used / 1e6, 1),
            **{name: self._violation(policy) for name, policy in VIOLATIONS.items()},
            **others(self.processes(), os.getpid() if root is None else root, context=context),
        }

    def processes(self) -> list[int] | None:
        """Ids of the processes that compute on the device, as the driver counts them; None where it does not say."""
        found = self._ask("nvmlDeviceGetComputeRunningProcesses", self._device)
        return None if found is None else sorted({int(one.pid) for one in found})

    def memory_of(self, process: int) -> float | None:
        """MB that a process holds on the device, context and libraries included; None where the driver does not say."""
        for one in self._ask("nvmlDeviceGetComputeRunningProcesses", self._device) or ():
            if one.pid == process and one.usedGpuMemory is not None:
                return float(one.usedGpuMemory) / 1e6
        return None

    def _ask(self, name: str, *arguments: Any) -> Any:
        """What a function of NVML says; None where this module, driver or card has no such thing."""
        function: Callable[..., Any] | None = getattr(self._library, name, None)
        if function is None or None in arguments:
            return None
        try:
            return function(*arguments)
        except self._library.NVMLError:
            return None

    def _constant(self, name: str) -> Any:
        return getattr(self._library, name, None)

    def _clock(self, domain: str) -> int | None:
        found = self._ask("nvmlDeviceGetClockInfo", self._board, self._constant(f"NVML_CLOCK_{domain}"))
        return None if found is None else int(found)

    def _temperature(self) -> int | None:
        sensor = self._constant("NVML_TEMPERATURE_GPU")
        # The older name goes with CUDA 14; the newer one came with drivers of 2025.
        for name in ("nvmlDeviceGetTemperature", "nvmlDeviceGetTemperatureV"):
            found = self._ask(name, self._board, sensor)
            if found is not None:
                return int(found)
        return None

    def _reasons(self) -> list[str] | None:
        bits = self._ask("nvmlDeviceGetCurrentClocksEventReasons", self._board)
        if bits is None:
            # Drivers before 535 know the older name alone.
            bits = self._ask("nvmlDeviceGetCurrentClocksThrottleReasons", self._board)
        return None if bits is None else reason_names(bits)

    def _violation(self, policy: str) -> int | None:
        found = self._ask(
            "nvmlDeviceGetViolationStatus", self._board, self._constant(f"NVML_PERF_POLICY_{policy}")
        )
        if found is not None:
            return int(found.violationTime)
        field = self._constant(f"NVML_FI_DEV_PERF_POLICY_{policy}")
        values = None if field is None else self._ask("nvmlDeviceGetFieldValues", self._board, [field])
        if values is None or values[0].nvmlReturn != 0:
            return None
        return int(values[0].value.ullVal)


def _text(value: Any) -> str | None:
    # Older versions of the module answer in bytes.
    return value.decode() if isinstance(value, bytes) else value


def reason_names(bits: int) -> list[str]:
    """The names of the reasons that are set, lowest bit first; one that a newer driver added by its number."""
    found = [name for bit, name in REASONS.items() if bits & bit]
    unknown = bits & ~sum(REASONS)
    return [*found, f"unknown_{unknown:#x}"] if unknown else found


def others(listed: list[int] | None, root: int, *, context: bool) -> Snapshot:
    """Of the processes on a device those that are not below ``root``: ``other_processes`` (how many; None where that
    can't be told) and ``other_pids`` (None where they are another namespace's numbers).

    In a container the driver may number processes as the host does, or hide them. ``context``: our own tree is on the
    device too, so that a list without it shows one or the other.
    """
    if listed is None:
        return {"other_processes": None, "other_pids": None}
    foreign = [process for process in listed if not is_below(process, root)]
    if not context or len(foreign) < len(listed):
        return {"other_processes": len(foreign), "other_pids": foreign}
    # One of them must be ours.
    return {"other_processes": len(listed) - 1 if listed else None, "other_pids": None}


def judged(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    """Words that qualify what ran between two snapshots: ``throttled``, ``shared_gpu``. What is not known is no word.

    A thermal or power reason in either snapshot, or a violation counter that moved between them, is throttling.
    """
    flags = []
    reasons = {*(before.get("clock_reasons") or ()), *(after.get("clock_reasons") or ())}
    moved = any(_moved(before.get(name), after.get(name)) for name in VIOLATIONS)
    if moved or reasons & THROTTLING:
        flags.append("throttled")
    if before.get("other_processes") or after.get("other_processes"):
        flags.append("shared_gpu")
    return flags


def _moved(before: int | None, after: int | None) -> bool:
    return before is not None and after is not None and after > before
