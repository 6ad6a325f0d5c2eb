"""Times and memory of a cell's two evaluations: whether they can be compared, the verdict, and what a rerun says."""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from evaluator.verdicts import times
from evaluator.verdicts.findings import Estimate, Finding, Kind
from evaluator.verdicts.pairs import both, finding
from evaluator.verdicts.policy import DIAGNOSTIC_MEMORY, DIAGNOSTIC_TIMES, GATING_TIMES, Policy
from evaluator.verdicts.sides import EnvironmentSide, Noise, Pair, Series, Side
from evaluator.verdicts.wording import too_few
from evaluator.verdicts.words import BAD, FAILED, REASONS

_SERIAL: Final = "compile.cold_serial_s"
# The cold compile that users see is the noisier one: it explains where the steadier one was measured on both sides.
_STANDS_IN_FOR: Final = {"compile.cold_s": _SERIAL}
_UNITS_OF_MEMORY: Final = "_mb"


def judge_measured(
    pair: Pair, base: Side, candidate: Side, policy: Policy, different_builds: bool
) -> list[Finding]:
    """A finding for each time and memory figure that a side has, in the order of the policy.

    ``different_builds``: the sides' torch were built for other devices, so host memory says nothing of a version.
    """
    found = []
    for metric in (*GATING_TIMES, *DIAGNOSTIC_TIMES, *DIAGNOSTIC_MEMORY):
        if metric not in base.series and metric not in candidate.series:
            continue
        why = why_not(metric, base, candidate, different_builds)
        if why is None:
            judged = _judged(metric, pair, base, candidate, policy)
        else:
            judged = _not_compared(metric, base, candidate, why)
        found.append(judged)
    steadier = {one.metric for one in found if one.verdict != "not_compared"}
    return [
        replace(one, gating=False) if _STANDS_IN_FOR.get(one.metric) in steadier else one for one in found
    ]


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
                made = replace(made, reasons=(*made.reasons, "not_interleaved"))
        found.append(made)
    return tuple(found)


def why_not(metric: str, base: Side, candidate: Side, different_builds: bool) -> str | None:
    """The reason why this metric can't be compared between these two; None where it can."""
    sides = (base, candidate)
    failed = [side for side in sides if side.status in FAILED]
    if failed:
        return "both_failed" if len(failed) == 2 else "one_side_failed"
    if base.machine != candidate.machine:
        return "different_machine"
    if different_builds and metric in DIAGNOSTIC_MEMORY:
        return "different_builds"
    series = [side.series.get(metric) for side in sides]
    if any(one is not None and "nothing_compiled" in one.flags for one in series):
        return "nothing_compiled"
    if metric.startswith("compiled."):
        # Its own process said what ran: such a time is none of compiled code.
        facts = [side.facts or {} for side in sides]
        if any(one.get("nothing_compiled") for one in facts):
            return "nothing_compiled"
        eager = [one.get("ran_eager") for one in facts]
        # Partly eager on both sides is one kind of code, and how much of it is eager shows in its time alone.
        if eager != ["some", "some"] and any(one in ("some", "all") for one in eager):
            return "ran_eager"
    for side, one in zip(sides, series, strict=True):
        if not times.measured(one):
            return "not_comparable" if side.status == "not_comparable" else "not_measured"
    return None


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
    made = replace(
        _of_judgement(metric, kind, judged, ours.unit, gating=metric in GATING_TIMES),
        evidence=finding((base, candidate), metric, judged.verdict, "").evidence,
    )
    if judged.verdict in ("regressed", "improved"):
        made = _with_rerun(made, judged, pair, policy, noise)
    elif judged.verdict == "unchanged" and pair.rerun is not None:
        made = _unless_rerun_regressed(made, pair.rerun, policy, noise)
    if not pair.interleaved:
        made = replace(made, reasons=(*made.reasons, "not_interleaved"))
    if metric.startswith("compiled.") and (base.facts or {}).get("ran_eager") == "some":
        made = replace(
            made, reasons=(*made.reasons, "ran_eager"), text=f"{made.text}; partly eager on both sides"
        )
    return made


