"""What decides a result besides the workload: the environment, and the hash that identifies it.

Collected without touching a device: the server must stay able to fork children that use CUDA.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

import torch

from evaluator.worker.targets.cuda.presence import Present

# Variables with these prefixes change what torch, its compiler or its thread pools do.
_PREFIXES: Final = ("TORCH", "PYTORCH", "TRITON", "OMP_", "MKL_", "OPENBLAS_", "GOMP_", "KMP_", "ATEN_")
_NAMES: Final = (
    "CUDA_LAUNCH_BLOCKING",
    "CUBLAS_WORKSPACE_CONFIG",
    "NVIDIA_TF32_OVERRIDE",
    "CXX",
    "CFLAGS",
    "LD_PRELOAD",
)
# These say where a probe keeps its files, or are set by the evaluator itself for every probe.
_OURS: Final = frozenset(
    {"TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR", "TORCH_TRACE", "PYTORCH_NVML_BASED_CUDA_CHECK"}
)


def _version(distribution: str) -> str | None:
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return None


def cpu_model() -> str | None:
    """The processor's name as the kernel gives it; None where it gives none."""
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        return None
    return platform.processor() or None


def _compiler() -> str | None:
    """First line of the C++ compiler's version; None where there is no working one."""
    path = shutil.which(os.environ.get("CXX", "g++"))
    if path is None:
        return None
    try:
        shown = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=30, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return shown.stdout.splitlines()[0] if shown.returncode == 0 and shown.stdout else None


def variables(declared: Iterable[str] = ()) -> dict[str, str]:
    """The environment variables that matter and are set: those of torch and its libraries, and the declared ones."""
    wanted = set(declared)
    return {
        name: value
        for name, value in sorted(os.environ.items())
        if name not in _OURS and (name.startswith(_PREFIXES) or name in _NAMES or name in wanted)
    }


def host() -> dict[str, Any]:
    """The machine as hardware: no host name, no user name."""
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 1e6
    return {
        "cpu_model": cpu_model(),
        "cpu_count": os.cpu_count(),
        "memory_mb": round(memory),
        "os": f"{platform.system()} {platform.release()}",
    }


def fields(
    libraries: Iterable[str] = (), declared: Iterable[str] = (), copy: int = 1, gpu: Present | None = None
) -> dict[str, Any]:
    """Everything the environment's hash covers, JSON-able; a thing that is not there is None.

    ``libraries``: distributions the workloads use; ``declared``: environment variables they declare. ``copy``: which
    of several equal environments of one run this is; the first does not mention it. ``gpu``: the one that probes may
    use; which of several equal cards it is belongs to the conditions.
    """
    here = host()
    card = gpu or Present()
    names = sorted({*libraries, "numpy"})
    return {
        "torch": torch.__version__,
        "torch_git": torch.version.git_version,
        "built_cuda": torch.version.cuda,
        "built_hip": torch.version.hip,
        "triton": _version("triton") or _version("pytorch-triton"),
        "python": platform.python_version(),
        "python_implementation": sys.implementation.name,
        "os": here["os"],
        "libc": " ".join(platform.libc_ver()).strip() or None,
        "compiler": _compiler(),
        "cpu_model": here["cpu_model"],
        "cpu_count": here["cpu_count"],
        "cpu_affinity": len(os.sched_getaffinity(0)),
        "cpu_capability": torch.backends.cpu.get_cpu_capability(),
        "threads": torch.get_num_threads(),
        "interop_threads": torch.get_num_interop_threads(),
        "gpu": card.gpu,
        "capability": card.capability,
        "driver": card.driver,
        "libraries": {name: _version(name) for name in names},
        "variables": variables(declared),
        **({"copy": copy} if copy > 1 else {}),
    }


def fingerprint(environment: dict[str, Any]) -> str:
    """The hash that identifies an environment: sha256 of its canonical JSON, 64 hexadecimal digits."""
    text = json.dumps(environment, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()
