"""Where the time of a compile went, from the durations in torch's own compilation metrics.

torch reports nested durations: Dynamo's holds AOTAutograd's, which holds Inductor's, which holds the wait for the
C++ or Triton compiler. Here each phase is without the one inside it, so that they add up to the whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

_MICROSECONDS: Final = 1e-6

# The fields of a metrics row, outermost first. A backward row has no Dynamo part: its whole is the backward compile.
_DYNAMO: Final = "dynamo_cumulative_compile_time_us"
_BACKEND: Final = "aot_autograd_cumulative_compile_time_us"
_BACKWARD: Final = "backward_cumulative_compile_time_us"
_INDUCTOR: Final = "inductor_cumulative_compile_time_us"
# Named after Triton, but Inductor adds the wait for the C++ compiler to it as well.
_TOOLCHAIN: Final = "triton_compile_time_us"


@dataclass(frozen=True)
class Phases:
    """Seconds in each phase, None where the metrics do not say.

    ``dynamo_s``: tracing and guards. ``aot_autograd_s``: AOTAutograd without the backend it calls.
    ``inductor_s``: lowering and code generation. ``toolchain_s``: waiting for the C++ or Triton compiler.
    """

    dynamo_s: float | None = None
    aot_autograd_s: float | None = None
    inductor_s: float | None = None
    toolchain_s: float | None = None

    @property
    def total_s(self) -> float | None:
        """The sum of the phases that are known; None where none is."""
        known = [part for part in self.as_dict().values() if part is not None]
        return round(sum(known), 6) if known else None

    def as_dict(self) -> dict[str, float | None]:
        """The phases by name."""
        return {
            "dynamo_s": self.dynamo_s,
            "aot_autograd_s": self.aot_autograd_s,
            "inductor_s": self.inductor_s,
            "toolchain_s": self.toolchain_s,
        }


def phases_of(metrics: Mapping[str, Any]) -> Phases:
    """The phases of one compile, from one metrics row (forward or backward)."""
    dynamo = _seconds(metrics, _DYNAMO)
    backend = _seconds(metrics, _BACKEND)
    if dynamo is None and backend is None:
        backend = _seconds(metrics, _BACKWARD)
    inductor = _seconds(metrics, _INDUCTOR)
    toolchain = _seconds(metrics, _TOOLCHAIN)
    return Phases(
        dynamo_s=_without(dynamo, backend),
        # A graph that came out of the AOTAutograd cache never enters Inductor, yet may wait for a compiler.
        aot_autograd_s=_without(backend, toolchain if inductor is None else inductor),
        inductor_s=_without(inductor, toolchain),
        toolchain_s=toolchain,
    )


def add_up(phases: Iterable[Phases]) -> Phases:
    """Phase by phase the sum of what is known; a phase that no compile reports stays None."""
    rows = [row.as_dict() for row in phases]

    def total(name: str) -> float | None:
        known = [row[name] for row in rows]
        values = [value for value in known if value is not None]
        return round(sum(values), 6) if values else None

    return Phases(total("dynamo_s"), total("aot_autograd_s"), total("inductor_s"), total("toolchain_s"))


def _seconds(metrics: Mapping[str, Any], name: str) -> float | None:
    value = metrics.get(name)
    return round(value * _MICROSECONDS, 6) if isinstance(value, int | float) else None


def _without(outer: float | None, inner: float | None) -> float | None:
    if outer is None:
        return None
    # The two are read from different clocks' ends, so a phase that took nothing can come out just below zero.
    return max(0.0, round(outer - (inner or 0.0), 6))
