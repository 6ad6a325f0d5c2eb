"""How far one leaf of the compiled run is from eager's and from float64, and whether that is near enough.

All arithmetic is in float64 (complex128) on the CPU. Differences of complex numbers are moduli; a leaf that holds an
infinity or a NaN is judged by its real and imaginary parts, since beside an infinite part a modulus says nothing.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import torch

from evaluator.worker.values import Value

# (rtol, atol) per dtype: torch.testing.assert_close's defaults. Any other float dtype is (0, 0) there and here.
DEFAULT_TOLERANCES: Final[dict[str, tuple[float, float]]] = {
    "float16": (1e-3, 1e-5),
    "bfloat16": (1.6e-2, 1e-5),
    "float32": (1.3e-6, 1e-5),
    "float64": (1e-7, 1e-7),
    "complex32": (1e-3, 1e-5),
    "complex64": (1.3e-6, 1e-5),
    "complex128": (1e-7, 1e-7),
    # Python numbers mostly come out of a float32 tensor's item(), and hold no more digits than it did.
    "float": (1.3e-6, 1e-5),
    "complex": (1.3e-6, 1e-5),
}

# How far an element of eager's may be from float64 for float64 to be its reference: a share of the element's
# size plus the leaf's root mean square. Some thousand roundings of the dtype's last digit: what a deep model
# gathers stays well below; another program, random numbers or amplified rounding noise are far above.
NEAR_SHARE: Final[dict[str, float]] = {
    "float64": 1e-9,
    "complex128": 1e-9,
    "float32": 1e-3,
    "complex64": 1e-3,
    "float": 1e-3,
    "complex": 1e-3,
    "tf32": 2e-2,
    "float16": 2e-2,
    "complex32": 2e-2,
    "bfloat16": 1e-1,
}
_NEAR_SHARE_OF_FLOAT8: Final = 0.5

# A few elements may sit on an edge (a rounding that picks another branch); more than this and eager as a whole
# computes something else than float64 does.
FAR_ELEMENTS: Final = 0.01

# The rule where the tolerance is missed: no worse than this many times eager, plus this part of the tolerance.
EAGER_FACTOR: Final = 2.0
TOLERANCE_PART: Final = 0.1


@dataclass(frozen=True)
class Rules:
    """What counts as near: the workload's own (rtol, atol) by dtype name, and the coarsest dtype that takes part
    in the computation (``tf32`` included), since a float32 loss of a bfloat16 model has bfloat16's errors."""

    tolerance: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    coarsest: str = "float64"

    def tolerances(self, dtype: str) -> tuple[float, float]:
        """(rtol, atol) of a dtype name."""
        return self.tolerance.get(dtype, DEFAULT_TOLERANCES.get(dtype, (0.0, 0.0)))

    def near_share(self, dtype: str) -> float:
        """`NEAR_SHARE` of the coarser of the leaf's dtype and the computation's."""
        return max(NEAR_SHARE.get(name, _NEAR_SHARE_OF_FLOAT8) for name in (dtype, self.coarsest))


@dataclass(frozen=True)
class Closeness:
    """Figures of one float leaf, and the judgement. None: there was no (finite) element to take it from."""

    verdict: str
    reason: str | None
    reference: str
    reference_reason: str | None
    max_abs: float | None
    max_rel: float | None
    rmse_fp64: float | None = None
    eager_rmse_fp64: float | None = None
    max_abs_fp64: float | None = None
    eager_max_abs_fp64: float | None = None


def is_float(value: Value) -> bool:
    """Whether the leaf is judged by closeness: float and complex tensors, arrays and Python numbers."""
    if isinstance(value.value, torch.Tensor):
        return value.value.is_floating_point() or value.value.is_complex()
    return isinstance(value.value, (float, complex))


def coarser(one: str, other: str) -> str:
    """The dtype name with the larger `NEAR_SHARE`."""
    return max(one, other, key=lambda name: NEAR_SHARE.get(name, _NEAR_SHARE_OF_FLOAT8))


