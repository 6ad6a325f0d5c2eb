"""The first version at which a workload got worse, from the verdicts of its steps. Pure: no Streamlit, no database."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Final

from app import metric_words, theme
from db.queries.steps import Step
from evaluator.verdicts.cells import bad, compare_cell, lost_evidence
from evaluator.verdicts.findings import CellVerdict, Finding
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
    where nothing did. Of the steps before it, or of all: how many are ``known``, those that could not be compared in
    full (``gaps``), and of how many every time is settled."""

    worse: tuple[Told, ...]
    known: int
    gaps: tuple[Told, ...]
    timed: int


def first_bad(steps: Sequence[Step]) -> FirstBad:
    """``steps`` as ``db.queries.steps`` gives them, versions in order. An exact fact counts as soon as it is worse; a time
    only if a rerun confirmed it, which takes both versions in one run."""
    known, timed = 0, 0
    gaps: list[Told] = []
    for _, of_version in groupby(steps, key=lambda step: step.candidate):
        judged = [(step, _judged(step.pair)) for step in of_version]
        worse = [(step, found) for step, cell in judged if (found := _sure(cell)) is not None]
        if worse:
            worse.sort(key=lambda one: VERDICTS.index(one[1].verdict))
            return FirstBad(tuple(_told(step, _text(one)) for step, one in worse), known, tuple(gaps), timed)
        for step, cell in judged:
            why = _gap(cell)
            known += why is None
            timed += _timed(cell)
            if why is not None:
                gaps.append(_told(step, why))
    return FirstBad((), known, tuple(gaps), timed)


def _text(finding: Finding) -> str:
    # A time's own text is its numbers alone.
    return f"{metric_words.title(finding.metric)}: {finding.text}" if finding.kind == "time" else finding.text


def _told(step: Step, text: str) -> Told:
    base, candidate = step.pair.base, step.pair.candidate
    assert base is not None and candidate is not None
    return Told(step.base, step.candidate, step.pair.cell.bucket, text, base.evaluation, candidate.evaluation)


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
    of = f"settled at {found.timed} of them" if found.timed else "not known"
    return f"Times are {of}: only a run of both versions settles one."


def _judged(pair: Pair) -> CellVerdict:
    """The verdict of a step. Times of two runs settle nothing, so that only those of one are looked at."""
    if not pair.interleaved and pair.base is not None and pair.candidate is not None:
        pair = replace(pair, base=replace(pair.base, series={}), candidate=replace(pair.candidate, series={}))
    return compare_cell(pair, _POLICY, different_builds=False, dependencies=1)


def _sure(cell: CellVerdict) -> Finding | None:
    """The worst of what got worse for sure."""
    found = (one for one in bad(cell.findings) if one.confirmed or one.kind not in ("time", "memory"))
    return next(found, None)


def _gap(cell: CellVerdict) -> str | None:
    """Why a step is not known in full; None where every exact fact of it is, and no time is in doubt."""
    if not cell.compared:
        return cell.findings[0].text
    if lost_evidence(cell.findings):
        return next(one.text for one in cell.findings if one.gating and one.verdict == "not_compared")
    doubtful = bad(cell.findings)
    return f"{_text(doubtful[0])}, which no rerun confirmed" if doubtful else None


def _timed(cell: CellVerdict) -> bool:
    times = [one for one in cell.findings if one.metric in GATING_TIMES]
    return bool(times) and all(one.verdict in _SETTLED for one in times)
