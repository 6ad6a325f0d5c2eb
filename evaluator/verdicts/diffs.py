"""What differs between the evidence of two sides: break sites, guards, kernels, phases of a compile, errors.

Things are matched by what they are and never by where they stand, so that a file edited above a break, a temp path or
an id makes no difference. Everything is matched one to one: three equal guards against two leave one over.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from typing import Final, Literal

from evaluator.verdicts.findings import (
    BreakChange,
    Differences,
    Evidence,
    GuardChange,
    KernelChange,
    KernelWord,
    PhaseChange,
)
from evaluator.verdicts.fusion import fusions
from evaluator.verdicts.kernel_moves import numbers_moved, paired
from evaluator.verdicts.matching import Key, matched
from evaluator.verdicts.sides import BreakSite, Failure, GuardFailure, KernelUse, Side
from evaluator.verdicts.wording import normalised
from evaluator.verdicts.words import FAILED, NOT_TRIED

PHASES: Final = (
    "compile.dynamo_s",
    "compile.aot_autograd_s",
    "compile.inductor_s",
    "compile.toolchain_s",
)


def differences_of(base: Side, candidate: Side) -> Differences:
    """All that differs between two evaluations of one cell, beside their numbers.

    Where a side got no result or lost its trace, what it lacks was not removed: only the errors are told.
    """
    error = error_change(base.failure, candidate.failure)
    if not (has_evidence(base) and has_evidence(candidate)):
        return Differences(error=error)
    return Differences(
        breaks=break_changes(base.breaks, candidate.breaks),
        guards=guard_changes(base.guards, candidate.guards),
        kernels=kernel_changes(base.kernels, candidate.kernels),
        fusions=fusions(base.kernels, candidate.kernels),
        phases=phase_changes(base, candidate),
        error=error,
    )


def has_evidence(side: Side) -> bool:
    """Whether what a side lacks (a break, a kernel) is known not to be there: it came to an end and left a trace."""
    return side.status is not None and side.status not in FAILED | NOT_TRIED and side.facts is not None


def break_changes(base: Sequence[BreakSite], candidate: Sequence[BreakSite]) -> tuple[BreakChange, ...]:
    """Break sites added, removed, or moved (the same break in the same function, on another line).

    Matched by torch's id of the break (or its wording) and the function. Where torch now calls the break at one and
    the same line by another name, it is no other break.
    """
    keys: tuple[Key[BreakSite], ...] = (
        lambda one: (_kind(one), _function(one.function), one.file, one.line),
        lambda one: (_kind(one), _function(one.function), one.file),
        lambda one: (_kind(one), _function(one.function)),
        lambda one: (normalised(one.reason), _function(one.function)),
        lambda one: (one.file, one.line, _function(one.function)) if one.line else None,
    )
    pairs, removed, added = matched(base, candidate, keys)
    changes = [_break("added", None, one) for one in added]
    changes += [_break("removed", one, None) for one in removed]
    changes += [_break("moved", ours, theirs) for ours, theirs in pairs if _place(ours) != _place(theirs)]
    return tuple(changes)


def guard_changes(base: Sequence[GuardFailure], candidate: Sequence[GuardFailure]) -> tuple[GuardChange, ...]:
    """Guard failures added or removed, by the guard's text, else by the value it is about, and the function."""
    keys: tuple[Key[GuardFailure], ...] = (
        lambda one: (normalised(one.reason), _function(one.function)),
        lambda one: (one.guard, _function(one.function)) if one.guard else None,
    )
    _, removed, added = matched(base, candidate, keys)
    return (
        *(_guard("added", one, "candidate") for one in added),
        *(_guard("removed", one, "base") for one in removed),
    )


def kernel_changes(base: Sequence[KernelUse], candidate: Sequence[KernelUse]) -> tuple[KernelChange, ...]:
    """Kernels added, removed, changed (same name, other body), and of equal bodies those that are otherwise another:
    relaunched, rebuilt (both sides built it, to other machine code), or renamed and no more.

    Which are one kernel: see ``kernel_moves.paired``.
    """
    pairs, removed, added = paired(base, candidate)
    changes = [_kernel("added", None, one) for one in added]
    changes += [_kernel("removed", one, None) for one in removed]
    for ours, theirs in pairs:
        word = _word(ours, theirs)
        if word is not None:
            changes.append(_kernel(word, ours, theirs))
    return tuple(changes)