def _with_rerun(
    first: Finding, judged: times.TimeJudgement, pair: Pair, policy: Policy, noise: Noise | None
) -> Finding:
    """The finding as the second stage leaves it. Sides that were not measured in turns stay unconfirmed whatever it says."""
    owed = replace(
        first,
        confirmed=False if first.verdict in BAD else None,
        reasons=(*first.reasons, "not_rerun") if first.verdict in BAD else first.reasons,
    )
    if pair.rerun is None or why_not(first.metric, *pair.rerun, different_builds=False) is not None:
        return owed
    base, candidate = pair.rerun
    again = times.judge_rerun(
        judged,
        base.series.get(first.metric),
        candidate.series.get(first.metric),
        margin=policy.margin(first.metric),
        confidence=policy.rerun_confidence,
        equivalence_confidence=policy.equivalence_confidence,
        noise=noise,
    )
    estimate = again.judgement.estimate
    evidence = tuple(dict.fromkeys((*first.evidence, *both(base, candidate))))
    if again.confirmed is None and estimate is not None:
        return replace(
            owed,
            rerun=estimate,
            evidence=evidence,
            more_replicas=again.judgement.more_replicas,
            reasons=(*first.reasons, "rerun_undecided"),
            text=f"{first.text}; in a fresh rerun {_interval(estimate)}",
        )
    if again.confirmed is None:
        return owed
    if again.confirmed:
        return replace(
            first,
            confirmed=pair.interleaved,
            rerun=estimate,
            evidence=evidence,
            reasons=(*first.reasons, "rerun_confirmed"),
            text=f"{first.text}; in a fresh rerun {_interval(estimate)}",
        )
    return replace(
        first,
        verdict="inconclusive",
        confirmed=False,
        rerun=estimate,
        evidence=evidence,
        magnitude=None,
        more_replicas=again.judgement.more_replicas,
        reasons=(*first.reasons, "rerun_disagreed"),
        text=f"{first.text}; in a fresh rerun {_interval(estimate)}",
    )


def _unless_rerun_regressed(
    first: Finding, rerun: tuple[Side, Side], policy: Policy, noise: Noise | None
) -> Finding:
    """An unchanged time, unless the same cell's fresh rerun regressed: then the two are at odds, and nothing is shown."""
    if why_not(first.metric, *rerun, different_builds=False) is not None:
        return first
    base, candidate = rerun
    again = times.judge(
        base.series.get(first.metric),
        candidate.series.get(first.metric),
        margin=policy.margin(first.metric),
        confidence=policy.rerun_confidence,
        equivalence_confidence=policy.equivalence_confidence,
        noise=noise,
    )
    if again.verdict != "regressed":
        return first
    return replace(
        first,
        verdict="inconclusive",
        rerun=again.estimate,
        evidence=tuple(dict.fromkeys((*first.evidence, *both(base, candidate)))),
        reasons=(*first.reasons, "rerun_disagreed"),
        text=f"{first.text}; in a fresh rerun {_interval(again.estimate)}",
    )


def _of_judgement(
    metric: str, kind: Kind, judged: times.TimeJudgement, unit: str, *, gating: bool
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
        estimate=judged.estimate,
        magnitude=judged.magnitude,
        more_replicas=judged.more_replicas,
    )


def _not_compared(metric: str, base: Side, candidate: Side, why: str) -> Finding:
    series = base.series.get(metric) or candidate.series[metric]
    kind: Kind = "memory" if metric.endswith(_UNITS_OF_MEMORY) else "time"
    # What is missing shows by what the other side has.
    values = (_median(base, metric), _median(candidate, metric)) if why == "not_measured" else (None, None)
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


def _median(side: Side, metric: str) -> float | None:
    series: Series | None = side.series.get(metric)
    return statistics.median(series.values) if series is not None and times.measured(series) else None


def _text(judged: times.TimeJudgement, unit: str) -> str:
    if judged.base is None or judged.candidate is None:
        return REASONS[judged.reasons[0]] if judged.reasons else "not measured"
    numbers = f"{_number(judged.base)} {unit} -> {_number(judged.candidate)} {unit}"
    if judged.estimate is None:
        return f"{numbers}, {too_few(judged.more_replicas or 1)}"
    return f"{numbers}, {_interval(judged.estimate)}"


def _interval(estimate: Estimate | None) -> str:
    if estimate is None:
        return "nothing could be told"
    return f"{estimate.ratio:.3f} times ({estimate.low:.3f} to {estimate.high:.3f})"


def _number(value: float) -> str:
    return f"{value:.4g}" if value < 1e4 else f"{value:.0f}"
