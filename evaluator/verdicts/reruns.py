"""The second stage of a time: what a fresh rerun of its cell makes of the first stage's finding."""

from __future__ import annotations

from evaluator.verdicts import times
from evaluator.verdicts.comparable import why_not
from evaluator.verdicts.findings import Finding
from evaluator.verdicts.pairs import both
from evaluator.verdicts.policy import Policy
from evaluator.verdicts.sides import Noise, Pair, Side
from evaluator.verdicts.wording import interval
from evaluator.verdicts.words import BAD


def with_rerun(
    first: Finding, judged: times.TimeJudgement, pair: Pair, policy: Policy, noise: Noise | None
) -> Finding:
    """The finding as the second stage leaves it. Sides that were not measured in turns stay unconfirmed whatever it says."""
    owed = first._replace(
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
        return owed._replace(
            rerun=estimate,
            evidence=evidence,
            more_replicas=again.judgement.more_replicas,
            reasons=(*first.reasons, "rerun_undecided"),
            text=f"{first.text}; in a fresh rerun {interval(estimate)}",
        )
    if again.confirmed is None:
        return owed
    if again.confirmed:
        return first._replace(
            confirmed=pair.interleaved,
            rerun=estimate,
            evidence=evidence,
            reasons=(*first.reasons, "rerun_confirmed"),
            text=f"{first.text}; in a fresh rerun {interval(estimate)}",
        )
    return first._replace(
        verdict="inconclusive",
        confirmed=False,
        rerun=estimate,
        evidence=evidence,
        magnitude=None,
        more_replicas=again.judgement.more_replicas,
        reasons=(*first.reasons, "rerun_disagreed"),
        text=f"{first.text}; in a fresh rerun {interval(estimate)}",
    )


def unless_rerun_regressed(
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
    return first._replace(
        verdict="inconclusive",
        rerun=again.estimate,
        evidence=tuple(dict.fromkeys((*first.evidence, *both(base, candidate)))),
        reasons=(*first.reasons, "rerun_disagreed"),
        text=f"{first.text}; in a fresh rerun {interval(again.estimate)}",
    )
