"""How the two evaluations of a cell ended, and findings about a pair of them."""

from __future__ import annotations

from functools import lru_cache

from evaluator.verdicts import diffs
from evaluator.verdicts.findings import Evidence, Finding, Kind
from evaluator.verdicts.sides import Side
from evaluator.verdicts.wording import one_line
from evaluator.verdicts.words import FAILED, NOT_TRIED, Verdict


def both(base: Side, candidate: Side) -> tuple[Evidence, ...]:
    """The two evaluations as evidence."""
    return _evaluations(base.evaluation, candidate.evaluation)


# A cell has twenty findings, which all rest on the same two.
@lru_cache(maxsize=4096)
def _evaluations(base: int, candidate: int) -> tuple[Evidence, ...]:
    return Evidence("evaluation", base, "base"), Evidence("evaluation", candidate, "candidate")


def finding(
    sides: tuple[Side, Side],
    metric: str,
    verdict: Verdict,
    text: str,
    values: tuple[float | int | str | None, float | int | str | None] = (None, None),
    reasons: tuple[str, ...] = (),
    *,
    kind: Kind = "count",
    gating: bool = False,
    unit: str | None = None,
) -> Finding:
    """A finding about (base, candidate), not yet confirmed or not; ``values`` are what it says of each."""
    evidence = both(*sides)
    return Finding(metric, kind, verdict, gating, None, *values, unit, text, reasons, evidence=evidence)


def judge_status(base: Side, candidate: Side) -> Finding:
    """How the two evaluations ended: ``newly_failing``, ``fixed``, or why there is nothing to compare."""
    ours, theirs = base.status, candidate.status

    def said(verdict: Verdict, text: str, *reasons: str, gating: bool = True) -> Finding:
        shown = (ours or "unfinished", theirs or "unfinished")
        return finding(
            (base, candidate), "status", verdict, text, shown, reasons, kind="status", gating=gating
        )

    if ours is None or theirs is None:
        return said("not_compared", "the evaluation of a side was not finished", "not_measured")
    if ours in NOT_TRIED or theirs in NOT_TRIED:
        untried = candidate if theirs in NOT_TRIED else base
        return said("not_compared", untried.reason or f"{untried.status} on one side", "unsupported")
    if ours in FAILED and theirs in FAILED:
        same = "the same way" if ours == theirs else f"as {ours} and as {theirs}"
        return said("not_compared", f"both sides failed {same}: {failure_of(candidate)}", "both_failed")
    if theirs in FAILED:
        return said("newly_failing", f"{theirs} on the candidate only: {failure_of(candidate)}")
    if ours in FAILED:
        return said("fixed", f"{ours} on the base only: {failure_of(base)}")
    if ours != theirs:
        return said("changed", f"{ours} -> {theirs}: {candidate.reason or base.reason or ''}", gating=False)
    return said("unchanged", f"{ours} on both sides")


def failure_of(side: Side) -> str:
    """Why a side failed, one line: what was raised, else the reason of its status."""
    return one_line(diffs.error_text(side.failure)) or one_line(side.reason) or "no reason recorded"
