"""What the generated kernels say of a cause: other ones, one that became several, one that spills or was refused."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from evaluator.verdicts import kernel_moves
from evaluator.verdicts.diffs import other_kernels
from evaluator.verdicts.findings import Cause, Differences, Evidence, KernelChange
from evaluator.verdicts.generated import fusion_text, is_triton
from evaluator.verdicts.sides import Side
from evaluator.verdicts.wording import listed, one_line, size
from evaluator.verdicts.words import REASONS

# Causes that kernels show by themselves.
KERNEL_CODES: Final = frozenset(
    {"kernels_changed", "launch_changed", "binary_changed", "fusion_lost", "new_spill", "kernel_refused"}
)
_MOST: Final = 3


def kernels_cause(changes: Sequence[KernelChange]) -> Cause:
    """Other bodies were generated, with the rows of both sides."""
    said = [f"{one.name} {one.change}" for one in changes]
    text = f"other kernels were generated: {listed(said, _MOST)}"
    return Cause("kernels_changed", text, _rows(changes), "inductor")


def layers_cause(changes: Sequence[KernelChange]) -> Cause:
    """The bodies are equal, and their launch or machine code is not: Inductor wrote the same, and what it is run with or
    built by moved."""
    relaunched = [one for one in changes if one.change == "relaunched"]
    code = "launch_changed" if relaunched else "binary_changed"
    names = [one.name for one in relaunched or changes]
    layer = "inductor" if relaunched else None
    return Cause(code, f"{REASONS[code]}: {listed(names, _MOST)}", _rows(changes), layer)


def _more_bytes(base: Side, candidate: Side, differences: Differences) -> Cause | None:
    lost = [one for one in differences.fusions if one.change == "lost" and (one.more_bytes or 0) >= 0]
    if lost:
        text = listed([fusion_text(one) for one in lost], _MOST)
        return Cause("fusion_lost", text, tuple(item for one in lost for item in one.evidence), "inductor")
    other = other_kernels(differences.kernels)
    return kernels_cause(other) if other else None


def _more_spills(base: Side, candidate: Side, differences: Differences) -> Cause | None:
    """The kernels that spill more than their counterpart, or have none and spill."""
    pairing = kernel_moves.paired(
        *([one for one in side.kernels if is_triton(one)] for side in (base, candidate))
    )
    worse = [one for one in kernel_moves.moves(pairing, kernel_moves.spilled) if one.after > one.before]
    if not worse:
        return None
    equal = all(
        one.base and one.candidate and one.base.source_hash == one.candidate.source_hash for one in worse
    )
    text = f"{REASONS['new_spill']}: {kernel_moves.sentence(worse, size)}"
    if equal:
        text += ", the source being the same: Triton, ptxas or the launch moved"
    rows = tuple(item for one in worse for item in one.evidence)
    return Cause("new_spill", text, rows, None if equal else "inductor")


def _more_refused(base: Side, candidate: Side, differences: Differences) -> Cause | None:
    refused = [one for one in candidate.kernels if one.build and one.build.refused]
    if not refused:
        return None
    known = {one.source_hash: one for one in base.kernels}
    said = [f"{one.name}: {one_line(one.build.error, 120)}" for one in refused if one.build]
    evidence = [Evidence("kernel", one.id, "candidate") for one in refused]
    evidence += [
        Evidence("kernel", known[one.source_hash].id, "base") for one in refused if one.source_hash in known
    ]
    # The same source that was built on the base was refused by what builds it.
    equal = all(one.source_hash in known for one in refused)
    return Cause("kernel_refused", listed(said, _MOST), tuple(evidence), None if equal else "inductor")


def _rows(changes: Sequence[KernelChange]) -> tuple[Evidence, ...]:
    return tuple(item for one in changes for item in one.evidence)


# Findings about kernels that can be bad -> what made them so.
KERNEL_CAUSES: Final[Mapping[str, Callable[[Side, Side, Differences], Cause | None]]] = {
    "bytes_moved": _more_bytes,
    "spills": _more_spills,
    "refused": _more_refused,
}