def _word(base: KernelUse, candidate: KernelUse) -> KernelWord | None:
    """How two uses of what is one kernel differ, by the outermost layer that does; None where they are the same."""
    if base.source_hash != candidate.source_hash:
        return "changed"
    if _both_differ(base.launch_hash, candidate.launch_hash):
        return "relaunched"
    if base.build and candidate.build and _both_differ(base.build.sass_hash, candidate.build.sass_hash):
        return "rebuilt"
    return "renamed" if base.name != candidate.name else None


def _both_differ(base: str | None, candidate: str | None) -> bool:
    return base is not None and candidate is not None and base != candidate


def other_kernels(changes: Iterable[KernelChange]) -> tuple[KernelChange, ...]:
    """The changes that mean other bodies: neither a new name, nor another launch or machine code of the same one."""
    return tuple(one for one in changes if one.change in ("added", "removed", "changed"))


def other_layers(changes: Iterable[KernelChange]) -> tuple[KernelChange, ...]:
    """The kernels of equal bodies whose launch or machine code is another."""
    return tuple(one for one in changes if one.change in ("relaunched", "rebuilt"))


def phase_changes(base: Side, candidate: Side) -> tuple[PhaseChange, ...]:
    """The medians of each phase of a cold compile that both sides measured, in s."""
    both = [name for name in PHASES if name in base.series and name in candidate.series]
    return tuple(
        PhaseChange(
            name,
            statistics.median(base.series[name].values),
            statistics.median(candidate.series[name].values),
        )
        for name in both
        if base.series[name].values and candidate.series[name].values
    )


def error_change(base: Failure | None, candidate: Failure | None) -> tuple[str | None, str | None] | None:
    """What each side raised, as it said it, where that differs in more than paths, lines and ids; else None."""
    ours, theirs = error_text(base), error_text(candidate)
    return None if normalised(ours) == normalised(theirs) else (ours, theirs)


def error_text(failure: Failure | None) -> str | None:
    """``type: message`` of what was raised; None where nothing was."""
    if failure is None:
        return None
    return ": ".join(part for part in (failure.type, failure.message) if part) or None


def _kind(one: BreakSite) -> str:
    return one.break_id or normalised(one.reason)


def _function(name: str | None) -> str:
    return normalised(name)


def _place(one: BreakSite) -> tuple[str | None, int | None]:
    return one.file, one.line


def _where(one: BreakSite | None) -> str | None:
    return f"{one.file or 'unknown file'}:{one.line or '?'}" if one else None


def _break(
    change: Literal["added", "removed", "moved"], base: BreakSite | None, candidate: BreakSite | None
) -> BreakChange:
    one = candidate or base
    assert one is not None
    return BreakChange(
        change,
        one.reason,
        one.function,
        _where(base),
        _where(candidate),
        _evidence("graph_break", base, candidate),
    )


def _guard(change: Literal["added", "removed"], one: GuardFailure, side: str) -> GuardChange:
    return GuardChange(change, one.reason, one.function, (Evidence("recompile", one.id, side),))


def _kernel(
    change: KernelWord,
    base: KernelUse | None,
    candidate: KernelUse | None,
) -> KernelChange:
    one = candidate or base
    assert one is not None
    return KernelChange(
        change,
        one.name,
        one.kind,
        base.source_sha256 if base else None,
        candidate.source_sha256 if candidate else None,
        _evidence("kernel", base, candidate),
        numbers_moved(base, candidate) if base and candidate else (),
    )


def _evidence(
    kind: str, base: BreakSite | KernelUse | None, candidate: BreakSite | KernelUse | None
) -> tuple[Evidence, ...]:
    sides = (("base", base), ("candidate", candidate))
    return tuple(Evidence(kind, one.id, side) for side, one in sides if one is not None)
