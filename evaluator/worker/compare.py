"""Whether the compiled calls of a bucket agree with eager's: leaf by leaf, call by call, and the verdict.

Pure: snapshots in, a record out. A leaf that differs in form (structure, kind, dtype, device) fails whatever
its values; strides, aliasing and types are differences that are recorded and fail nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

import torch

from evaluator.worker.closeness import (
    Closeness,
    Rules,
    as_float64,
    beyond_tolerance,
    differences,
    is_float,
    judge_floats,
)
from evaluator.worker.snapshot import Snapshot, moved
from evaluator.worker.values import Value, same_value

Verdict = Literal["pass", "fail", "not_comparable"]

# Worst first. A real wrong leaf outranks one that can't be judged.
_ORDER: Final[tuple[Verdict, ...]] = ("fail", "not_comparable", "pass")


@dataclass(frozen=True)
class Noise:
    """How eager's repeat differed from eager: nothing but plain values of the state (``identical``), the largest
    difference of a float leaf, and per leaf why it can't be compared with anything."""

    identical: bool = True
    max_abs: float | None = None
    unrepeatable: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class ComparedCall:
    """One call of both modes; ``reference`` is the float64 run's, or None with ``no_reference`` saying why.

    ``draws_as_eager``: the compiled run was told to draw random numbers as eager does.
    """

    eager: Snapshot
    compiled: Snapshot
    reference: Snapshot | None
    no_reference: str | None
    noise: Noise | None
    draws_as_eager: bool = False

    def other_draws(self) -> str | None:
        """Why random numbers alone may make the two differ; None where they can't.

        A generator that both left in the same state gave both the same numbers, if the compiled run draws as eager does.
        Without that a compiled run makes numbers of its own from a seed, and may leave the same state by chance.
        """
        names = self.eager.generators
        if self.draws_as_eager:
            names = moved(self.eager.generators_after, self.compiled.generators_after)
        if not names:
            return None
        said = f"the {' and '.join(names)} generator"
        return f"{said} moved otherwise than in eager" if self.draws_as_eager else f"{said} moved in eager"


@dataclass(frozen=True)
class Finding:
    """The judgement of one leaf in one call. ``form``: it is the leaf's form that fails, not its values."""

    leaf: str
    verdict: Verdict
    reason: str | None = None
    form: bool = False
    judged: bool = True
    closeness: Closeness | None = None
    max_abs: float | None = None


def leaf_pairs(eager: Snapshot, compiled: Snapshot) -> list[tuple[str, Value | None, Value | None]]:
    """Every leaf to compare as (path, eager's, compiled's): all outputs and gradients, and the inputs and state
    that either side wrote."""
    pairs: list[tuple[str, Value | None, Value | None]] = []
    written = eager.changed | compiled.changed
    for ours, theirs, everything in (
        (eager.outputs, compiled.outputs, True),
        (eager.inputs, compiled.inputs, False),
        (eager.state, compiled.state, False),
        (eager.gradients, compiled.gradients, True),
    ):
        paths = [*ours, *(path for path in theirs if path not in ours)]
        pairs += [(path, ours.get(path), theirs.get(path)) for path in paths if everything or path in written]
    return pairs


def repeat_noise(eager: Snapshot, again: Snapshot, rules: Rules) -> Noise:
    """What a second eager run, built and fed alike, says about how repeatable each leaf is."""
    identical = eager.structure == again.structure
    unrepeatable: dict[str, str] = {}
    found: list[float] = []
    for path, first, second in leaf_pairs(eager, again):
        if _is_value_of_state(path, first, second):
            if first is None or second is None or not same_value(first, second):
                unrepeatable[path] = "eager does not repeat itself"
            continue
        if first is None or second is None or form_difference(first, second) is not None:
            identical, unrepeatable[path] = False, "eager's second run gives another form"
            continue
        identical = identical and same_value(first, second)
        if first.shape != second.shape:
            unrepeatable[path] = f"eager's second run gives shape {second.shape}, the first {first.shape}"
        elif is_float(first):
            largest = differences(as_float64(second.value), as_float64(first.value))[0]
            found += [] if largest is None else [largest]
            beyond = beyond_tolerance(first, second, rules)
            if beyond is not None:
                unrepeatable[path] = f"eager does not repeat itself: {beyond}"
        elif not same_value(first, second):
            unrepeatable[path] = "eager does not repeat itself"
    return Noise(identical, max(found, default=None), unrepeatable)


def form_difference(eager: Value, compiled: Value) -> str | None:
    """How kind, dtype or device differ, or None. A shape is a value's matter: it may depend on the data."""
    if eager.kind != compiled.kind:
        return f"eager gives {_said(eager)}, compiled {_said(compiled)}"
    if eager.dtype != compiled.dtype:
        return f"dtype {eager.dtype} in eager, {compiled.dtype} compiled"
    if eager.device != compiled.device:
        return f"on {eager.device} in eager, on {compiled.device} compiled"
    return None


