"""The whole comparison: the answer to "may I upgrade?", what is owed a rerun, and what is worth explaining."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Final

from evaluator.verdicts import environments
from evaluator.verdicts.cells import bad, compare_cell
from evaluator.verdicts.findings import CellVerdict, Finding, Verdicts
from evaluator.verdicts.measured import judge_environment
from evaluator.verdicts.policy import ENVIRONMENT_TIMES, GATING_TIMES, Policy
from evaluator.verdicts.sides import CellName, EnvironmentSide, KernelUse, Pair, Side
from evaluator.verdicts.wording import listed
from evaluator.verdicts.words import VERDICTS, Answer

# Regressions in more than this part of the compared workloads are no exceptions.
HOLD_SHARE: Final = 0.25
# With a smaller part of the gating times settled, "no regression" would only say that nobody looked.
SETTLED_SHARE: Final = 0.5

_SETTLED: Final = frozenset({"regressed", "improved", "unchanged"})
# Not compared for a reason that more or other measuring could have avoided: it counts as not settled.
_AVOIDABLE: Final = frozenset({"different_machine", "not_measured"})

_DEFAULT: Final = Policy()


@dataclass(frozen=True)
class Candidates:
    """Cells with a bad finding that a rerun has to confirm. One with both kinds is under ``times`` only."""

    times: tuple[CellName, ...] = ()
    exact: tuple[CellName, ...] = ()


def compare(
    base: EnvironmentSide, candidate: EnvironmentSide, pairs: Iterable[Pair], policy: Policy = _DEFAULT
) -> Verdicts:
    """Compare two environments over these cells.

    The answer, by the first rule that holds:

    1. ``Hold``: a confirmed accuracy regression, or confirmed regressions (of any kind, newly failing included) in more
       than a quarter of the compared workloads. Correctness outranks speed.
    2. ``Not enough evidence``: no cell was compared; or, leaving out the workloads with confirmed regressions, a bad
       finding is unconfirmed, or fewer than half of the gating times are settled (unchanged, improved, regressed).
    3. ``Upgrade except``: the workloads with confirmed regressions.
    4. ``Upgrade``.

    The second comes before the third so that a regression never makes the answer better: that all is well except
    for one workload is a claim about the others. ``excepted`` names the workloads with confirmed regressions whatever
    the answer. Only gating findings count.
    """
    changes = environments.moved(base.fields, candidate.fields)
    builds = environments.different_builds(base.fields, candidate.fields)
    cells = [
        compare_cell(
            pair,
            policy,
            different_builds=builds,
            dependencies=len(environments.dependencies(changes)),
            one_run=base.run == candidate.run,
        )
        for pair in with_carried_kernels(pairs)
    ]
    cells.sort(key=_order)
    excepted = tuple(dict.fromkeys(cell.cell.workload for cell in cells if _confirmed(cell)))
    answer, why = _answer(cells, excepted)
    compared = sum(1 for cell in cells if cell.compared)
    found = Counter(cell.verdict for cell in cells)
    return Verdicts(
        base=base.label,
        candidate=candidate.label,
        moved=changes,
        warnings=environments.warnings_of(
            changes, base.fields, candidate.fields, base.machine == candidate.machine
        ),
        cells=tuple(cells),
        environment=judge_environment(base, candidate, ENVIRONMENT_TIMES, policy, builds),
        answer=answer,
        answer_text=f"{_title(answer, excepted)}: {why}; {compared} of {len(cells)} cells compared.",
        excepted=excepted,
        compared=compared,
        total=len(cells),
        counts={verdict: found[verdict] for verdict in VERDICTS if found[verdict]},
    )


def with_carried_kernels(pairs: Iterable[Pair]) -> Iterator[Pair]:
    """The pairs, in the order of their buckets, where a bucket that compiled nothing has the kernels it runs.

    Those are what earlier buckets of the same workload, variant and target left, and without them nothing could be
    said of its code.
    """
    left: dict[tuple[str, str, str], tuple[tuple[KernelUse, ...], tuple[KernelUse, ...]]] = {}
    for pair in pairs:
        walk = (pair.cell.workload, pair.cell.variant, pair.cell.target)
        before = left.get(walk, ((), ()))
        base, candidate = _carried(pair.base, before[0]), _carried(pair.candidate, before[1])
        left[walk] = (
            before[0] + (pair.base.kernels if pair.base else ()),
            before[1] + (pair.candidate.kernels if pair.candidate else ()),
        )
        yield replace(pair, base=base, candidate=candidate)


def _carried(side: Side | None, kernels: tuple[KernelUse, ...]) -> Side | None:
    if side is None or side.kernels or not (side.facts or {}).get("reused_code"):
        return side
    return replace(side, kernels=kernels)


def candidates(verdicts: Verdicts) -> Candidates:
    """The cells to rerun: those with bad findings that are neither confirmed nor contradicted yet."""
    times: list[CellName] = []
    exact: list[CellName] = []
    for cell in verdicts.cells:
        kinds = {one.kind for one in bad(cell.findings) if not one.confirmed and "not_rerun" in one.reasons}
        if "time" in kinds:
            times.append(cell.cell)
        elif kinds:
            exact.append(cell.cell)
    return Candidates(tuple(times), tuple(exact))


def explainable(verdicts: Verdicts) -> tuple[CellName, ...]:
    """The cells with confirmed regressions, worst first: those worth climbing the ladder for.

    A workload that could not be loaded has nothing to climb.
    """
    return tuple(
        cell.cell for cell in verdicts.cells if _confirmed(cell) and cell.base_evaluation is not None
    )


def _answer(cells: list[CellVerdict], excepted: tuple[str, ...]) -> tuple[Answer, str]:
    """The answer and the clause that says why."""
    compared = {cell.cell.workload for cell in cells if cell.compared}
    wrong = [cell.cell.workload for cell in cells if any(one.kind == "accuracy" for one in _confirmed(cell))]
    if wrong:
        return "Hold", f"wrong results that are right on the base, in {_names(wrong)}"
    if len(excepted) > HOLD_SHARE * len(compared):
        return (
            "Hold",
            f"confirmed regressions in {len(excepted)} of {len(compared)} workloads ({_names(excepted)})",
        )
    if not compared:
        return "Not enough evidence", "nothing could be compared"
    rest = [cell for cell in cells if cell.cell.workload not in excepted]
    besides = f", besides confirmed regressions in {_names(excepted)}" if excepted else ""
    doubtful = list(dict.fromkeys(cell.cell.workload for cell in rest if bad(cell.findings)))
    if doubtful:
        return "Not enough evidence", f"unconfirmed regressions in {_names(doubtful)}{besides}"
    times = [one for cell in rest for one in cell.findings if _counts_as_time(one)]
    settled = sum(1 for one in times if one.verdict in _SETTLED)
    said = f"{settled} of {len(times)} times settled" if times else "no times measured"
    if settled < SETTLED_SHARE * len(times):
        return "Not enough evidence", f"only {said}{besides}"
    if excepted:
        return "Upgrade except", f"confirmed regressions there and none elsewhere, {said}"
    return "Upgrade", f"no regression, {said}"


def _counts_as_time(finding: Finding) -> bool:
    """Whether a finding is a gating time that was settled, or could have been."""
    if not finding.gating or finding.metric not in GATING_TIMES:
        return False
    return finding.verdict != "not_compared" or bool(_AVOIDABLE & set(finding.reasons))


def _title(answer: Answer, excepted: tuple[str, ...]) -> str:
    return f"{answer} {_names(excepted)}" if answer == "Upgrade except" else answer


def _names(names: Iterable[str]) -> str:
    return listed(tuple(dict.fromkeys(names)))


def _confirmed(cell: CellVerdict) -> list[Finding]:
    return [one for one in bad(cell.findings) if one.confirmed]


def _order(cell: CellVerdict) -> tuple[int, bool, float]:
    """Worst first, then confirmed ones, then by the largest change; the rest keeps the order it came in."""
    ratios = [
        max(one.estimate.ratio, 1 / one.estimate.ratio)
        for one in cell.findings
        if one.estimate is not None and one.gating and one.verdict == cell.verdict
    ]
    return VERDICTS.index(cell.verdict), not cell.confirmed, -max(ratios, default=1.0)
