"""What metrics are called for people, and in which order and unit they stand. The one place for it.

Pure: no Streamlit, so that charts, reports and tests use the same words.
"""

from __future__ import annotations

from typing import Final

from evaluator.worker.protocol import METRICS

TITLES: Final[dict[str, str]] = {
    "compile.cold_s": "Cold compile",
    "compile.warm_cache_s": "Warm-cache compile",
    "eager.wall_ms": "Eager call",
    "compiled.wall_ms": "Compiled call",
    "eager.stream_ms": "Eager call, on the device",
    "compiled.stream_ms": "Compiled call, on the device",
    "eager.host_ms": "Eager call, submission",
    "compiled.host_ms": "Compiled call, submission",
    "eager.flushed_ms": "Eager call, L2 flushed",
    "compiled.flushed_ms": "Compiled call, L2 flushed",
    "eager.cpu_ms": "Eager call, processor time",
    "compiled.cpu_ms": "Compiled call, processor time",
    "eager.latency_ms": "Request, eager",
    "compiled.latency_ms": "Request, compiled",
    "walk.first_call_s": "First call in the walk",
    "compile.dynamo_s": "Dynamo",
    "compile.aot_autograd_s": "AOTAutograd",
    "compile.inductor_s": "Inductor",
    "compile.toolchain_s": "C++ or Triton compiler",
    "compile.cold_serial_s": "Cold compile, one thread",
    "compile.autotune_s": "Autotuning",
    "init.cuda_s": "CUDA context",
    "compile.host_peak_mb": "Host memory of a compile",
    "compile.device_allocated_peak_mb": "GPU memory of a compile",
    "compile.device_reserved_peak_mb": "GPU memory reserved for it",
    **{
        f"{mode}.{name}": f"{title}, {mode}"
        for mode in ("eager", "compiled")
        for name, title in {
            "device_allocated_peak_mb": "GPU memory of a call",
            "device_allocated_mb": "GPU memory held",
            "device_reserved_mb": "GPU memory reserved",
            "device_inactive_split_mb": "GPU memory split",
            "device_private_pools_mb": "GPU memory of graphs",
            "device_workspace_mb": "GPU workspaces",
            "device_outside_mb": "GPU memory outside torch",
            "device_alloc_retries": "Allocator retries",
        }.items()
    },
    "compile.children_peak_mb": "Memory of its compilers",
    "import.torch_s": "Import of torch",
    "import.compiler_s": "Import of the compiler",
    "status": "Status",
    "accuracy": "Accuracy",
    "accuracy.rmse_fp64": "Error to float64",
    "accuracy.eager_rmse_fp64": "Eager's error to float64",
    "accuracy.max_abs": "Largest difference to eager",
    "toolchain.header_s": "First C++ build",
    "eager.host_peak_mb": "Host memory, eager",
    "compiled.host_peak_mb": "Host memory, compiled",
    "drift": "Outputs against the base",
    "graphs": "Graphs",
    "ops": "Operators",
    "graph_breaks": "Graph breaks",
    "break_events": "Break events",
    "recompiles": "Recompiles",
    "recompile_limit_hit": "Recompile limit hit",
    "ran_eager": "Code that ran eager",
    "nothing_compiled": "Nothing compiled",
    "second_walk_compiles": "Compiles in the second walk",
    "dynamic_symbols": "Symbolic sizes",
    "backward_graphs": "Backward graphs",
    "guards": "Guards",
    "kernels": "Kernels",
    "launches": "Launched kernels",
    "fusion": "Fusions",
    "bytes_moved": "Bytes moved (estimate)",
    "registers": "Registers, at most",
    "spills": "Registers spilled",
    "refused": "Refused kernels",
}


def title(metric: str) -> str:
    """A metric's title for people; its own name where there is none."""
    return TITLES.get(metric, metric)


def without_title(metric: str, text: str) -> str:
    """A finding's text without the metric's title at its beginning, as of a count's (``graph breaks: 0 -> 1``), so that it can
    stand behind that title."""
    name = title(metric)
    rest = text[len(name) :] if text.lower().startswith(name.lower()) else text
    return rest.lstrip(": ") or text


def unit(metric: str) -> str:
    """The declared unit: ``s``, ``ms``, ``MB``, ``1`` (a plain number), or empty if the metric is unknown."""
    return METRICS.get(metric, ("", ""))[0]


def order(metric: str) -> tuple[int, str]:
    """A key that sorts metrics as they are declared, what is not declared last."""
    declared = list(METRICS)
    return (declared.index(metric) if metric in declared else len(declared), metric)


def includes(metric: str) -> str:
    """What the metric's numbers include, as it is declared; empty if the metric is unknown."""
    return METRICS.get(metric, ("", ""))[1]
