"""The answer to "may I upgrade?" from the verdicts of all cells, and the clause that says why."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from evaluator.verdicts.cells import bad, confirmed_regressions, lost_evidence
from evaluator.verdicts.findings import CellVerdict, Finding
from evaluator.verdicts.policy import Policy
from evaluator.verdicts.settled import SETTLED_SHARE, Times, counts_as_settled, said_of, times_of
from evaluator.verdicts.wording import listed
from evaluator.verdicts.words import FACTS_ONLY, NOT_TRIED, Answer

# Regressions in more than this part of the compared workloads are no exceptions.
HOLD_SHARE: Final = 0.25
# With a smaller part of the cells compared, "no regression" would only say that nobody looked.
COMPARED_SHARE: Final = 0.5
# With a larger part of the compared cells incomplete, what is missing may be what regressed.
LOST_SHARE: Final = 0.5


def answer(cells: list[CellVerdict], excepted: tuple[str, ...], policy: Policy) -> tuple[Answer, str]:
    """The answer, and the sentence that says it and why. ``excepted``: the workloads with confirmed regressions.

    The rules: see ``whole.compare``.
    """
    word, why = _decided(cells, excepted, policy)
    title = f"{word} {_names(excepted)}" if word == "Upgrade except" else word
    untried = _untried(cells)
    if untried:
        why += f"; not tried on the candidate: {_names(untried)}"
    wrong = [cell.cell.workload for cell in cells if wrong_on_both(cell)]
    if wrong:
        why += f"; wrong on both sides: {_names(wrong)}"
    return word, f"{title}: {why}"


def wrong_on_both(cell: CellVerdict) -> bool:
    """Whether the results of both sides are wrong: no regression, and nothing to be glad of."""
    return any(one.metric == "accuracy" and one.base == one.candidate == "fail" for one in cell.findings)


def _decided(cells: list[CellVerdict], excepted: tuple[str, ...], policy: Policy) -> tuple[Answer, str]:
    """The answer and the clause that says why."""
    compared = {cell.cell.workload for cell in cells if cell.compared}
    wrong = [
        cell.cell.workload
        for cell in cells
        if any(one.kind == "accuracy" for one in confirmed_regressions(cell))
    ]
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
    settled = said_of(times) if _timed(rest) else FACTS_ONLY
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
    seen = [cell for cell in rest if cell.compared]
    if _timed(rest) and (not times.kinds or times.short):
        said.append(said_of(times))
    workloads = {cell.cell.workload for cell in _timed(seen)}
    timed = {cell.cell.workload for cell in seen if any(counts_as_settled(one) for one in cell.findings)}
    if times.kinds and len(timed) < SETTLED_SHARE * len(workloads):
        said.append(f"times settled in only {len(timed)} of {len(workloads)} workloads")
    lost = [cell.cell.workload for cell in seen if lost_evidence(cell.findings)]
    if len(lost) > LOST_SHARE * len(seen):
        said.append(f"evidence lost in {len(lost)} of {len(seen)} cells ({_names(lost)})")
    return said


def _timed(cells: list[CellVerdict]) -> list[CellVerdict]:
    """The cells that have times: code for a card that is not there never ran."""
    return [cell for cell in cells if not cell.cell.codegen]


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


def _untried(cells: list[CellVerdict]) -> list[str]:
    """The workloads of cells that the base evaluated and the candidate did not: what they would have shown is unknown."""
    return [
        cell.cell.workload
        for cell in cells
        for one in cell.findings
        if one.metric == "status"
        and one.verdict == "not_compared"
        and (
            (one.candidate in NOT_TRIED and one.base not in NOT_TRIED)
            or ("one_side_missing" in one.reasons and cell.candidate_evaluation is None)
        )
    ]


def _names(names: Iterable[str]) -> str:
    return listed(tuple(dict.fromkeys(names)))
