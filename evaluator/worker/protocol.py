"""What travels between the controller, the process server and its children: words, records, limits.

Pure standard library, so that both sides of the pipe, and readers without torch, share one definition.
Every record is one JSON object; which fields it has is documented in ``evaluator/README.md``.
"""

from __future__ import annotations

import re
from typing import Final, Literal, TypedDict

PROTOCOL_VERSION: Final = 1

# Variables that a server unsets: caches and compile profiles that other machines or earlier processes left would be
# measured as this compiler's.
SHARED_STATE: Final = re.compile(r"TORCH\w*(_REMOTE_|_PGO|COMPILE_JOB_ID)\w*|TORCH_TRACE")

# Begins the error of a kernel that nobody refused: its build did not end in time, crashed, or could not begin.
NOT_BUILT: Final = "not built: "

Status = Literal[
    "ok",
    "compile_error",
    "runtime_error",
    "accuracy_failed",
    "not_comparable",
    "timeout",
    "out_of_memory",
    "crashed",
    "setup_error",
    "unsupported",
    "skipped",
]

# Worst first: a cell shows the status of its worst probe. What ended a process outranks what raised an
# exception, an exception outranks a wrong number, and a number that can't be judged outranks only `ok`.
SEVERITY: Final[tuple[Status, ...]] = (
    "crashed",
    "out_of_memory",
    "timeout",
    "setup_error",
    "compile_error",
    "runtime_error",
    "accuracy_failed",
    "unsupported",
    "skipped",
    "not_comparable",
    "ok",
)


def worst(statuses: list[Status]) -> Status:
    """The status a cell shows for these probe statuses; `skipped` when there is none."""
    return min(statuses, key=SEVERITY.index) if statuses else "skipped"


ProbeName = Literal["compile", "walk", "accuracy", "timing", "memory", "build", "profile"]
PROBES: Final[tuple[ProbeName, ...]] = (
    *("compile", "walk", "accuracy", "timing", "memory", "build"),
    "profile",
)

# Modes that a profile is recorded in, each in a process of its own.
Mode = Literal["eager", "compiled"]
MODES: Final[tuple[Mode, ...]] = ("eager", "compiled")
# The named region of a recorded trace that holds the batch of calls, and nothing else.
PROFILED_REGION: Final = "compilewatch.batch"

# What a compile process finds: empty caches, those a cold one left, or empty ones and one compile thread.
CacheState = Literal["cold", "warm", "cold_serial"]
CACHE_STATES: Final[tuple[CacheState, ...]] = ("cold", "warm", "cold_serial")

# Of each mode on a GPU.
_DEVICE_MEMORY: Final[dict[str, tuple[str, str]]] = {
    "device_allocated_peak_mb": (
        "MB",
        "how far what is allocated rises in a steady call, inputs not counted",
    ),
    "device_allocated_mb": (
        "MB",
        "what stays allocated between calls over an empty device: weights, buffers, workspaces, what the compiler keeps",
    ),
    "device_reserved_mb": (
        "MB",
        "what the allocator took from the device and keeps; more than is allocated is its cache, and no leak",
    ),
    "device_inactive_split_mb": ("MB", "free parts of blocks in use: memory that can't be given back"),
    "device_private_pools_mb": (
        "MB",
        "of the reserved memory what belongs to private pools, as CUDA graphs have",
    ),
    "device_workspace_mb": ("MB", "workspaces that cuBLAS keeps, as they were before the workload was built"),
    "device_outside_mb": (
        "MB",
        "what the process holds on the device outside the allocator: context, libraries, code; NULL where the driver "
        "does not tell processes apart",
    ),
    "device_alloc_retries": ("1", "how often the allocator had to empty its cache to get memory"),
}

