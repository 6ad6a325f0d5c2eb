"""The accuracy of one bucket, gathered call by call: the verdict, the figures, and what differs without failing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from evaluator.worker.closeness import Rules
from evaluator.worker.compare import ComparedCall, Finding, Verdict, judge_call, leaf_pairs, worst_verdict
from evaluator.worker.digest import digest, json_number
from evaluator.worker.protocol import Sample, Status
from evaluator.worker.snapshot import Snapshot
from evaluator.worker.values import Value

Difference = dict[str, Any]

STATUS_OF_VERDICT: Final[dict[Verdict, Status]] = {
    "pass": "ok",
    "fail": "accuracy_failed",
    "not_comparable": "not_comparable",
}

# Figures that are the largest over leaves and calls.
_FIGURES: Final = (
    "max_rel",
    "rmse_fp64",
    "eager_rmse_fp64",
    "max_abs_fp64",
    "eager_max_abs_fp64",
)

# Leaves that were not compared, as far as a reason names them; all of them are in the record.
_NAMED: Final = 3

# Keys that a difference of their order shows, from the first one that differs.
_KEYS_TOLD: Final = 8


class BucketAccuracy:
    """Judges the calls of one bucket as they are added; `record` gives what is stored.

    Figures: ``max_abs`` is the largest |compiled - eager| of any float leaf (and of an integer leaf, which is 0
    unless it fails), ``max_rel`` the largest |compiled - eager| / |eager| where eager is not 0, ``rmse_fp64`` the
    worst leaf's root of the mean of (compiled - float64) squared, ``eager_rmse_fp64`` the same of eager's worst
    leaf, ``max_abs_fp64`` and ``eager_max_abs_fp64`` the largest errors to float64, ``repeat_max_abs`` the largest
    difference of eager's repeat. All over elements that are finite on each side, over every call. None where
    there was nothing to take it from; "inf" and "nan" stand for what JSON has no number for.
    """

    def __init__(self, rules: Rules) -> None:
        self._rules = rules
        self._findings: list[tuple[int, Finding]] = []
        self._calls = 0
        self._leaves = 0
        self._repeats: list[float] = []
        self._aliases: dict[str, None] = {}
        self._mutates: dict[str, None] = {}
        self._digests: list[dict[str, Any]] = []
        self._checks: list[tuple[Verdict, str]] = []
        self._unfinished: str | None = None
        self.differences: list[Difference] = []

    def add(self, call: ComparedCall) -> None:
        """Judge one more call."""
        findings = judge_call(call, self._rules)
        self._findings += [(self._calls, finding) for finding in findings]
        pairs = leaf_pairs(call.eager, call.compiled)
        self._leaves = max(self._leaves, len(pairs))
        if call.noise is not None and call.noise.max_abs is not None:
            self._repeats.append(call.noise.max_abs)
        for leaf, other in call.eager.aliases:
            self._aliases[f"{leaf} shares memory with {other}"] = None
        for path in call.eager.mutates():
            self._mutates[path] = None
        if self._calls == 0:
            self._digests = [digest(compiled) for _, _, compiled in pairs if compiled is not None]
        for difference in _differences(call.eager, call.compiled):
            if difference not in self.differences:
                self.differences.append(difference)
        self._calls += 1

    def note_check(self, verdict: Verdict, message: str) -> None:
        """What the workload's own check said of a compiled output."""
        self._checks.append((verdict, message))

    @property
    def calls(self) -> int:
        """How many calls were judged; with none there is no record to store."""
        return self._calls

    def note_unfinished(self, reason: str) -> None:
        """That the remaining calls could not be judged, so that the bucket as a whole can't pass."""
        self._unfinished = reason

    def verdict(self) -> Verdict:
        """The worst of every leaf and of the workload's own check; not_comparable if nothing could be judged, or
        not every call."""
        found = [finding.verdict for _, finding in self._findings]
        found += [verdict for verdict, _ in self._checks]
        if self._unfinished is not None or not any(finding.judged for _, finding in self._findings):
            found.append("not_comparable")
        return worst_verdict(found)

    def reason(self) -> str | None:
        """What decided the verdict; of a pass what was not compared, None where all was."""
        verdict = self.verdict()
        if verdict == "pass":
            return self._not_compared()
        for call, finding in self._findings:
            if finding.verdict == verdict:
                return f"{finding.leaf} (call {call + 1}): {finding.reason}"
        for found, message in self._checks:
            if found == verdict:
                return message
        return self._unfinished or "no leaf of the output can be compared"

    def record(self) -> dict[str, Any]:
        """The accuracy record, JSON-safe."""
        reference, why = self._reference()
        near = [finding.closeness for _, finding in self._findings if finding.closeness is not None]
        figures = {name: _largest(getattr(one, name) for one in near) for name in _FIGURES}
        made: dict[str, Any] = {
            "verdict": self.verdict(),
            "reason": self.reason(),
            "max_abs": _largest(finding.max_abs for _, finding in self._findings),
            **figures,
            "repeat_max_abs": _largest(self._repeats),
            "reference": reference,
            "reference_reason": why,
            "worst_leaf": self._worst_leaf(),
            "leaves": self._leaves,
            "calls": self._calls,
            "aliases": list(self._aliases),
            "mutates": list(self._mutates),
            "unjudged": self._unjudged(),
            "digests": self._digests,
        }
        if self._checks:
            made["check"] = self._checks[-1][1]
        return made

    def samples(self) -> list[Sample]:
        """The figures that are series of their own; None where there is none, flagged where they are no clean
        measurement: "not_comparable", "fail", or "failed" if no call was judged."""
        record = self.record()
        flags = [] if record["verdict"] == "pass" else [record["verdict"] if self._calls else "failed"]
        return [
            Sample(metric=f"accuracy.{name}", round=None, value=_finite(record[name]), flags=list(flags))
            for name in ("rmse_fp64", "eager_rmse_fp64", "max_abs")
        ]

    def _reference(self) -> tuple[str, str | None]:
        """What float leaves were judged by: float64 if all were, else eager with the first reason."""
        near = [finding.closeness for _, finding in self._findings if finding.closeness is not None]
        if not near:
            return "eager", "no leaf is a floating point number"
        by_eager = [one for one in near if one.reference == "eager"]
        return ("eager", by_eager[0].reference_reason) if by_eager else ("float64", None)

    def _worst_leaf(self) -> str | None:
        """The leaf that decided the verdict; of a pass, the one furthest from eager."""
        verdict = self.verdict()
        if verdict != "pass":
            return next((finding.leaf for _, finding in self._findings if finding.verdict == verdict), None)
        measured = [
            (finding.max_abs, finding.leaf) for _, finding in self._findings if finding.max_abs is not None
        ]
        return max(measured, key=lambda pair: pair[0])[1] if measured else None

    def _not_compared(self) -> str | None:
        left = self._unjudged()
        if not left:
            return None
        said = ", ".join(f"{one['leaf']} ({one['reason']})" for one in left[:_NAMED])
        more = f" and {len(left) - _NAMED} more" if len(left) > _NAMED else ""
        return f"{len(left)} {'leaf' if len(left) == 1 else 'leaves'} not compared: {said}{more}"

    def _unjudged(self) -> list[dict[str, str | None]]:
        seen = {finding.leaf: finding.reason for _, finding in self._findings if not finding.judged}
        return [{"leaf": leaf, "reason": reason} for leaf, reason in seen.items()]