def judge_floats(
    compiled: Value, eager: Value, reference: Value | None, rules: Rules, no_reference: str | None = None
) -> Closeness:
    """Judge a float leaf whose dtype and shape already agree.

    `reference` is the float64 run's leaf of the same shape, or None with the reason in `no_reference`.
    """
    values = [compiled, eager] if reference is None else [compiled, eager, reference]
    c, e, *others = _alike(values)
    rtol, atol = rules.tolerances(eager.dtype)
    max_abs, max_rel = differences(c, e)
    if reference is None:
        verdict, reason = _against_eager(c, e, rtol, atol)
        return Closeness(verdict, reason, "eager", no_reference, max_abs, max_rel)
    (r,) = others
    used, why, verdict, reason = _judge(c, e, r, rules, eager.dtype)
    shared = torch.isfinite(c) & torch.isfinite(e) & torch.isfinite(r)
    compiled_error, eager_error = (c - r).abs()[shared], (e - r).abs()[shared]
    return Closeness(
        verdict=verdict,
        reason=reason,
        reference=used,
        reference_reason=why,
        max_abs=max_abs,
        max_rel=max_rel,
        rmse_fp64=rms(compiled_error),
        eager_rmse_fp64=rms(eager_error),
        max_abs_fp64=largest(compiled_error),
        eager_max_abs_fp64=largest(eager_error),
    )


def _judge(
    c: torch.Tensor, e: torch.Tensor, r: torch.Tensor, rules: Rules, dtype: str
) -> tuple[str, str | None, str, str | None]:
    """(reference used, why not float64, verdict, reason)."""
    rtol, atol = rules.tolerances(dtype)
    misplaced = ~same_kind(c, e)
    if bool(misplaced.any()):
        count = int(misplaced.sum())
        if bool(same_kind(e, r)[misplaced].any()):
            reason = f"NaN or infinity in other places than eager's ({count} elements)"
            return "float64", None, "fail", reason
        reason = f"eager is not finite where float64 is ({count} elements), so nothing can be said there"
        return "eager", reason, "not_comparable", reason
    finite = torch.isfinite(e)
    c, e, r = c[finite], e[finite], r[finite]
    if c.numel() == 0:
        return "float64", None, "pass", None
    defined = torch.isfinite(r)
    eager_error = (e - r).abs()
    scale = rms(r[defined].abs()) or 0.0
    near = eager_error <= torch.maximum(atol + rtol * r.abs(), rules.near_share(dtype) * (r.abs() + scale))
    far = ~(near & defined)
    share = float(far.double().mean())
    if share > FAR_ELEMENTS:
        why = f"eager itself is far from float64 ({_far(eager_error[defined], scale)}, {share:.0%} of the elements)"
        verdict, difference = _against_eager(c, e, rtol, atol)
        if verdict == "pass":
            return "eager", why, "pass", None
        return "eager", why, "not_comparable", f"ill-conditioned or random: {why}; {difference}"
    outcome = _against_float64(c[~far], e[~far], r[~far], rtol, atol)
    if outcome[0] == "pass" and bool(far.any()):
        outcome = _where_far(c[far], e[far], r[far], rtol, atol)
    return "float64", None, *outcome


def _where_far(
    c: torch.Tensor, e: torch.Tensor, r: torch.Tensor, rtol: float, atol: float
) -> tuple[str, str | None]:
    """The few elements where eager is far from float64: near either of them will do, else nobody can say."""
    near_eager = (c - e).abs() <= atol + rtol * e.abs()
    near_float64 = torch.isfinite(r) & ((c - r).abs() <= atol + rtol * r.abs())
    unclear = int((~(near_eager | near_float64)).sum())
    if unclear == 0:
        return "pass", None
    return "not_comparable", f"{unclear} elements differ where eager itself is far from float64"


