"""What differs in the evidence of two sides, a line each."""

from __future__ import annotations

from typing import Final

from evaluator.report import phrases
from evaluator.verdicts.findings import BreakChange, Differences, GuardChange, KernelChange
from evaluator.verdicts.generated import fusion_text

# Beyond this a message is no longer read in a list; the whole is in the HTML and JSON reports.
_MESSAGE_CHARACTERS: Final = 400


def break_change(one: BreakChange) -> str:
    """``graph break added in forward: reason (file:12)``."""
    where = f" in {one.function}" if one.function else ""
    place = {
        "added": one.candidate,
        "removed": one.base,
        "moved": f"{one.base or phrases.MISSING} {phrases.ARROW} {one.candidate or phrases.MISSING}",
    }[one.change]
    return f"graph break {one.change}{where}: {one.reason}" + (f" ({place})" if place else "")


def guard_change(one: GuardChange) -> str:
    """``failed guard added in forward: guard``."""
    where = f" in {one.function}" if one.function else ""
    return f"failed guard {one.change}{where}: {one.guard}"


def kernel_change(one: KernelChange) -> str:
    """``kernel changed: name (triton; registers 32 -> 40)``."""
    why = {"rebuilt": "same source, other machine code", "relaunched": "same source, another launch"}
    kinds = ", ".join(text for text in (one.kind, why.get(one.change)) if text)
    said = [text for text in (kinds, ", ".join(one.numbers)) if text]
    return f"kernel {one.change}: {one.name}" + (f" ({'; '.join(said)})" if said else "")


def difference_lines(found: Differences) -> tuple[str, ...]:
    """Everything that differs in the evidence, a line each; messages shortened."""
    lines = [
        *(break_change(one) for one in found.breaks),
        *(guard_change(one) for one in found.guards),
        *(kernel_change(one) for one in found.kernels),
        *(fusion_text(one) for one in found.fusions),
        *(
            f"{one.metric}: {phrases.value(one.base, 's')} {phrases.ARROW} {phrases.value(one.candidate, 's')}"
            for one in found.phases
        ),
    ]
    if found.error is not None:
        for side, message in zip(("base", "candidate"), found.error, strict=True):
            lines.append(f"error of the {side}: {shortened(message) if message else 'none'}")
    return tuple(lines)


def shortened(text: str) -> str:
    """A message cut where it no longer reads in a list."""
    return text if len(text) <= _MESSAGE_CHARACTERS else f"{text[:_MESSAGE_CHARACTERS].rstrip()} [...]"
