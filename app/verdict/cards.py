"""The five cards of a comparison: correctness, calls, compile, graphs, memory. Pure.

Every aggregate is over the cells that both sides have, and says how many those are.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from app import theme
from evaluator.verdicts.answering import wrong_on_both
from evaluator.verdicts.findings import CellVerdict, Finding, Verdicts
from evaluator.verdicts.wording import size
from evaluator.verdicts.words import BAD

# The time of a call: on the device where the device's clock was read, else of the whole.
CALL: Final = ("compiled.stream_ms", "compiled.wall_ms")
COLD: Final = ("compile.cold_s",)
WARM: Final = ("compile.warm_cache_s",)
MEMORY: Final = ("compile.host_peak_mb",)
_BETTER: Final = frozenset({"improved", "fixed"})


@dataclass(frozen=True)
class Card:
    """A title, a value and what it is made of; all of it our own words."""

    label: str
    value: str
    detail: str
    help: str


def cards(verdicts: Verdicts) -> tuple[Card, ...]:
    """The cards, in the order in which they matter; of what never ran those that need no time."""
    cells = verdicts.cells
    if cells and all(cell.cell.codegen for cell in cells):
        return (correctness(cells), moved(cells), spills(cells), refused(cells), graphs(cells))
    return (
        correctness(cells),
        ratio_card("Compiled call", of_metric(cells, CALL), "time of a compiled call"),
        cold(cells),
        graphs(cells),
        ratio_card("Compile memory", of_metric(cells, MEMORY), "peak host memory of a compile"),
    )


def correctness(cells: Iterable[CellVerdict]) -> Card:
    """How many of the compared cells are as right on the candidate as on the base, and not wrong on both."""
    # What never ran has no results; whether it still compiles counts.
    compared = [
        cell
        for cell in cells
        if cell.compared and (not cell.cell.codegen or cell.verdict in ("newly_failing", "fixed"))
    ]
    failing = wrong = both = unjudged = drifted = 0
    for cell in compared:
        by = {one.metric: one for one in cell.findings}
        accuracy, drift = by.get("accuracy"), by.get("drift")
        is_failing = any(one.verdict == "newly_failing" for one in cell.findings)
        is_wrong = accuracy is not None and accuracy.verdict in BAD and not is_failing
        failing += is_failing
        both += wrong_on_both(cell) and not is_failing
        wrong += is_wrong
        unjudged += not (is_failing or is_wrong) and (accuracy is None or accuracy.verdict == "not_compared")
        drifted += drift is not None and drift.verdict == "changed"
    said = [
        (failing, "✗ {} newly failing"),
        (wrong, "✗ {} wrong now"),
        (both, "≠ {} wrong on both sides"),
        (unjudged, "○ {} not judged"),
        (drifted, "≠ {} outputs differ"),
    ]
    right = len(compared) - failing - wrong - both - unjudged
    detail = " · ".join(text.format(n) for n, text in said if n)
    return Card(
        "Correctness",
        f"{right:,} of {len(compared):,}" if compared else theme.MISSING,
        detail or ("as right as the base" if compared else "○ no result to judge"),
        "Compared cells whose results are as right on the candidate as on the base, without those that are wrong on both "
        "sides, which are no news and not right. Not judged: a side has no "
        "accuracy result. Outputs differ: those of the two sides, by more than twice the tolerance.",
    )


def moved(cells: Iterable[CellVerdict]) -> Card:
    """What Triton's kernels move by Inductor's estimate, in all."""
    return _summed(
        "Bytes moved", cells, "bytes_moved", size, "Inductor's own estimate of what kernels read and write"
    )


def spills(cells: Iterable[CellVerdict]) -> Card:
    """What kernels spill for want of registers, in all."""
    return _summed(
        "Spills", cells, "spills", size, "bytes that threads write to memory and back for want of registers"
    )


def refused(cells: Iterable[CellVerdict]) -> Card:
    """How many kernels Triton or ptxas refused."""
    return _summed("Refused kernels", cells, "refused", str, "kernels that Triton or ptxas did not build")


def _summed(
    label: str, cells: Iterable[CellVerdict], metric: str, said: Callable[[int], str], what: str
) -> Card:
    """The sum over the cells that both sides have, the candidate's, and what it was on the base."""
    of = f"Sum over the cells compared: {what}."
    found = [
        (one, one.base, one.candidate)
        for cell in cells
        for one in cell.findings
        if one.metric == metric and isinstance(one.base, int) and isinstance(one.candidate, int)
    ]
    if not found:
        return Card(label, theme.MISSING, "○ not compared", of)
    before, after = sum(base for _, base, _ in found), sum(candidate for _, _, candidate in found)
    parts = [f"base {said(before)}", theme.counted(len(found), "cell"), *_worse(one for one, _, _ in found)]
    return Card(label, said(after), " · ".join(parts), of)


