"""How right the outputs are: each side against its own eager, and the two versions' outputs against each other."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from typing import Any, Final

from evaluator.verdicts.findings import Finding
from evaluator.verdicts.pairs import finding
from evaluator.verdicts.sides import AccuracyResult, LeafDigest, Side
from evaluator.verdicts.wording import listed
from evaluator.verdicts.words import WRONG, Verdict

# (rtol, atol) by dtype name: the defaults of torch.testing.assert_close. Python numbers mostly come out of a float32
# tensor. A float dtype that is not listed has no tolerance there, and none here.
TOLERANCES: Final[Mapping[str, tuple[float, float]]] = {
    "float16": (1e-3, 1e-5),
    "bfloat16": (1.6e-2, 1e-5),
    "float32": (1.3e-6, 1e-5),
    "float64": (1e-7, 1e-7),
    "complex32": (1e-3, 1e-5),
    "complex64": (1.3e-6, 1e-5),
    "complex128": (1e-7, 1e-7),
    "float": (1.3e-6, 1e-5),
    "complex": (1.3e-6, 1e-5),
}
_FLOATING: Final = ("float", "bfloat", "complex")
# Each version may be one tolerance away from the truth, to either side of it.
DRIFT_SLACK: Final = 2.0
# From here a root mean square error counts as another one: eager's own may grow by so much in the accuracy probe.
RMSE_FACTOR: Final = 2.0

_PASS: Final = "pass"
_FAIL: Final = "fail"


def verdict_of(side: Side) -> str | None:
    """``pass``, ``fail`` or ``not_comparable``; None where accuracy was not reached."""
    if side.accuracy is not None and side.accuracy.verdict is not None:
        return side.accuracy.verdict
    return _FAIL if side.status == WRONG else None


def judge_accuracy(base: Side, candidate: Side) -> tuple[Finding, ...]:
    """The findings about accuracy of one pair, none where neither side measured it.

    ``accuracy`` (gating): the candidate fails where the base passed, or the reverse; both fail, by another amount. ``accuracy.rmse_fp64``: both
    pass, and the error to float64 is more than twice the other's. ``drift``: see ``judge_drift``.
    """
    ours, theirs = verdict_of(base), verdict_of(candidate)
    if ours is None and theirs is None:
        return ()
    found = [_accuracy(base, candidate, ours, theirs)]
    if ours == theirs == _PASS and base.accuracy and candidate.accuracy:
        found += _rmse(base, candidate, base.accuracy.rmse_fp64, candidate.accuracy.rmse_fp64)
    drift = judge_drift(base, candidate)
    return (*found, drift) if drift is not None else tuple(found)


def judge_drift(base: Side, candidate: Side) -> Finding | None:
    """How far the compiled outputs of the two sides are from each other; None where a side kept none. Never gating.

    Equal hashes of every leaf: bit for bit equal. Else the sampled elements of each leaf that differs are compared: a
    float may be off by ``DRIFT_SLACK`` times the dtype's tolerance (the workload's own where it has one), with the
    sample's root mean square in place of an element that is smaller, since rounding errors come with the size of what
    was added up. Beyond that, or where an integer, a shape or a dtype differs, the outputs ``changed``.
    """
    if base.accuracy is None or candidate.accuracy is None:
        return None
    if not (base.accuracy.digests and candidate.accuracy.digests):
        return None
    sides = (base, candidate)
    if "not_comparable" in (base.accuracy.verdict, candidate.accuracy.verdict):
        text = "the outputs of a side can't be judged (random, or eager does not repeat itself)"
        return finding(sides, "drift", "not_compared", text, reasons=("not_comparable",), kind="drift")
    changed, within, largest = _compare_leaves(base.accuracy, candidate.accuracy)
    if changed:
        text = f"outputs differ between the versions: {'; '.join(changed[:3])}"
        if len(changed) > 3:
            text += f"; and {len(changed) - 3} more leaves"
        return finding(sides, "drift", "changed", text, (None, largest), kind="drift", unit="1")
    if within:
        text = f"outputs agree within tolerance where they were sampled, not bit for bit ({listed(within)})"
    else:
        text = "outputs are bit for bit equal"
    return finding(sides, "drift", "unchanged", text, (None, largest), kind="drift", unit="1")


def _accuracy(base: Side, candidate: Side, ours: str | None, theirs: str | None) -> Finding:
    verdict: Verdict
    reasons: tuple[str, ...] = ()
    if ours == _PASS and theirs == _FAIL:
        why = candidate.accuracy.reason if candidate.accuracy else candidate.reason
        verdict, text = "regressed", f"wrong on the candidate only: {why or 'no reason recorded'}"
    elif ours == _FAIL and theirs == _PASS:
        verdict, text = "fixed", "wrong on the base, right on the candidate"
    elif ours == theirs == _PASS:
        verdict, text = "unchanged", "right on both sides"
        left_out = [one.reason for one in (candidate.accuracy, base.accuracy) if one and one.reason]
        text += f"; {left_out[0]}" if left_out else ""
    elif ours == theirs == _FAIL:
        verdict, text = _both_wrong(base.accuracy, candidate.accuracy)
    else:
        verdict, text = "not_compared", "the outputs of a side can't be judged"
        reasons = ("not_comparable",)
        if None in (ours, theirs):
            text = f"checked on the {'base' if theirs is None else 'candidate'} only"
            reasons = ("not_measured",)
        why = next(
            (a.reason for a in (candidate.accuracy, base.accuracy) if a and a.verdict == "not_comparable"),
            None,
        )
        text += f": {why}" if why else ""
    if any(side.accuracy is not None and side.accuracy.series != "default" for side in (base, candidate)):
        text += " (compared with eager's random numbers in the compiled code)"
    return finding(
        (base, candidate), "accuracy", verdict, text, (ours, theirs), reasons, kind="accuracy", gating=True
    )


def _both_wrong(base: AccuracyResult | None, candidate: AccuracyResult | None) -> tuple[Verdict, str]:
    """Wrong results that are more than twice as wrong as before, or no numbers any more, are others."""
    errors = [one.rmse_fp64 if one else None for one in (base, candidate)]
    known = [one for one in errors if one is not None and math.isfinite(one)]
    if not known:
        return "unchanged", "wrong on both sides"
    shown = " -> ".join("no number" if one not in known else f"{one:.3g}" for one in errors)
    text = f"wrong on both sides, root mean square error to float64 {shown}"
    apart = len(known) < 2 or max(known) > RMSE_FACTOR * min(known)
    return "changed" if apart else "unchanged", text


def _rmse(base: Side, candidate: Side, ours: float | None, theirs: float | None) -> list[Finding]:
    if ours is None or theirs is None:
        return []
    apart = max(ours, theirs) > RMSE_FACTOR * min(ours, theirs)
    text = f"root mean square error to float64 {ours:.3g} -> {theirs:.3g}, both within tolerance"
    verdict: Verdict = "changed" if apart else "unchanged"
    name = "accuracy.rmse_fp64"
    return [finding((base, candidate), name, verdict, text, (ours, theirs), kind="accuracy", unit="1")]


def _compare_leaves(
    base: AccuracyResult, candidate: AccuracyResult
) -> tuple[list[str], list[str], float | None]:
    """(what changed, leaves that differ within tolerance, largest difference seen), by leaf."""
    ours = {one.leaf: one for one in base.digests}
    theirs = {one.leaf: one for one in candidate.digests}
    changed: list[str] = []
    within: list[str] = []
    largest: float | None = None
    for leaf in dict.fromkeys([*ours, *theirs]):
        if leaf not in ours or leaf not in theirs:
            changed.append(f"{leaf} is there on the {'base' if leaf in ours else 'candidate'} only")
            continue
        one, other = ours[leaf], theirs[leaf]
        if one.sha256 == other.sha256 and (one.dtype, one.shape) == (other.dtype, other.shape):
            continue
        said = _form(one, other) or _exact(one, other)
        if said is None:
            tolerance = candidate.tolerance.get(one.dtype or "") or base.tolerance.get(one.dtype or "")
            rtol, atol = tolerance or TOLERANCES.get(one.dtype or "", (0.0, 0.0))
            said, off = _floats(one, other, rtol, atol)
            largest = off if largest is None or (off is not None and off > largest) else largest
        if said is None:
            within.append(leaf)
        else:
            changed.append(f"{leaf}: {said}")
    return changed, within, largest


def _form(base: LeafDigest, candidate: LeafDigest) -> str | None:
    if base.dtype != candidate.dtype:
        return f"dtype {base.dtype} -> {candidate.dtype}"
    if base.shape != candidate.shape:
        return f"shape {list(base.shape or ())} -> {list(candidate.shape or ())}"
    return None


def _exact(base: LeafDigest, candidate: LeafDigest) -> str | None:
    """What has no tolerance: integers, booleans, other Python values."""
    if (base.dtype or "").startswith(_FLOATING):
        return None
    pairs = list(zip(base.sample or (), candidate.sample or (), strict=False))
    differing = sum(1 for ours, theirs in pairs if ours != theirs)
    seen = f", {differing} of {len(pairs)} sampled" if pairs else ""
    return f"values of {base.dtype or 'unknown type'} differ{seen}"


def _floats(
    base: LeafDigest, candidate: LeafDigest, rtol: float, atol: float
) -> tuple[str | None, float | None]:
    """(what is beyond tolerance or None, largest difference of finite sampled elements)."""
    if base.sample is None or candidate.sample is None or len(base.sample) != len(candidate.sample):
        return f"values of {base.dtype} differ, and no elements were kept to say how far", None
    ours, theirs = [_number(one) for one in base.sample], [_number(one) for one in candidate.sample]
    finite = [
        (one, other)
        for one, other in zip(ours, theirs, strict=True)
        if math.isfinite(one) and math.isfinite(other)
    ]
    misplaced = sum(
        1
        for one, other in zip(ours, theirs, strict=True)
        if not (math.isfinite(one) and math.isfinite(other))
        and one != other
        and not (math.isnan(one) and math.isnan(other))
    )
    largest = max((abs(one - other) for one, other in finite), default=None)
    if misplaced:
        return f"NaN or infinity in other places ({misplaced} of {len(ours)} sampled)", largest
    size = _rms([one for one, _ in finite])
    beyond = [
        (one, other)
        for one, other in finite
        if abs(one - other) > DRIFT_SLACK * (atol + rtol * max(abs(one), abs(other), size))
    ]
    if not beyond:
        return None, largest
    return (
        f"{len(beyond)} of {len(ours)} sampled elements of {base.dtype} differ by more than {DRIFT_SLACK:g} x "
        f"(atol {atol:g} + rtol {rtol:g}), the largest by {largest:.3g}",
        largest,
    )


def _rms(numbers: Sequence[float]) -> float:
    return math.sqrt(statistics.fmean(one * one for one in numbers)) if numbers else 0.0


def _number(value: Any) -> float:
    """A sampled element; "nan", "inf" and "-inf" stand for what JSON has no number for."""
    return math.nan if value is None else float(value)
