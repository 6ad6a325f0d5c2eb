"""The whole comparison: the answer to "may I upgrade?", what is owed a rerun, and what is worth explaining."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Final

from evaluator.verdicts import environments
from evaluator.verdicts.answering import answer
from evaluator.verdicts.cells import bad, compare_cell, confirmed_regressions
from evaluator.verdicts.findings import CellVerdict, Verdicts
from evaluator.verdicts.measured import judge_environment
from evaluator.verdicts.policy import ENVIRONMENT_TIMES, Policy
from evaluator.verdicts.sides import CellName, EnvironmentSide, KernelUse, Pair, Side
from evaluator.verdicts.words import VERDICTS

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
       settled (see ``settled``), or evidence was lost in more than half of the compared cells. Where all cells are of
       cards that are not there, times are not asked for.
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
    excepted = tuple(dict.fromkeys(cell.cell.workload for cell in cells if confirmed_regressions(cell)))
    word, sentence = answer(cells, excepted, policy)
    compared = sum(1 for cell in cells if cell.compared)
    apart = any(one.base and one.candidate and not one.interleaved and not one.cell.codegen for one in pairs)
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
        answer=word,
        answer_text=f"{sentence}; {compared} of {len(cells)} cells compared.",
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

    A workload that could not be loaded has nothing to climb, and on a card that is not there nothing but Inductor writes
    what is compared.
    """
    return tuple(
        cell.cell
        for cell in verdicts.cells
        if confirmed_regressions(cell) and cell.base_evaluation is not None and not cell.cell.codegen
    )


def _order(cell: CellVerdict) -> tuple[int, bool, float]:
    """Worst first, then confirmed ones, then by the largest change; the rest keeps the order it came in."""
    ratios = [
        max(one.estimate.ratio, 1 / one.estimate.ratio)
        for one in cell.findings
        if one.estimate is not None and one.gating and one.verdict == cell.verdict
    ]
    return VERDICTS.index(cell.verdict), not cell.confirmed, -max(ratios, default=1.0)
