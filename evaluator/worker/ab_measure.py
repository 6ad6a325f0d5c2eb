"""What both kinds of A/B process need: warm times, the code that was generated, versions, and how close outputs are.

The script of `repro --ab` carries the text of this module, so it uses torch and the standard library only.
"""

from __future__ import annotations

import gc
import importlib
import importlib.metadata
import math
import pathlib
import platform
import statistics
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import torch

from evaluator.worker.repro_trace import repro_events

# A batch: makes that many calls and returns the seconds they took, the device waited for.
Batch = Callable[[int], float]

# The floors of the evaluator's own timing: fewer calls leave caches and clocks cold.
_WARMUP_CALLS: Final = 10
_WARMUP_S: Final = 0.3
_ROUNDS: Final = 7
_ROUND_S: Final = 0.05
# A slow call is not repeated for ever, nor does the slower side's round get longer than this.
_LONGEST_WARMUP_S: Final = 20.0
_LEAST_WARMUP_CALLS: Final = 2
_LONGEST_ROUND_S: Final = 0.5
_CLOCK_S: Final = 1e-7
# What a compile imports of the compiler itself; a model library stays to be imported by the workload.
_COMPILER_PACKAGES: Final = frozenset({"torch", "sympy", "mpmath", "setuptools", "packaging"})


def warm_ms(batches: Mapping[str, Batch], most: int | None = None) -> dict[str, float]:
    """Milliseconds of a warm call by name: the median of interleaved rounds, each of equally many calls a name.

    ``most``: calls a round at most.
    """
    usual = [_warm_up(batch) for batch in batches.values()]
    repeats = math.ceil(_ROUND_S / max(min(usual), _CLOCK_S))
    repeats = max(1, min(repeats, math.floor(_LONGEST_ROUND_S / max(*usual, _CLOCK_S)), most or repeats))
    rounds: dict[str, list[float]] = {name: [] for name in batches}
    gc.collect()
    gc.freeze()
    for number in range(_ROUNDS):
        # The order turns each round, so that a drift of the machine meets all alike.
        for name, batch in list(batches.items())[:: 1 if number % 2 == 0 else -1]:
            gc.collect()
            gc.disable()
            try:
                rounds[name].append(batch(repeats) / repeats * 1e3)
            finally:
                gc.enable()
    return {name: statistics.median(values) for name, values in rounds.items()}


def _warm_up(batch: Batch) -> float:
    calls: list[float] = []
    begun = time.perf_counter()
    while True:
        calls.append(batch(1))
        spent = time.perf_counter() - begun
        if len(calls) >= _WARMUP_CALLS and spent >= _WARMUP_S:
            return statistics.median(calls)
        if spent > _LONGEST_WARMUP_S and len(calls) >= _LEAST_WARMUP_CALLS:
            return statistics.median(calls)


def compiler_modules() -> list[str]:
    """The modules of the compiler that are loaded, for other processes to load before their clock starts."""
    return sorted(name for name in list(sys.modules) if name.split(".")[0] in _COMPILER_PACKAGES)


def preload(modules: Sequence[str], target: str) -> None:
    """Import these, and ask once for the vector instructions, so that a cold compile is of the code alone."""
    for name in modules:
        try:
            importlib.import_module(name)
        except ImportError:
            continue  # made while something was compiled
    if target == "cpu":
        importlib.import_module("torch._inductor.cpu_vec_isa").valid_vec_isa_list()


def synchronize(target: str) -> None:
    """Wait until the device is done; nothing on CPU."""
    if target == "cuda":
        torch.cuda.synchronize()


def output_code(trace_dir: str, start: int = 0) -> list[str]:
    """The modules that Inductor generated, as the trace holds them from byte ``start`` on, in order."""
    return [
        payload
        for log in sorted(pathlib.Path(trace_dir).glob("*.log"))
        for event, payload in repro_events(log.read_bytes()[start:].decode(errors="replace"))
        if "inductor_output_code" in event and payload
    ]


def versions() -> dict[str, Any]:
    """What a reader of a report asks first."""
    return {
        "torch": torch.__version__,
        "git": torch.version.git_version,
        "CUDA build": torch.version.cuda,
        "Triton": _distribution("triton") or _distribution("pytorch-triton"),
        "Python": platform.python_version(),
        "device": torch.cuda.get_device_name(0) if torch.cuda.is_available() else _processor(),
        "threads": torch.get_num_threads(),
    }


def _distribution(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def _processor() -> str:
    try:
        text = pathlib.Path("/proc/cpuinfo").read_text()
    except OSError:
        return platform.processor()
    lines = [line for line in text.splitlines() if line.startswith("model name")]
    return lines[0].partition(":")[2].strip() if lines else platform.processor()
