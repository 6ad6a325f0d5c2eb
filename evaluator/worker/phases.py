"""Where the time of a compile went, from torch's own compilation metrics of this process."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from evaluator.worker.protocol import Sample

_FIELDS: Final[dict[str, str]] = {
    "dynamo": "dynamo_cumulative_compile_time_us",
    "aot_autograd": "aot_autograd_cumulative_compile_time_us",
    "inductor": "inductor_cumulative_compile_time_us",
    "toolchain": "triton_compile_time_us",
    "backward": "backward_cumulative_compile_time_us",
}
# Choosing a library's or a template's kernel while compiling, and a Triton kernel's configuration at its first launch.
_WHILE_COMPILING: Final = "compile_time_autotune_time_us"
_AT_LAUNCH: Final = "runtime_triton_autotune_time_us"


def phase_samples(metrics: Sequence[Any]) -> list[Sample]:
    """Seconds of each phase, without the phases it calls, summed over the frames of the call.

    ``metrics``: torch's CompilationMetrics. Each of its numbers includes the next (Dynamo calls AOTAutograd calls
    Inductor calls the toolchain), all on one clock, so taking one from the next is no mix of clocks. A field that
    a torch version lacks leaves its phase NULL.
    """
    totals = {name: _seconds(metrics, field) for name, field in _FIELDS.items()}
    whole = totals["dynamo"]
    if whole is not None and totals["backward"] is not None:
        # A lazily compiled backward is outside the frame's time, and reaches Inductor by way of AOTAutograd.
        aot = (totals["aot_autograd"] or 0.0) + totals["backward"]
        whole += totals["backward"]
        totals["aot_autograd"] = aot
    exclusive = {
        "compile.dynamo_s": _less(whole, totals["aot_autograd"]),
        "compile.aot_autograd_s": _less(totals["aot_autograd"], totals["inductor"]),
        "compile.inductor_s": _less(totals["inductor"], totals["toolchain"]),
        "compile.toolchain_s": totals["toolchain"],
    }
    return [
        {"metric": metric, "round": None, "value": value, "flags": []} for metric, value in exclusive.items()
    ]


def autotune_s(metrics: Sequence[Any]) -> float | None:
    """Seconds in which kernels were chosen by timing them, candidates' own compiling included; 0 where torch timed
    nothing of the kind, None where this version has no such fields or nothing was compiled.

    A configuration that is tried while compiling lies within the choice among kernels that tries it, and counts once.
    """
    if not metrics or not all(hasattr(metrics[0], field) for field in (_WHILE_COMPILING, _AT_LAUNCH)):
        return None
    total = 0
    for one in metrics:
        chosen = getattr(one, _WHILE_COMPILING)
        total += (getattr(one, _AT_LAUNCH) if chosen is None else chosen) or 0
    return total / 1e6


def _seconds(metrics: Sequence[Any], field: str) -> float | None:
    known = [getattr(one, field) for one in metrics if getattr(one, field, None) is not None]
    return sum(known) / 1e6 if known else None


def _less(outer: float | None, inner: float | None) -> float | None:
    if outer is None or inner is None:
        return None
    return outer - inner if outer >= inner else None
