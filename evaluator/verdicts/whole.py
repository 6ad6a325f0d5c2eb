"""The whole comparison: the answer to "may I upgrade?", what is owed a rerun, and what is worth explaining."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Final

from evaluator.verdicts import environments
from evaluator.verdicts.cells import bad, compare_cell, lost_evidence
from evaluator.verdicts.findings import CellVerdict, Finding, Verdicts
from evaluator.verdicts.measured import judge_environment
from evaluator.verdicts.policy import ENVIRONMENT_TIMES, Policy
from evaluator.verdicts.settled import SETTLED_SHARE, Times, counts_as_settled, said_of, times_of
from evaluator.verdicts.sides import CellName, EnvironmentSide, KernelUse, Pair, Side
from evaluator.verdicts.wording import listed
from evaluator.verdicts.words import NOT_TRIED, VERDICTS, Answer

# Regressions in more than this part of the compared workloads are no exceptions.
HOLD_SHARE: Final = 0.25
# With a smaller part of the cells compared, "no regression" would only say that nobody looked.
COMPARED_SHARE: Final = 0.5
# With a larger part of the compared cells incomplete, what is missing may be what regressed.
LOST_SHARE: Final = 0.5

_NOT_IN_TURNS: Final = (
    "The sides were measured in two runs, one after the other, so no time counts as settled; "
    "`upgrade` measures both in turns."
)

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
    2. ``Not enough evidence``: fewer than half of the cells were compared (those that neither side supports do not
       count); or, leaving out the workloads with confirmed regressions, a bad finding is unconfirmed, a status or an
       accuracy is flaky, no gating time was compared, fewer than half of those of one kind (warm calls, compiles) are
       settled (see ``settled``), or evidence was lost in more than half of the compared cells.
    3. ``Upgrade except``: the workloads with confirmed regressions.
    4. ``Upgrade``.

    The second comes before the third so that a regression never makes the answer better: that all is well except
    for one workload is a claim about the others. ``excepted`` names the workloads with confirmed regressions whatever
    the answer. Only gating findings count.
    """
    changes = environments.moved(base.fields, candidate.fields)
    builds = environments.different_builds(base.fields, candidate.fields)
    pairs = list(pairs)
    cells = [
        compare_cell(
            pair,
            policy,
            different_builds=builds,
            dependencies=len(environments.dependencies(changes)),
            one_run=base.run == candidate.run,
            same_environment=not changes,
        )
        for pair in with_carried_kernels(pairs)
    ]
    cells.sort(key=_order)
    excepted = tuple(dict.fromkeys(cell.cell.workload for cell in cells if _confirmed(cell)))
    answer, why = _answer(cells, excepted, policy)
    compared = sum(1 for cell in cells if cell.compared)
    apart = any(one.base and one.candidate and not one.interleaved for one in pairs)
    found = Counter(cell.verdict for cell in cells)
    return Verdicts(
        base=base.label,
        candidate=candidate.label,
        moved=changes,
        warnings=(
            *environments.warnings_of(
                changes, base.fields, candidate.fields, base.machine == candidate.machine
            ),
            *((_NOT_IN_TURNS,) if apart else ()),
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


def _answer(cells: list[CellVerdict], excepted: tuple[str, ...], policy: Policy) -> tuple[Answer, str]:
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
    times = times_of(rest, policy)
    doubts = _doubts(cells, rest, times)
    if doubts:
        besides = f", besides confirmed regressions in {_names(excepted)}" if excepted else ""
        return "Not enough evidence", f"{', '.join(doubts)}{besides}"
    settled = said_of(times)
    lost = sum(1 for cell in rest if cell.compared and lost_evidence(cell.findings))
    if lost:
        settled += f", evidence lost in {lost} {'cell' if lost == 1 else 'cells'}"
    if excepted:
        return "Upgrade except", f"confirmed regressions there and none elsewhere, {settled}"
    return "Upgrade", f"no regression, {settled}"


def _doubts(cells: list[CellVerdict], rest: list[CellVerdict], times: Times) -> list[str]:
    """Every reason why what was found says too little, a clause each. ``rest``: without the excepted workloads."""
    said = []
    doubtful = [cell.cell.workload for cell in rest if bad(cell.findings)]
    if doubtful:
        said.append(f"unconfirmed regressions in {_names(doubtful)}")
    flaky = [cell.cell.workload for cell in rest if any(_flaky_result(one) for one in cell.findings)]
    if flaky:
        said.append(f"failures or wrong results that come and go in {_names(flaky)}")
    unjudged = [cell.cell.workload for cell in rest if any(_wrong_unjudged(one) for one in cell.findings)]
    if unjudged:
        said.append(f"wrong results whose base can't be judged in {_names(unjudged)}")
    # Of all cells, and of those that are left when the excepted workloads are: "all is well elsewhere" is about those.
    if any(_few_compared(part) for part in (cells, rest)):
        said.append("fewer than half of the cells compared")
    if not times.kinds or times.short:
        said.append(said_of(times))
    seen = [cell for cell in rest if cell.compared]
    workloads = {cell.cell.workload for cell in seen}
    timed = {cell.cell.workload for cell in seen if any(counts_as_settled(one) for one in cell.findings)}
    if times.kinds and len(timed) < SETTLED_SHARE * len(workloads):
        said.append(f"times settled in only {len(timed)} of {len(workloads)} workloads")
    lost = [cell.cell.workload for cell in seen if lost_evidence(cell.findings)]
    if len(lost) > LOST_SHARE * len(seen):
        said.append(f"evidence lost in {len(lost)} of {len(seen)} cells ({_names(lost)})")
    return said


def _few_compared(cells: list[CellVerdict]) -> bool:
    possible = [cell for cell in cells if not _unsupported(cell)]
    return sum(1 for cell in possible if cell.compared) < COMPARED_SHARE * len(possible)


def _wrong_unjudged(finding: Finding) -> bool:
    """Whether the candidate's outputs are wrong and nothing is known of the base's."""
    return finding.metric == "accuracy" and finding.verdict == "not_compared" and finding.candidate == "fail"


def _flaky_result(finding: Finding) -> bool:
    return finding.verdict == "flaky" and finding.metric in ("status", "accuracy")


def _unsupported(cell: CellVerdict) -> bool:
    """Whether neither side could try this cell, so that there is nothing to compare."""
    return any(
        one.metric == "status" and one.base in NOT_TRIED and one.candidate in NOT_TRIED
        for one in cell.findings
    )


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
