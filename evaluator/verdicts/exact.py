"""Exact things: how an evaluation ended, counts of what the compiler did, sets of kernels and of differences in form.

They are compared as they are, only where both sides compiled, and a difference needs one fresh rerun: where that
disagrees, the fact is ``flaky``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from evaluator.verdicts.accuracy import judge_accuracy
from evaluator.verdicts.findings import Differences, Finding
from evaluator.verdicts.generated import judge_generated
from evaluator.verdicts.launched import judge_launched
from evaluator.verdicts.pairs import finding, judge_status
from evaluator.verdicts.sides import Side
from evaluator.verdicts.wording import normalised
from evaluator.verdicts.words import BAD, Verdict

# Facts of which more is worse: metric -> what it is called.
_WORSE_IF_MORE: Final[Mapping[str, str]] = {
    "nothing_compiled": "nothing compiled",
    "ran_eager": "compiled regions that ran eager",
    "recompile_limit_hit": "recompile limit hit",
    "graph_breaks": "graph breaks",
    "recompiles": "recompiles",
    "second_walk_compiles": "compiles in the second walk",
}
_WORDS: Final = {"none": 0, "some": 1, "all": 2}
# These stand even where a side compiled nothing: they are what says so.
_SAY_WHAT_RAN: Final = frozenset({"nothing_compiled", "ran_eager", "recompile_limit_hit"})
_IDLE: Final = {"nothing_compiled": "compiled nothing", "ran_eager": "ran eager"}
# What tells how much of the generated code ran: on a card that is not there nothing does.
_WHAT_RAN: Final = frozenset({"ran_eager"})
# Facts without a direction.
_NEUTRAL: Final[Mapping[str, str]] = {
    "graphs": "graphs",
    "ops": "captured operators",
    "break_events": "graph breaks as they happened",
    "dynamic_symbols": "sizes that became symbols",
    "backward_graphs": "backward graphs",
    "guards": "guards",
}

Facts = Mapping[str, Any]
Sides = tuple[Side, Side]


def judge_exact(
    base: Side, candidate: Side, differences: Differences, *, codegen: bool = False
) -> tuple[Finding, ...]:
    """Every exact finding of one pair: ``status``, accuracy and drift, facts, kernels, differences in form.

    Gating are the status, accuracy, and the facts of which more is worse. Whether a bad one is confirmed is not said
    here: see ``with_rerun``. ``codegen``: nothing generated ran there, so what ran is not asked.
    """
    sides = (base, candidate)
    status = judge_status(base, candidate)
    if status.verdict in ("newly_failing", "fixed", "not_compared"):
        return (status,)
    found = [status, *judge_accuracy(base, candidate), *_forms(sides)]
    if base.facts is None or candidate.facts is None:
        lost = "both sides" if base.facts is candidate.facts else "a side"
        text = f"the trace of {lost} was lost, so what the compiler did is not compared"
        return (
            *found,
            finding(sides, "facts", "not_compared", text, reasons=("evidence_lost",), gating=True),
        )
    found += _directed(sides, base.facts, candidate.facts, differences, _WHAT_RAN if codegen else frozenset())
    # Where one side only ran what earlier buckets left, its graphs and kernels are counted with those.
    if bool(base.facts.get("reused_code")) == bool(candidate.facts.get("reused_code")):
        found += _neutral(sides, base.facts, candidate.facts)
        found += judge_generated(sides, differences)
    return (*found, *judge_launched(sides))


def with_rerun(first: Iterable[Finding], again: Iterable[Finding] | None) -> tuple[Finding, ...]:
    """The findings with what a fresh rerun says of each: confirmed, ``flaky``, or still owed one."""
    found = {one.metric: one for one in again or ()}
    return tuple(_confirmed(one, found.get(one.metric)) for one in first)


def _confirmed(first: Finding, again: Finding | None) -> Finding:
    if first.verdict == "not_compared":
        return first
    if again is None or again.verdict == "not_compared":
        # Also where the rerun could not judge: it neither found it again nor failed to.
        bad = first.verdict in BAD
        return first._replace(confirmed=False, reasons=(*first.reasons, "not_rerun")) if bad else first
    evidence = tuple(dict.fromkeys((*first.evidence, *again.evidence)))
    if again.verdict == first.verdict:
        if first.verdict == "unchanged":
            return first
        return first._replace(confirmed=True, reasons=(*first.reasons, "rerun_confirmed"), evidence=evidence)
    return first._replace(
        evidence=evidence,
        verdict="flaky",
        confirmed=False,
        reasons=(*first.reasons, "rerun_disagreed"),
        text=f"{first.text}; in a fresh rerun: {again.text}",
    )


def _directed(
    sides: Sides, ours: Facts, theirs: Facts, differences: Differences, unasked: frozenset[str]
) -> list[Finding]:
    """``unasked``: facts that are no evidence lost where both sides have none."""
    idle = _ran_nothing(ours, theirs)
    found = []
    for metric, name in _WORSE_IF_MORE.items():
        one, other = ours.get(metric), theirs.get(metric)
        shown = (_shown(one), _shown(other))
        if (metric not in ours and metric not in theirs) or (metric in unasked and one is other is None):
            # Neither recorder knew this fact.
            continue
        if one is None or other is None:
            where = "both sides" if one is other else "one side"
            text, why = f"{name}: unknown on {where}", "evidence_lost"
            found.append(finding(sides, metric, "not_compared", text, shown, (why,), gating=True))
        elif idle is not None and metric not in _SAY_WHAT_RAN:
            text = f"{name}: not comparable where a side {_IDLE[idle]}"
            found.append(finding(sides, metric, "not_compared", text, shown, (idle,), gating=True))
        else:
            found.append(_directed_one(sides, metric, _rank(other) - _rank(one), shown, differences))
    return found


def _directed_one(
    sides: Sides,
    metric: str,
    more: float,
    shown: tuple[int | str | None, int | str | None],
    differences: Differences,
) -> Finding:
    name = _WORSE_IF_MORE[metric]
    if more:
        verdict: Verdict = "regressed" if more > 0 else "improved"
        gone = _gone(metric, differences) if verdict == "improved" else ()
        return finding(sides, metric, verdict, f"{name}: {shown[0]} -> {shown[1]}", shown, gone, gating=True)
    text = f"{name}: {shown[0]} on both sides"
    swapped = _swapped(metric, differences)
    if swapped:
        return finding(sides, metric, "changed", f"{text}, {swapped}", shown)
    return finding(sides, metric, "unchanged", text, shown, gating=True)


def _gone(metric: str, differences: Differences) -> tuple[str, ...]:
    """The code for what the candidate no longer has, where a row of the base shows it."""
    if metric == "graph_breaks" and any(one.change == "removed" for one in differences.breaks):
        return ("break_gone",)
    if metric == "recompiles" and any(one.change == "removed" for one in differences.guards):
        return ("recompile_gone",)
    return ()


def _ran_nothing(base: Facts, candidate: Facts) -> str | None:
    """The reason why counts of a side mean nothing: no breaks where nothing was compiled is no clean bill.

    What got as far on both sides before all of it ran eager can be compared.
    """
    if base.get("nothing_compiled") or candidate.get("nothing_compiled"):
        return "nothing_compiled"
    all_eager = [one.get("ran_eager") == "all" for one in (base, candidate)]
    return "ran_eager" if all_eager[0] != all_eager[1] else None


def _swapped(metric: str, differences: Differences) -> str | None:
    """What an equal count hides: as many, and others."""
    if metric == "graph_breaks" and any(one.change != "moved" for one in differences.breaks):
        return "for other reasons or in other functions"
    if metric == "recompiles" and differences.guards:
        return "for other guards"
    return None


def _neutral(sides: Sides, ours: Facts, theirs: Facts) -> list[Finding]:
    found = []
    for metric, name in _NEUTRAL.items():
        one, other = ours.get(metric), theirs.get(metric)
        if one is None or other is None:
            continue
        verdict: Verdict = "unchanged" if one == other else "changed"
        text = f"{name}: {one} on both sides" if one == other else f"{name}: {one} -> {other}"
        found.append(finding(sides, metric, verdict, text, (_shown(one), _shown(other))))
    return found


def _forms(sides: Sides) -> list[Finding]:
    """Leaves whose strides, aliasing or type differ from eager's: which ones, and how."""
    ours, theirs = (_form_set(side) for side in sides)
    counts = (len(ours), len(theirs))
    if counts == (0, 0):
        return []
    if ours == theirs:
        text = f"outputs differ from eager's in form in the same {counts[0]} ways"
        return [finding(sides, "differences", "unchanged", text, counts, kind="set")]
    said = [
        f"{word}: {kind} of {leaf} ({eager} in eager, {compiled} compiled)"
        for side, others, word in ((sides[1], ours, "new"), (sides[0], theirs, "gone"))
        for leaf, kind, eager, compiled in side.differences
        if _form((leaf, kind, eager, compiled)) not in others
    ]
    text = f"how outputs differ from eager's in form: {'; '.join(said[:3])}"
    return [finding(sides, "differences", "changed", text, counts, kind="set")]


def _form_set(side: Side) -> set[str]:
    return {_form(one) for one in side.differences}


def _form(difference: tuple[str, str, str, str]) -> str:
    return normalised(" | ".join(difference))


def _rank(value: Any) -> float:
    """A fact as a number of which more is worse."""
    return _WORDS.get(value, 0) if isinstance(value, str) else float(value)


def _shown(value: Any) -> int | str | None:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return value if value is None or isinstance(value, int | str) else str(value)
