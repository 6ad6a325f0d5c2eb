"""What Triton and ptxas made of the kernels of two sides: refused, spilled, registers, and whose of it moved."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from evaluator.verdicts import kernel_moves
from evaluator.verdicts.findings import Finding
from evaluator.verdicts.pairs import finding
from evaluator.verdicts.sides import KernelUse, Side
from evaluator.verdicts.wording import listed, one_line, size
from evaluator.verdicts.words import Verdict

_REFUSED: Final = "kernels that Triton or ptxas refused"
_SPILLED: Final = "registers spilled to memory and back"

Sides = tuple[Side, Side]
Kernels = Sequence[KernelUse]


def judge_builds(sides: Sides, base: Kernels, candidate: Kernels) -> list[Finding]:
    """Findings about the builds of the Triton kernels of both sides, none where no side built any.

    A kernel whose build crashed or came to no end is neither built nor refused: what rests on it is lost evidence.
    """
    if not any(one.build for one in (*base, *candidate)):
        return []
    missing = [side for side in (base, candidate) if not all(one.build for one in side)]
    if missing:
        text = "builds: not known for a kernel of " + ("both sides" if len(missing) == 2 else "one side")
        return [finding(sides, "spills", "not_compared", text, reasons=("evidence_lost",), gating=True)]
    return [_refused(sides, base, candidate), *_numbers(sides, base, candidate)]


def _refused(sides: Sides, base: Kernels, candidate: Kernels) -> Finding:
    refusals = [[one for one in side if one.build and one.build.refused] for side in (base, candidate)]
    unknown = [_unknown(side) for side in (base, candidate)]
    counts = (len(refusals[0]), len(refusals[1]))
    text = f"{_REFUSED}: {counts[0]} -> {counts[1]}"
    # More of them whatever became of those that came to no end.
    if counts[1] > counts[0] + len(unknown[0]):
        why = dict.fromkeys(one_line(one.build.error, 120) for one in refusals[1] if one.build)
        text = f"{text}: {listed(list(why), 2)}"
        return finding(sides, "refused", "regressed", text, counts, ("kernel_refused",), gating=True)
    if counts[0] > counts[1] + len(unknown[1]):
        return finding(sides, "refused", "improved", text, counts, gating=True)
    if any(unknown):
        text = f"{_REFUSED}: not known, {_unknown_text(unknown)}"
        return finding(sides, "refused", "not_compared", text, reasons=("evidence_lost",), gating=True)
    text = f"{_REFUSED}: {counts[0]} on both sides"
    return finding(sides, "refused", "unchanged", text, counts, gating=True)


def _unknown(side: Kernels) -> list[KernelUse]:
    return [one for one in side if one.build and one.build.unknown]


def _unknown_text(unknown: Sequence[Kernels]) -> str:
    """``builds without a result: NAME (candidate): not built: no end within 120 s``."""
    said = [
        f"{one.name} ({side}): {one_line(one.build.error, 120)}"
        for side, kernels in zip(("base", "candidate"), unknown, strict=True)
        for one in kernels
        if one.build
    ]
    return f"builds without a result: {listed(list(dict.fromkeys(said)), 2)}"


def _numbers(sides: Sides, base: Kernels, candidate: Kernels) -> list[Finding]:
    """Spills and registers of the kernels that were built on both sides."""
    spills = tuple([kernel_moves.spilled(one) for one in side] for side in (base, candidate))
    if None in (*spills[0], *spills[1]):
        unknown = [_unknown(side) for side in (base, candidate)]
        if any(unknown):
            text = f"spills: not known, {_unknown_text(unknown)}"
            return [finding(sides, "spills", "not_compared", text, reasons=("evidence_lost",), gating=True)]
        text = "spills: a kernel was refused, so not all of them are known"
        return [finding(sides, "spills", "not_compared", text, reasons=("kernel_refused",))]
    pairing = kernel_moves.paired(base, candidate)
    return [
        _spills(sides, (sum(one or 0 for one in spills[0]), sum(one or 0 for one in spills[1])), pairing),
        *_registers(sides, base, candidate, pairing),
    ]


def _spills(sides: Sides, totals: tuple[int, int], pairing: kernel_moves.Pairing) -> Finding:
    moved = kernel_moves.moves(pairing, kernel_moves.spilled)
    if totals[0] == totals[1]:
        text = f"{_SPILLED}: {'none' if not totals[0] else size(totals[0])} on both sides"
        verdict: Verdict = "changed" if _any_of_both(moved) else "unchanged"
    else:
        text = f"{_SPILLED}: {size(totals[0])} -> {size(totals[1])} a thread"
        verdict = "regressed" if totals[1] > totals[0] else "improved"
    gating = verdict != "changed"
    made = finding(sides, "spills", verdict, text, totals, gating=gating, unit="B")
    return with_moves(made, moved, sized=True)


def _registers(
    sides: Sides, base: Kernels, candidate: Kernels, pairing: kernel_moves.Pairing
) -> list[Finding]:
    ours, theirs = (
        sorted(value for one in side if (value := kernel_moves.registers(one)) is not None)
        for side in (base, candidate)
    )
    if not ours or not theirs:
        return []
    most = (ours[-1], theirs[-1])
    moved = kernel_moves.moves(pairing, kernel_moves.registers)
    if ours == theirs and not _any_of_both(moved):
        text = f"registers of a thread: at most {most[0]}, the same on both sides"
        return [finding(sides, "registers", "unchanged", text, most)]
    text = f"registers of a thread: at most {most[0]} -> {most[1]}"
    if most[0] == most[1]:
        text = f"registers of a thread: at most {most[0]} on both sides"
    return [with_moves(finding(sides, "registers", "changed", text, most), moved)]


def _any_of_both(moved: Sequence[kernel_moves.Move]) -> bool:
    """Whether a kernel of both sides moved: those that came and went with as much as each other moved nothing."""
    return any(one.base and one.candidate for one in moved)


def with_moves(made: Finding, moved: Sequence[kernel_moves.Move], *, sized: bool = False) -> Finding:
    """The finding with the kernels whose number moved, in its text and its evidence."""
    if not moved:
        return made
    rows = tuple(item for one in moved for item in one.evidence)
    text = f"{made.text}; {kernel_moves.sentence(moved, size if sized else str)}"
    return made._replace(text=text, evidence=(*made.evidence, *rows))