def _worse(findings: Iterable[Finding]) -> list[str]:
    """How many are worse, and how many of them no rerun has confirmed; nothing where none is."""
    worse = [one for one in findings if one.verdict in BAD]
    unsure = sum(one.confirmed is False for one in worse)
    return [f"▲ {len(worse)} worse" + (f", {unsure} unconfirmed" if unsure else "")] if worse else []


def cold(cells: Sequence[CellVerdict]) -> Card:
    """The cold compile, with the warm-cache compile beside it."""
    card = ratio_card("Cold compile", of_metric(cells, COLD), "cold compile")
    warm = of_metric(cells, WARM)
    ratio = geomean(warm)
    beside = f" · warm cache {times(ratio)}" if ratio is not None else ""
    return Card(card.label, card.value, card.detail + beside, card.help)


def ratio_card(label: str, findings: Sequence[Finding], what: str) -> Card:
    """The geometric mean of candidate / base over the cells that have both."""
    ratio = geomean(findings)
    of = f"Geometric mean of candidate ÷ base, {what}, over the cells that both sides measured. Below 1 is better."
    if ratio is None:
        return Card(label, theme.MISSING, "○ not compared", of)
    better = sum(one.verdict in _BETTER for one in findings)
    unsure = sum(one.verdict == "inconclusive" for one in findings)
    said = [(better, "▼ {} better"), (unsure, "? {} open")]
    parts = [*_worse(findings), *(text.format(n) for n, text in said if n)]
    if unsure == len(findings):
        # A large figure of which nothing is settled would be read as a result.
        return Card(label, "? open", f"{times(ratio)} · {theme.counted(unsure, 'cell')}, none settled", of)
    return Card(label, times(ratio), " · ".join([theme.counted(len(findings), "cell"), *parts]), of)


def of_metric(cells: Iterable[CellVerdict], metrics: Sequence[str]) -> list[Finding]:
    """The findings about the first of ``metrics`` that a cell has on both sides."""
    found = []
    for cell in cells:
        by = {one.metric: one for one in cell.findings if ratio_of(one) is not None}
        known = next((by[metric] for metric in metrics if metric in by), None)
        if known is not None:
            found.append(known)
    return found


def ratio_of(finding: Finding) -> float | None:
    """Candidate / base of a measured finding; of the medians where too few replicas give no estimate. None where it
    was not compared."""
    if finding.kind not in ("time", "memory") or finding.verdict == "not_compared":
        return None
    if finding.estimate is not None:
        ratio = finding.estimate.ratio
        return ratio if 0 < ratio < math.inf else None
    base, candidate = finding.base, finding.candidate
    if isinstance(base, (int, float)) and isinstance(candidate, (int, float)) and base > 0 and candidate > 0:
        return candidate / base
    return None


def geomean(findings: Iterable[Finding]) -> float | None:
    """The geometric mean of the ratios; None of none."""
    logs = [math.log(ratio) for one in findings if (ratio := ratio_of(one)) is not None]
    return math.exp(math.fsum(logs) / len(logs)) if logs else None


def times(ratio: float) -> str:
    """``×0.994``."""
    return f"×{ratio:.3f}" if ratio < 10 else f"×{ratio:,.0f}"


def graphs(cells: Iterable[CellVerdict]) -> Card:
    """Graph breaks and recompiles that came and went."""
    found = list(cells)
    breaks, recompiles = counted(found, "graph_breaks"), counted(found, "recompiles")
    of = "Break sites and recompiles added and removed, over the cells in which both sides compiled."
    if not breaks and not recompiles:
        return Card("Graph breaks", theme.MISSING, "○ not compared", of)
    detail = f"recompiles {change(recompiles)} · {theme.counted(len(breaks), 'cell')}"
    return Card("Graph breaks", change(breaks), detail, of)


def counted(cells: Iterable[CellVerdict], metric: str) -> list[int]:
    """Candidate minus base of a count, for each cell that has it on both sides."""
    return [
        one.candidate - one.base
        for cell in cells
        for one in cell.findings
        if one.metric == metric
        and one.verdict != "not_compared"
        and isinstance(one.base, int)
        and isinstance(one.candidate, int)
    ]


def change(differences: Sequence[int]) -> str:
    """``+2 −1``: what was added and removed; ``±0`` where nothing was, the sign for missing where nothing was compared."""
    if not differences:
        return theme.MISSING
    more, less = sum(one for one in differences if one > 0), -sum(one for one in differences if one < 0)
    parts = [text for n, text in ((more, f"+{more:,}"), (less, f"−{less:,}")) if n]
    return " ".join(parts) or "±0"
