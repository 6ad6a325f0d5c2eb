"""How much of what gates is settled: "no regression" says something only where one would have been seen."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from evaluator.verdicts.cells import lost_evidence, ran_nothing
from evaluator.verdicts.findings import CellVerdict, Finding
from evaluator.verdicts.policy import GATING_TIMES, Policy

# Of each kind that was measured at least this part has to be settled: sure compiles say nothing of warm calls.
SETTLED_SHARE: Final = 0.5

# The first word of a gating metric -> what is measured by it.
KINDS: Final = {"compiled": "warm calls", "compile": "compiles"}
_SETTLED: Final = frozenset({"regressed", "improved", "unchanged"})
# Not compared for a reason that more or other measuring could have avoided: it counts as not settled.
_AVOIDABLE: Final = frozenset({"different_machine", "not_measured"})


@dataclass(frozen=True)
class Kind:
    """Gating times of one kind: how many count, how many are settled, how many of the rest still allow a regression
    beyond their margin, and how many are of cells that lost evidence, whatever they say."""

    total: int
    settled: int
    open: int
    lost: int = 0

    @property
    def enough(self) -> bool:
        return self.settled >= SETTLED_SHARE * self.total


@dataclass(frozen=True)
class Times:
    """The gating times of some cells by kind; no kind where none could be compared.

    ``measured``: any side has one, ``in_turns``: all of them were measured in turns.
    """

    kinds: dict[str, Kind]
    measured: bool
    in_turns: bool

    @property
    def short(self) -> tuple[str, ...]:
        """The kinds of which too few are settled."""
        return tuple(name for name, kind in self.kinds.items() if not kind.enough)


def times_of(cells: Iterable[CellVerdict], policy: Policy) -> Times:
    """Count the gating times of these cells.

    Settled is a time that is unchanged, improved or regressed, was measured in turns, and belongs to a cell that lost
    no evidence. One that can't be compared counts, as not settled, where measuring otherwise would have settled it, and
    where both sides ran nothing compiled, since nobody knows what compiled code would have taken.
    """
    found: dict[str, list[tuple[bool, bool, bool]]] = {}
    measured, in_turns = False, True
    for cell in cells:
        lost, idle = lost_evidence(cell.findings), ran_nothing(cell.findings)
        for one in cell.findings:
            if not one.gating or one.metric not in GATING_TIMES:
                continue
            measured = True
            if one.verdict == "not_compared" and not (idle or _AVOIDABLE & set(one.reasons)):
                continue
            in_turns = in_turns and "not_interleaved" not in one.reasons
            counts = counts_as_settled(one)
            still = not counts and _allows_regression(one, policy)
            counted = found.setdefault(one.metric.split(".")[0], [])
            counted.append((counts and not lost, still, counts and lost))
    kinds = {
        name: Kind(len(found[name]), *(sum(each) for each in zip(*found[name], strict=True)))
        for name in KINDS
        if name in found
    }
    return Times(kinds, measured, in_turns)


def counts_as_settled(finding: Finding) -> bool:
    """Whether a finding is a gating time that is settled, and was measured in turns."""
    return (
        finding.gating
        and finding.metric in GATING_TIMES
        and finding.verdict in _SETTLED
        and "not_interleaved" not in finding.reasons
    )


def said_of(times: Times) -> str:
    """How much is settled, what is said of all the rest, and of what kind too little is: "24 of 36 times settled, 11 still
    allow more than their margin, 1 in a cell that lost evidence"."""
    if not times.kinds:
        return "no times could be compared" if times.measured else "no times measured"
    kinds = times.kinds.values()
    counts = ("total", "settled", "open", "lost")
    total, settled, still, lost = (sum(getattr(one, of) for one in kinds) for of in counts)
    said = f"{settled} of {total} times settled"
    if still:
        said += f", {still} still {'allows' if still == 1 else 'allow'} more than {'its' if still == 1 else 'their'} margin"
    if lost:
        said += f", {lost} in {'a cell' if lost == 1 else 'cells'} that lost evidence"
    if rest := total - settled - still - lost:
        said += f", {rest} can be slower by {'its' if rest == 1 else 'their'} margin at most"
    if not times.in_turns:
        said += " (times that were not measured in turns settle nothing)"
    if not times.short:
        return said
    if len(times.kinds) == 1:
        return f"only {said}"
    short = [
        f"{times.kinds[name].settled} of {times.kinds[name].total} for {KINDS[name]}" for name in times.short
    ]
    return f"{said}, only {' and '.join(short)}"


def _allows_regression(finding: Finding, policy: Policy) -> bool:
    """Whether what is known of an unsettled time leaves room for a regression beyond the margin asked for."""
    if "not_interleaved" in finding.reasons:
        return True
    estimate = finding.rerun or finding.estimate
    if finding.verdict in _SETTLED:
        return False
    return estimate is None or estimate.high > 1 + policy.margin(finding.metric)
