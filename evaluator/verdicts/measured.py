"""Times and memory of a cell's two evaluations: whether they can be compared, the verdict, and what a rerun says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from evaluator.verdicts import times
from evaluator.verdicts.comparable import median, took_none, why_not
from evaluator.verdicts.findings import Evidence, Finding, Kind
from evaluator.verdicts.pairs import both, finding
from evaluator.verdicts.policy import (
    DEVICE_MEMORY,
    DIAGNOSTIC_MEMORY,
    DIAGNOSTIC_TIMES,
    GATING_TIMES,
    LEAST_REPLICAS,
    Policy,
)
from evaluator.verdicts.reruns import unless_rerun_regressed, with_rerun
from evaluator.verdicts.sides import EnvironmentSide, Pair, Side
from evaluator.verdicts.wording import interval, too_few
from evaluator.verdicts.words import REASONS

_SERIAL: Final = "compile.cold_serial_s"
# The cold compile that users see is the noisier one: it explains where the steadier one was measured on both sides.
_STANDS_IN_FOR: Final = {"compile.cold_s": _SERIAL}
_UNITS_OF_MEMORY: Final = "_mb"


def judge_measured(
    pair: Pair, base: Side, candidate: Side, policy: Policy, different_builds: bool
) -> list[Finding]:
    """A finding for each time and memory figure that a side has, in the order of the policy.

    ``different_builds``: the sides' torch were built for other devices, so host memory says nothing of a version.
    Memory that neither side takes (no graphs have a pool, say) is no finding.
    """
    found = []
    for metric in (*GATING_TIMES, *DIAGNOSTIC_TIMES, *DIAGNOSTIC_MEMORY, *DEVICE_MEMORY):
        if metric not in base.series and metric not in candidate.series:
            continue
        why = why_not(metric, base, candidate, different_builds)
        takes_none = [took_none(side, metric) for side in (base, candidate)]
        if all(takes_none):
            continue
        if why == "not_measured" and any(takes_none):
            # A measured nothing has no ratio, and is not the same as nothing measured.
            judged = _from_or_to_none(metric, base, candidate)
        elif why is None:
            judged = _judged(metric, pair, base, candidate, policy)
        else:
            judged = _not_compared(metric, base, candidate, why)
        found.append(judged)
    explaining = {one for name in _STANDS_IN_FOR if (one := _explaining(name, found)) is not None}
    return [one._replace(gating=False) if one.metric in explaining else one for one in found]


def judge_environment(
    base: EnvironmentSide,
    candidate: EnvironmentSide,
    metrics: Mapping[str, float],
    policy: Policy,
    builds: bool,
) -> tuple[Finding, ...]:
    """Findings about what an environment costs by itself (imports), never gating. ``builds``: they differ."""
    found = []
    for metric in metrics:
        ours, theirs = base.series.get(metric), candidate.series.get(metric)
        if ours is None and theirs is None:
            continue
        series = ours or theirs
        assert series is not None
        why = (
            "different_machine"
            if base.machine != candidate.machine
            else "different_builds"
            if builds
            else None
        )
        if why is not None:
            made = Finding(
                metric, "time", "not_compared", False, None, None, None, series.unit, REASONS[why], (why,)
            )
        else:
            judged = times.judge(
                ours,
                theirs,
                margin=policy.margin(metric),
                confidence=policy.confidence,
                equivalence_confidence=policy.equivalence_confidence,
            )
            made = _of_judgement(metric, "time", judged, series.unit, gating=False)
            if base.run != candidate.run:
                made = made._replace(reasons=(*made.reasons, "not_interleaved"))
        found.append(made)
    return tuple(found)


def _explaining(usual: str, found: Sequence[Finding]) -> str | None:
    """Which of two cold compiles only explains: the usual one where the steadier one was compared, unless that one alone
    has too few replicas to say anything. None where both gate."""
    by_metric = {one.metric: one for one in found}
    steadier = by_metric.get(_STANDS_IN_FOR[usual])
    if steadier is None or steadier.verdict == "not_compared":
        return None
    other = by_metric.get(usual)
    if steadier.estimate is None and other is not None and other.estimate is not None:
        return steadier.metric
    return usual


def _judged(metric: str, pair: Pair, base: Side, candidate: Side, policy: Policy) -> Finding:
    ours, theirs = base.series[metric], candidate.series[metric]
    noise = pair.noise.get(metric)
    judged = times.judge(
        ours,
        theirs,
        margin=policy.margin(metric),
        confidence=policy.confidence,
        equivalence_confidence=policy.equivalence_confidence,
        noise=noise,
    )
    kind: Kind = "memory" if metric.endswith(_UNITS_OF_MEMORY) else "time"
    gating, evidence = metric in GATING_TIMES, both(base, candidate)
    made = _of_judgement(metric, kind, judged, ours.unit, gating=gating, evidence=evidence)
    if judged.verdict in ("regressed", "improved"):
        made = with_rerun(made, judged, pair, policy, noise)
    elif judged.verdict == "unchanged" and pair.rerun is not None:
        made = unless_rerun_regressed(made, pair.rerun, policy, noise)
    if not pair.interleaved:
        # What moved between the two times of measuring may be the machine: neither equal nor better is shown by it.
        sure = made.verdict in ("regressed", "inconclusive")
        made = made._replace(
            verdict=made.verdict if sure else "inconclusive",
            magnitude=made.magnitude if sure else None,
            reasons=(*made.reasons, "not_interleaved"),
        )
    if metric.startswith("compiled.") and (base.facts or {}).get("ran_eager") == "some":
        made = made._replace(
            reasons=(*made.reasons, "ran_eager"), text=f"{made.text}; partly eager on both sides"
        )
    return made


def _from_or_to_none(metric: str, base: Side, candidate: Side) -> Finding:
    """A finding of memory that one side measured to be none at all: it differs, and by no ratio."""
    ours, theirs = (0.0 if took_none(side, metric) else median(side, metric) for side in (base, candidate))
    if ours is None or theirs is None:
        return _not_compared(metric, base, candidate, "not_measured")
    unit = base.series[metric].unit
    few = min(len(side.series[metric].values) for side in (base, candidate)) < LEAST_REPLICAS
    return finding(
        (base, candidate),
        metric,
        "inconclusive" if few else "changed",
        f"{_number(ours)} {unit} -> {_number(theirs)} {unit}",
        (ours, theirs),
        reasons=("too_few_replicas",) if few else (),
        kind="memory",
        gating=False,
        unit=unit,
    )


def _of_judgement(
    metric: str,
    kind: Kind,
    judged: times.TimeJudgement,
    unit: str,
    *,
    gating: bool,
    evidence: tuple[Evidence, ...] = (),
) -> Finding:
    return Finding(
        metric,
        kind,
        judged.verdict,
        gating,
        None,
        judged.base,
        judged.candidate,
        unit,
        _text(judged, unit),
        judged.reasons,
        evidence=evidence,
        estimate=judged.estimate,
        magnitude=judged.magnitude,
        more_replicas=judged.more_replicas,
    )


def _not_compared(metric: str, base: Side, candidate: Side, why: str) -> Finding:
    series = base.series.get(metric) or candidate.series[metric]
    kind: Kind = "memory" if metric.endswith(_UNITS_OF_MEMORY) else "time"
    # What is missing shows by what the other side has.
    values = (median(base, metric), median(candidate, metric)) if why == "not_measured" else (None, None)
    return finding(
        (base, candidate),
        metric,
        "not_compared",
        REASONS[why],
        values,
        reasons=(why,),
        kind=kind,
        gating=metric in GATING_TIMES,
        unit=series.unit,
    )


def _text(judged: times.TimeJudgement, unit: str) -> str:
    if judged.base is None or judged.candidate is None:
        return REASONS[judged.reasons[0]] if judged.reasons else "not measured"
    numbers = f"{_number(judged.base)} {unit} -> {_number(judged.candidate)} {unit}"
    if judged.estimate is None:
        return f"{numbers}, {too_few(judged.more_replicas or 1)}"
    return f"{numbers}, {interval(judged.estimate)}"


def _number(value: float) -> str:
    return f"{value:.4g}" if value < 1e4 else f"{value:.0f}"
