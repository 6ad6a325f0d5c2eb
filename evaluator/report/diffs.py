"""How the sources of a changed kernel differ, as unified diffs; and those of kernels that were merged or split."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from evaluator.report.context import Sources
from evaluator.verdicts.findings import Differences
from evaluator.verdicts.generated import fusion_text

CONTEXT_LINES: Final = 3
# difflib's time grows with the product of the lengths: a source beyond this is no kernel that a person compares.
_MOST_SOURCE_LINES: Final = 5000


def source_diff(base: str, candidate: str, most_lines: int) -> str:
    """A unified diff of two sources, at most ``most_lines`` lines and one that says how many were left out.

    Empty where the sources are equal.
    """
    left, right = base.splitlines(), candidate.splitlines()
    if max(len(left), len(right)) > _MOST_SOURCE_LINES:
        return f"sources of {len(left):,} and {len(right):,} lines: too long to show how they differ"
    lines = list(difflib.unified_diff(left, right, "base", "candidate", n=CONTEXT_LINES, lineterm=""))
    if len(lines) > most_lines:
        rest = len(lines) - most_lines
        lines = [*lines[:most_lines], f"... {rest:,} more {'line' if rest == 1 else 'lines'}"]
    return "\n".join(lines)


def source_diffs(differences: Differences, sources: Sources, most_lines: int) -> Iterator[tuple[str, str]]:
    """Name and diff of each changed kernel whose two sources are kept and differ."""
    for kernel in differences.kernels:
        if kernel.change != "changed" or kernel.base_source is None or kernel.candidate_source is None:
            continue
        base, candidate = sources(kernel.base_source), sources(kernel.candidate_source)
        if base is None or candidate is None:
            continue
        diff = source_diff(base, candidate, most_lines)
        if diff:
            yield kernel.name, diff


@dataclass(frozen=True)
class FusionSources:
    """A fusion that was lost or gained, with the name and the text of every kernel on each side, cut where long."""

    title: str
    base: tuple[tuple[str, str], ...]
    candidate: tuple[tuple[str, str], ...]


def fusion_sources(differences: Differences, sources: Sources, most_lines: int) -> Iterator[FusionSources]:
    """The sources of each fusion that was lost or gained, one against several; none of one of which a text is gone."""
    for one in differences.fusions:
        sides = [
            _texts(names, hashes, sources, most_lines)
            for names, hashes in (
                (one.base, one.base_sources),
                (one.candidate, one.candidate_sources),
            )
        ]
        if sides[0] is not None and sides[1] is not None:
            yield FusionSources(fusion_text(one), sides[0], sides[1])


def _texts(
    names: Sequence[str], hashes: Sequence[str | None], sources: Sources, most_lines: int
) -> tuple[tuple[str, str], ...] | None:
    made = []
    for name, sha256 in zip(names, hashes, strict=True):
        text = sources(sha256) if sha256 is not None else None
        if text is None:
            return None
        lines = text.expandtabs(4).splitlines()
        rest = len(lines) - most_lines
        made.append(
            (name, "\n".join([*lines[:most_lines], *([f"... {rest:,} more lines"] if rest > 0 else [])]))
        )
    return tuple(made)