def _against_float64(
    c: torch.Tensor, e: torch.Tensor, r: torch.Tensor, rtol: float, atol: float
) -> tuple[str, str | None]:
    compiled_error, eager_error = (c - r).abs(), (e - r).abs()
    if bool((compiled_error <= atol + rtol * r.abs()).all()):
        return "pass", None
    # One number for the tolerance of a whole leaf: that of an element of the reference's root mean square.
    extra = TOLERANCE_PART * (atol + rtol * (rms(r.abs()) or 0.0))
    found = (rms(compiled_error) or 0.0, largest(compiled_error) or 0.0)
    allowed = (
        EAGER_FACTOR * (rms(eager_error) or 0.0) + extra,
        EAGER_FACTOR * (largest(eager_error) or 0.0) + extra,
    )
    if found[0] <= allowed[0] and found[1] <= allowed[1]:
        return "pass", None
    return "fail", (
        f"largest error to float64 {found[1]:.3g} (allowed {allowed[1]:.3g} or rtol {rtol:g}, atol {atol:g}), "
        f"root mean square {found[0]:.3g} (allowed {allowed[0]:.3g})"
    )


def _against_eager(c: torch.Tensor, e: torch.Tensor, rtol: float, atol: float) -> tuple[str, str | None]:
    misplaced = ~same_kind(c, e)
    if bool(misplaced.any()):
        return "fail", f"NaN or infinity in other places than eager's ({int(misplaced.sum())} elements)"
    finite = torch.isfinite(e)
    error = (c[finite] - e[finite]).abs()
    beyond = error > atol + rtol * e[finite].abs()
    if not bool(beyond.any()):
        return "pass", None
    return "fail", (
        f"{int(beyond.sum())} of {c.numel()} elements differ from eager beyond rtol {rtol:g}, atol {atol:g}, "
        f"the largest by {largest(error):.3g}"
    )


def differences(c: torch.Tensor, e: torch.Tensor) -> tuple[float | None, float | None]:
    """(largest |c - e|, largest |c - e| / |e| where e is not 0), over elements finite in both."""
    finite = torch.isfinite(c) & torch.isfinite(e)
    error, size = (c[finite] - e[finite]).abs(), e[finite].abs()
    return largest(error), largest(error[size != 0] / size[size != 0])


def beyond_tolerance(one: Value, other: Value, rules: Rules) -> str | None:
    """Why two float leaves of one dtype and shape differ by more than the tolerance, or None if they don't."""
    rtol, atol = rules.tolerances(one.dtype)
    c, e = _alike([other, one])
    return _against_eager(c, e, rtol, atol)[1]


def as_float64(value: Any) -> torch.Tensor:
    """A number or dense tensor as a flat float64 or complex128 tensor."""
    tensor = value if isinstance(value, torch.Tensor) else torch.tensor(value, dtype=_wide(value))
    return tensor.to(torch.complex128 if tensor.is_complex() else torch.float64).reshape(-1)


def _alike(values: Sequence[Value]) -> list[torch.Tensor]:
    """Float leaves as flat tensors to compare: their parts where they are complex and one of them is not finite."""
    wide = [as_float64(value.value) for value in values]
    if any(one.is_complex() and not bool(torch.isfinite(one).all()) for one in wide):
        return [torch.view_as_real(one.to(torch.complex128)).reshape(-1) for one in wide]
    return wide


def same_kind(one: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
    """Where both are finite, both NaN, or the same infinity."""
    both_nan = torch.isnan(one) & torch.isnan(other)
    return both_nan | (one == other) | (torch.isfinite(one) & torch.isfinite(other))


def rms(magnitudes: torch.Tensor) -> float | None:
    """Root mean square, scaled so that large values don't overflow; None of nothing."""
    top = largest(magnitudes)
    if top is None or top == 0.0 or not math.isfinite(top):
        return top
    return top * math.sqrt(float((magnitudes / top).square().mean()))


def largest(magnitudes: torch.Tensor) -> float | None:
    """The largest element; None of nothing."""
    return float(magnitudes.max()) if magnitudes.numel() else None


def _far(error: torch.Tensor, scale: float) -> str:
    off = rms(error) or 0.0
    return f"{off / scale:.3g} of its root mean square" if scale else f"{off:.3g} where float64 is 0"


def _wide(value: Any) -> torch.dtype:
    return torch.complex128 if isinstance(value, complex) else torch.float64