def _differences(eager: Snapshot, compiled: Snapshot) -> list[Difference]:
    """Stride, type, requires_grad, aliasing and key order of the outputs where they differ between the modes."""
    found: list[Difference] = []
    ours, theirs = dict(eager.aliases), dict(compiled.aliases)
    for path, first in eager.outputs.items():
        second = compiled.outputs.get(path)
        if second is None or first.kind != second.kind:
            continue
        facts = [
            ("type", first.type_name, second.type_name),
            ("requires_grad", first.requires_grad, second.requires_grad),
            ("aliasing", ours.get(path), theirs.get(path)),
        ]
        if first.shape == second.shape and _layout(first) != _layout(second):
            facts.append(("stride", _listed(first), _listed(second)))
        found += [
            {"leaf": path, "kind": kind, "eager": one, "compiled": other}
            for kind, one, other in facts
            if one != other
        ]
    return found + _turned(eager.orders, compiled.orders)


def _turned(
    eager: Mapping[str, tuple[str, ...]], compiled: Mapping[str, tuple[str, ...]]
) -> list[Difference]:
    """Mappings with the same keys in another order: equal as Python has it, and seen by whoever iterates."""
    found: list[Difference] = []
    for path, keys in eager.items():
        others = compiled.get(path, keys)
        if keys == others or sorted(keys) != sorted(others):
            continue
        first = next(index for index, key in enumerate(keys) if key != others[index])
        told = slice(first, first + _KEYS_TOLD)
        found.append(
            {"leaf": path, "kind": "key_order", "eager": list(keys[told]), "compiled": list(others[told])}
        )
    return found


def _layout(value: Value) -> list[int] | None:
    """Strides as far as they mean something: those of lengths below 2 are free, and an empty leaf has none."""
    if value.stride is None or value.shape is None or 0 in value.shape:
        return None
    return [step for length, step in zip(value.shape, value.stride, strict=True) if length > 1]


def _listed(value: Value) -> list[int] | None:
    return None if value.stride is None else list(value.stride)


def _largest(numbers: Iterable[float | None]) -> float | int | str | None:
    return json_number(max((number for number in numbers if number is not None), default=None))


def _finite(number: Any) -> float | None:
    return float(number) if isinstance(number, (int, float)) else None
