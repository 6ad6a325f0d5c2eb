"""The verdict of one cell: every finding about its two evaluations, what differs between them, and why."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from evaluator.verdicts import causes
from evaluator.verdicts.diffs import differences_of
from evaluator.verdicts.exact import judge_exact, with_rerun
from evaluator.verdicts.findings import Cause, CellVerdict, Differences, Evidence, Finding
from evaluator.verdicts.generated import NEUTRAL
from evaluator.verdicts.measured import judge_measured
from evaluator.verdicts.policy import Policy
from evaluator.verdicts.sides import Pair, Side
from evaluator.verdicts.words import BAD, REASONS, VERDICTS, Verdict

# Stands for the definition of a workload whose source could not be loaded.
NOT_LOADED: Final = "-"
# Findings that, where both sides have them, say that nothing compiled ran.
_IDLE: Final = frozenset({("ran_eager", "all"), ("nothing_compiled", "yes")})
_RANKS: Final = {verdict: rank for rank, verdict in enumerate(VERDICTS)}
# What a cell may not claim where a part of its evidence is missing.
_BETTER: Final[frozenset[Verdict]] = frozenset({"changed", "improved", "fixed", "unchanged"})


def compare_cell(
    pair: Pair,
    policy: Policy,
    *,
    different_builds: bool,
    dependencies: int,
    one_run: bool = False,
    same_environment: bool = False,
) -> CellVerdict:
    """Compare one cell's two evaluations.

    The cell's verdict is the worst of its gating findings that compared something; ``not_compared`` where none did. It is
    ``inconclusive`` at best where ``lost_evidence``, and not ``unchanged`` where both sides ran nothing compiled or the
    times are of different machines.
    A bad finding is confirmed by a rerun only; a rerun that disagrees makes a time ``inconclusive`` and an exact fact
    ``flaky``. ``different_builds``: see ``environments``; ``dependencies``: how many moved; ``one_run``: both sides
    were given the same workload sources, so that one that only one side could load is a finding; ``same_environment``:
    nothing at all differs between the environments.
    """
    if pair.base is None or pair.candidate is None:
        return _one_sided(pair, one_run)
    if pair.base_definition != pair.candidate_definition:
        return _verdict(pair, [_nothing(pair, "definition_changed")], Differences())
    differences = differences_of(pair.base, pair.candidate)
    codegen = pair.cell.codegen
    exact = with_rerun(
        judge_exact(pair.base, pair.candidate, differences, codegen=codegen),
        judge_exact(*pair.rerun, differences_of(*pair.rerun), codegen=codegen) if pair.rerun else None,
    )
    measured = judge_measured(pair, pair.base, pair.candidate, policy, different_builds)
    case = causes.Case(pair, pair.base, pair.candidate, differences, dependencies, same_environment)
    found = [_with_cause(one, case) if one.verdict in BAD else one for one in (*exact, *measured)]
    return _verdict(pair, _with_kernels(found) if codegen else found, differences)


def worst(findings: Iterable[Finding]) -> Verdict:
    """The worst verdict of the gating findings that compared something; ``not_compared`` where there is none."""
    words = {one.verdict for one in findings if one.gating} - {"not_compared"}
    return min(words, key=VERDICTS.index, default="not_compared")


def _with_kernels(found: Sequence[Finding]) -> Sequence[Finding]:
    """Where no times exist, other kernels are all that a cell has to say: without a direction, and not unchanged."""
    if worst(found) != "unchanged":
        return found
    return [
        one._replace(gating=True) if one.metric in NEUTRAL and one.verdict == "changed" else one
        for one in found
    ]


def bad(findings: Iterable[Finding]) -> list[Finding]:
    """The findings that count against the candidate."""
    return [one for one in findings if one.gating and one.verdict in BAD]


def confirmed_regressions(cell: CellVerdict) -> list[Finding]:
    """The findings that count against the candidate and that a rerun confirmed."""
    return [one for one in bad(cell.findings) if one.confirmed]


def lost_evidence(findings: Iterable[Finding]) -> bool:
    """Whether something that gates is known of one side only, or a trace was lost: what is missing may be a regression."""
    return any(_lost(one) for one in findings if one.gating and one.verdict == "not_compared")


def _lost(finding: Finding) -> bool:
    shown = (finding.base, finding.candidate)
    if "not_measured" in finding.reasons:
        return finding.metric == "status" or shown.count(None) == 1
    if "not_comparable" in finding.reasons and finding.metric == "accuracy":
        return shown.count("not_comparable") == 1
    return "evidence_lost" in finding.reasons


def ran_nothing(findings: Iterable[Finding]) -> bool:
    """Whether both sides ran nothing that was compiled, so that equal facts say nothing of the compiler."""
    return any((one.metric, one.base) in _IDLE and one.base == one.candidate for one in findings)


def _says_little(findings: Sequence[Finding]) -> bool:
    """Whether equal facts are all there is: nothing compiled ran, or the times are of different machines."""
    elsewhere = any(one.gating and "different_machine" in one.reasons for one in findings)
    return elsewhere or ran_nothing(findings)


def _with_cause(finding: Finding, case: causes.Case) -> Finding:
    cause = causes.cause_of(finding, case)
    said = [cause.code] if cause.code and cause.code not in finding.reasons else []
    if case.dependencies > 1 and "several_dependencies_moved" not in said:
        said.append("several_dependencies_moved")
    if case.same_environment and "same_environment" not in said:
        said.append("same_environment")
    return finding._replace(cause=cause, reasons=(*finding.reasons, *said))


def _one_sided(pair: Pair, one_run: bool) -> CellVerdict:
    broken = pair.candidate if pair.base is None else pair.base
    definition = pair.candidate_definition if pair.base is None else pair.base_definition
    if broken is None or not one_run or definition != NOT_LOADED:
        return _verdict(pair, [_nothing(pair, "one_side_missing")], Differences())
    side = "candidate" if pair.base is None else "base"
    evidence = (Evidence("evaluation", broken.evaluation, side),)
    text = f"can't be loaded on the {side} only: {broken.reason or 'no reason recorded'}"
    made = Finding("status", "status", "fixed", True, None, None, None, None, text, evidence=evidence)
    if side == "candidate":
        # Loading is done once by the interpreter itself before anything is measured: a rerun would load it no better.
        cause = Cause("new_error", text, evidence)
        made = made._replace(verdict="newly_failing", confirmed=True, cause=cause, reasons=("new_error",))
    return _verdict(pair, [made], Differences())


def _nothing(pair: Pair, why: str) -> Finding:
    sides: tuple[tuple[str, Side | None], ...] = (("base", pair.base), ("candidate", pair.candidate))
    evidence = tuple(
        Evidence("evaluation", side.evaluation, name) for name, side in sides if side is not None
    )
    missing = [name for name, side in sides if side is None]
    text = f"the {missing[0]} did not evaluate this cell" if missing else REASONS[why]
    return Finding(
        "status", "status", "not_compared", True, None, None, None, None, text, (why,), evidence=evidence
    )


def _verdict(pair: Pair, findings: Sequence[Finding], differences: Differences) -> CellVerdict:
    word = worst(findings)
    if (word in _BETTER and lost_evidence(findings)) or (word == "unchanged" and _says_little(findings)):
        word = "inconclusive"
    deciding = [one for one in findings if one.gating and one.verdict == word]
    confirmed: bool | None = None
    if word in BAD:
        confirmed = any(one.confirmed for one in deciding)
    return CellVerdict(
        cell=pair.cell,
        verdict=word,
        confirmed=confirmed,
        findings=tuple(sorted(findings, key=_order)),
        differences=differences,
        base_evaluation=pair.base.evaluation if pair.base else None,
        candidate_evaluation=pair.candidate.evaluation if pair.candidate else None,
        training=pair.training,
    )


def _order(finding: Finding) -> tuple[int, bool, bool]:
    """Worst first; of equal ones those that gate, and the confirmed, come first."""
    return _RANKS[finding.verdict], not finding.gating, not finding.confirmed
