"""The first version at which a workload got worse, from the verdicts of its steps. Pure: no Streamlit, no database."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Final

from app import metric_words, theme
from db.queries.steps import Step
from evaluator.verdicts.answering import wrong_on_both
from evaluator.verdicts.cells import bad, compare_cell, lost_evidence, ran_nothing
from evaluator.verdicts.findings import CellVerdict, Finding
from evaluator.verdicts.measured import judge_measured
from evaluator.verdicts.policy import GATING_TIMES, Policy
from evaluator.verdicts.sides import Pair
from evaluator.verdicts.words import VERDICTS

# Verdicts of a time that say something for sure, once the sides were measured in turns.
_SETTLED: Final = frozenset({"regressed", "improved", "unchanged"})
_POLICY: Final = Policy()
# Steps that are named of those of which something is not known.
MOST_NAMED: Final = 3
# An error can be pages long; Why has all of it.
MOST_SAID: Final = 160


@dataclass(frozen=True)
class Told:
    """What is said of one step: its versions, its bucket, the text, and the evaluations that it rests on."""

    base: str
    candidate: str
    bucket: str
    text: str
    base_evaluation: int
    evaluation: int


@dataclass(frozen=True)
class FirstBad:
    """``worse``: what got worse at the first version at which anything did for sure, a bucket each, the worst first; empty
    where nothing did. Of the steps before it, or of all, of so many ``buckets``: how many are ``known``, those that could
    not be compared in full or were bad before (``gaps``), of how many every time is settled (``timed``), and how many
    were not measured in turns (``apart``)."""

    worse: tuple[Told, ...]
    known: int
    gaps: tuple[Told, ...]
    timed: int
    apart: int = 0
    buckets: int = 1


def first_bad(steps: Sequence[Step]) -> FirstBad:
    """``steps`` as ``db.queries.steps`` gives them, versions in order. An exact fact of the newest evaluations counts as soon
    as it is worse; a time only if a rerun confirmed it, which takes both versions in one run: the newest such run."""
    gaps: list[Told] = []
    before: list[_Judged] = []

    def found(worse: Sequence[Told] = ()) -> FirstBad:
        buckets = len({one.step.pair.cell.bucket for one in before})
        timed, apart = sum(one.timed for one in before), sum(one.step.in_turns is None for one in before)
        return FirstBad(tuple(worse), len(before) - len(gaps), tuple(gaps), timed, apart, max(1, buckets))

    for _, of_version in groupby(steps, key=lambda step: step.candidate):
        judged = [_judged(step) for step in of_version]
        worse = [sure for one in judged if (sure := one.sure) is not None]
        if worse:
            worse.sort(key=lambda one: VERDICTS.index(one[0].verdict))
            return found([told for _, told in worse])
        for one in judged:
            before.append(one)
            if (why := one.gap) is not None:
                gaps.append(why)
    return found()


def _text(finding: Finding) -> str:
    # A time's own text is its numbers alone.
    return f"{metric_words.title(finding.metric)}: {finding.text}" if finding.kind == "time" else finding.text


def said(found: FirstBad, versions: int) -> str:
    """One sentence as Markdown, in which everything recorded is a literal. ``versions``: how many are evaluated."""
    total = found.known + len(found.gaps)
    if found.worse:
        first, more = found.worse[0], len(found.worse) - 1
        rest = f", and {theme.counted(more, 'more bucket')}" if more else ""
        sentence = (
            f"**✗ First bad version: {theme.literal(first.candidate)}**, against {theme.literal(first.base)}: "
            f"{_short(first.text)}{theme.at_bucket(first.bucket)}{rest}."
        )
        return f"{sentence} Before it not known: {_named(found.gaps)}." if found.gaps else sentence
    if versions < 2:
        return "**? First bad version: not known**: one torch version only."
    if not total:
        return "**? First bad version: not known**: no bucket was evaluated under two versions."
    steps = f"{theme.counted(total, 'step')} from version to version"
    if found.buckets > 1:
        steps += f" of {theme.counted(found.buckets, 'bucket')}"
    if found.gaps:
        rest = f"nothing got worse at {found.known} of {steps}. " if found.known else ""
        return f"**? First bad version: not known**: {rest}{_named(found.gaps)}. {_times(found, total)}"
    return f"**✓ First bad version: none**: no exact fact got worse at {steps}. {_times(found, total)}"


def _named(gaps: Sequence[Told]) -> str:
    named = [
        f"{theme.literal(one.base)} to {theme.literal(one.candidate)}{theme.at_bucket(one.bucket)} ({_short(one.text)})"
        for one in gaps
    ]
    return theme.listed(named, MOST_NAMED)


def _short(text: str) -> str:
    return theme.literal(text if len(text) <= MOST_SAID else f"{text[: MOST_SAID - 1]}…")


def _times(found: FirstBad, total: int) -> str:
    if found.timed == total:
        return "Their times are settled as well."
    still = total - found.timed - found.apart
    words = [f"settled at {found.timed} of them" if found.timed else "not settled"]
    if still:
        words.append(f"measured in turns and open at {still}")
    if found.apart:
        words.append(f"from two runs at {found.apart}, which settle nothing (one run of both versions does)")
    return f"Their times are {', '.join(words)}."


@dataclass(frozen=True)
class _Judged:
    """A step with the verdict of its facts, and what is found of times and memory where both versions were measured in turns."""

    step: Step
    facts: CellVerdict
    times: Sequence[Finding]

    @property
    def timed(self) -> bool:
        """Whether every time that counts is settled."""
        found = [one for one in self.times if one.metric in GATING_TIMES]
        return bool(found) and all(one.verdict in _SETTLED for one in found)

    @property
    def sure(self) -> tuple[Finding, Told] | None:
        """The worst of what got worse for sure."""
        facts = [(one, self.step.pair) for one in bad(self.facts.findings)]
        times = [(one, self.step.in_turns) for one in bad(self.times) if one.confirmed]
        found = sorted([*facts, *times], key=lambda one: VERDICTS.index(one[0].verdict))
        return next(((one, self._told(pair, _text(one))) for one, pair in found), None)

    @property
    def gap(self) -> Told | None:
        """Why the step is not known in full; None where every exact fact of it is, was not bad before, and no time is in
        doubt."""
        findings = self.facts.findings
        if not self.facts.compared:
            return self._told(self.step.pair, findings[0].text)
        if lost_evidence(findings):
            lost = next(one for one in findings if one.gating and one.verdict == "not_compared")
            return self._told(self.step.pair, lost.text)
        if wrong_on_both(self.facts):
            return self._told(self.step.pair, "results are wrong on both sides")
        if ran_nothing(findings):
            return self._told(self.step.pair, "nothing compiled ran on either side")
        doubtful = bad(self.times)
        if not doubtful:
            return None
        return self._told(self.step.in_turns, f"{_text(doubtful[0])}, which no rerun confirmed")

    def _told(self, pair: Pair | None, text: str) -> Told:
        assert pair is not None and pair.base is not None and pair.candidate is not None
        sides = pair.base.evaluation, pair.candidate.evaluation
        return Told(self.step.base, self.step.candidate, pair.cell.bucket, text, *sides)


def _judged(step: Step) -> _Judged:
    """Times of two runs settle nothing, so that only those of one are looked at."""
    pair = step.pair
    assert pair.base is not None and pair.candidate is not None
    exact = replace(pair, base=replace(pair.base, series={}), candidate=replace(pair.candidate, series={}))
    facts = compare_cell(exact, _POLICY, different_builds=False, dependencies=1)
    return _Judged(step, facts, () if step.in_turns is None else _measured(step.in_turns))


def _measured(pair: Pair) -> Sequence[Finding]:
    assert pair.base is not None and pair.candidate is not None
    return judge_measured(pair, pair.base, pair.candidate, _POLICY, different_builds=False)