# metric -> (unit, what it includes). The one place a metric is declared.
METRICS: Final[dict[str, tuple[str, str]]] = {
    "import.torch_s": ("s", "importing torch in a new interpreter"),
    "import.compiler_s": ("s", "importing the compiler's modules after torch"),
    "init.cuda_s": (
        "s",
        "the first touch of CUDA in a new process to the end of a first kernel: driver, context, torch's own kernels",
    ),
    "toolchain.header_s": (
        "s",
        "the first C++ build of an environment: vector-instruction probe, precompiled header and one small "
        "kernel; absent where the header was there already",
    ),
    "compile.cold_s": (
        "s",
        "first call of the bucket alone in a new process with empty caches, to outputs ready; for training "
        "to the end of the first backward; imports, inputs, the C++ header and a GPU's context and library handles made "
        "before the clock",
    ),
    "compile.warm_cache_s": ("s", "the same in another new process with the caches that cold sample left"),
    "compile.cold_serial_s": (
        "s",
        "compile.cold_s with one compile thread, in a process and caches of its own; steadier; profile thorough only",
    ),
    "compile.dynamo_s": ("s", "cold: tracing Python to graphs (Dynamo, without the backend)"),
    "compile.aot_autograd_s": ("s", "cold: AOTAutograd, without the backend compiler it calls"),
    "compile.inductor_s": (
        "s",
        "cold: Inductor, lowering and code generation, without the C++ or Triton compiler",
    ),
    "compile.toolchain_s": ("s", "cold: the C++ or Triton compiler"),
    "compile.autotune_s": (
        "s",
        "cold, on a GPU: choosing kernels and their configurations by timing them, the candidates' compiling included; "
        "what of it happens while compiling lies within the phases",
    ),
    "compile.host_peak_mb": ("MB", "cold: growth of the process's peak resident memory over its start"),
    "compile.children_peak_mb": ("MB", "cold: largest child process (the C++ compiler)"),
    "compile.device_allocated_peak_mb": (
        "MB",
        "cold, on a GPU: how far what torch's allocator gave out rose in the first call; candidates that were timed included",
    ),
    "compile.device_reserved_peak_mb": (
        "MB",
        "cold, on a GPU: how far what the allocator took from the device rose",
    ),
    "walk.first_call_s": ("s", "first call of the bucket as it comes, after the buckets before it"),
    "eager.wall_ms": ("ms", "batch mean of one eager call, until the batch is known complete"),
    "compiled.wall_ms": ("ms", "batch mean of one compiled call, until the batch is known complete"),
    "eager.cpu_ms": ("ms", "processor time of one eager call, all threads"),
    "compiled.cpu_ms": ("ms", "processor time of one compiled call, all threads"),
    "eager.host_ms": (
        "ms",
        "batch mean of one eager call's submission, by the host's clock; the device is not done then; NULL on CPU",
    ),
    "compiled.host_ms": ("ms", "the same of one compiled call"),
    "eager.stream_ms": (
        "ms",
        "batch mean of one eager call between two events on its stream, by the device's clock, gaps included; NULL on CPU",
    ),
    "compiled.stream_ms": ("ms", "the same of one compiled call"),
    "eager.flushed_ms": (
        "ms",
        "mean of one eager call between two events of its own, each after a flush of the device's L2 cache, the flush not "
        "timed; only on CUDA",
    ),
    "compiled.flushed_ms": ("ms", "the same of one compiled call"),
    "eager.latency_ms": (
        "ms",
        "one request of the workload served by eager, from its input on the host to its output on the host; only where the "
        "workload has `request`",
    ),
    "compiled.latency_ms": ("ms", "the same served by the compiled callable"),
    "eager.host_peak_mb": ("MB", "growth of peak resident memory over steady eager calls"),
    "compiled.host_peak_mb": ("MB", "growth of peak resident memory over steady compiled calls"),
    **{
        f"{mode}.{name}": (unit, f"{mode}, on a GPU: {meaning}")
        for mode in ("eager", "compiled")
        for name, (unit, meaning) in _DEVICE_MEMORY.items()
    },
    "accuracy.rmse_fp64": ("1", "root mean square error of the compiled outputs to float64, worst leaf"),
    "accuracy.eager_rmse_fp64": ("1", "the same of eager's outputs, worst leaf"),
    "accuracy.max_abs": ("1", "largest absolute difference of compiled and eager outputs"),
}


class ErrorInfo(TypedDict, total=False):
    """An exception as recorded: outermost type, whole message, and the ``__cause__`` chain, outermost first."""

    type: str
    message: str
    chain: list[str]
    traceback: str


class Sample(TypedDict, total=False):
    """One number of one process. ``value`` None is a failed measurement, never a zero."""

    metric: str
    round: int | None
    value: float | None
    flags: list[str]


class Limits(TypedDict):
    """What a probe process may take before it is ended: ``time_s`` of wall time for one bucket's part of it (and for
    what comes before any bucket), ``memory_mb`` of memory of its own, its children's included."""

    time_s: float
    memory_mb: float