def judge_call(call: ComparedCall, rules: Rules) -> list[Finding]:
    """A finding for every leaf of one call, and one for the structure if it differs."""
    noise, random = call.noise or Noise(), call.other_draws()
    findings = []
    if call.eager.structure != call.compiled.structure:
        reason = (
            f"structure {_short(call.eager.structure)} in eager, {_short(call.compiled.structure)} compiled"
        )
        findings.append(Finding("out", "fail", reason, form=True))
    for path, ours, theirs in leaf_pairs(call.eager, call.compiled):
        if path in noise.unrepeatable:
            if _is_value_of_state(path, ours, theirs):
                # A clock or an address that something keeps for itself is nobody's result.
                findings.append(Finding(path, "pass", noise.unrepeatable[path], judged=False))
                continue
            findings.append(
                _with_figures(Finding(path, "not_comparable", noise.unrepeatable[path]), ours, theirs)
            )
            continue
        finding = _judge_leaf(path, ours, theirs, call, rules)
        if finding.verdict != "pass" and not finding.form and random is not None:
            finding = Finding(
                path,
                "not_comparable",
                f"random: {random}; {finding.reason}",
                closeness=finding.closeness,
                max_abs=finding.max_abs,
            )
        findings.append(finding)
    return findings


def _is_value_of_state(path: str, *sides: Value | None) -> bool:
    kinds = {side.kind for side in sides if side is not None}
    return path.startswith("state.") and bool(kinds) and not kinds & {"tensor", "opaque"}


def _judge_leaf(
    path: str, eager: Value | None, compiled: Value | None, call: ComparedCall, rules: Rules
) -> Finding:
    if eager is None or compiled is None:
        side = "only eager" if compiled is None else "only the compiled run"
        return Finding(path, "fail", f"{side} has this leaf", form=True)
    form = form_difference(eager, compiled)
    if form is not None:
        return Finding(path, "fail", form, form=True)
    if eager.kind == "opaque":
        return Finding(path, "pass", str(eager.value[1]), judged=False)
    if eager.shape != compiled.shape:
        return Finding(path, "fail", f"shape {eager.shape} in eager, {compiled.shape} compiled")
    if is_float(eager):
        reference, why = _reference(path, eager, call)
        near = judge_floats(compiled, eager, reference, rules, why)
        return Finding(path, near.verdict, near.reason, closeness=near, max_abs=near.max_abs)  # type: ignore[arg-type]
    if same_value(eager, compiled):
        return Finding(path, "pass", max_abs=0.0 if _is_integer(eager) else None)
    count, largest = _exact_difference(eager, compiled)
    return Finding(path, "fail", count, max_abs=largest)


def _reference(path: str, eager: Value, call: ComparedCall) -> tuple[Value | None, str | None]:
    if call.reference is None:
        return None, call.no_reference
    groups = (call.reference.outputs, call.reference.inputs, call.reference.state, call.reference.gradients)
    found = next((group[path] for group in groups if path in group), None)
    if found is None or found.kind != eager.kind or not is_float(found) or found.shape != eager.shape:
        return None, f"the float64 run gives another {path}"
    return found, None


def _exact_difference(eager: Value, compiled: Value) -> tuple[str, float | None]:
    """What differs between two leaves that must be equal, and the largest difference of integers."""
    if not isinstance(eager.value, torch.Tensor):
        return f"{eager.value!r:.200} in eager, {compiled.value!r:.200} compiled", None
    wrong = as_float64(eager.value) != as_float64(compiled.value)
    if not _is_integer(eager):
        return f"{int(wrong.sum())} of {wrong.numel()} elements differ", None
    # Exact in Python's integers: float64 loses the last digits of an int64.
    pairs = zip(eager.value.reshape(-1).tolist(), compiled.value.reshape(-1).tolist(), strict=True)
    gaps = [abs(one - other) for one, other in pairs if one != other]
    return f"{len(gaps)} of {wrong.numel()} integers differ, the largest by {max(gaps)}", float(max(gaps))


def _with_figures(finding: Finding, eager: Value | None, compiled: Value | None) -> Finding:
    """The same finding with the plain difference of the two, where they have one."""
    if eager is None or compiled is None or not is_float(eager) or not is_float(compiled):
        return finding
    if eager.shape != compiled.shape:
        return finding
    max_abs, max_rel = differences(as_float64(compiled.value), as_float64(eager.value))
    near = Closeness(finding.verdict, finding.reason, "eager", finding.reason, max_abs, max_rel)
    return Finding(finding.leaf, finding.verdict, finding.reason, closeness=near, max_abs=max_abs)


def _is_integer(value: Value) -> bool:
    tensor = value.value
    return isinstance(tensor, torch.Tensor) and tensor.dtype != torch.bool and not is_float(value)


def _said(value: Value) -> str:
    return f"a {value.type_name}" if value.kind != "opaque" else f"an opaque {value.type_name}"


def _short(text: str, limit: int = 300) -> str:
    return text if len(text) <= limit else f"{text[: limit - 4]} ..."


def worst_verdict(verdicts: Sequence[Verdict]) -> Verdict:
    """The verdict of several: a failure outranks what can't be compared, that outranks a pass."""
    return min(verdicts, key=_ORDER.index, default="pass")
