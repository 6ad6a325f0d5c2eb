"""Generated kernels of two sides: which differ, what was merged or split, what they move, spill and were refused for.

A kernel was not run for any of this: bytes are Inductor's own estimate, registers and spills are ptxas's. Fewer kernels
are not called better, and more bytes are worse only where other bodies move them and all of them are counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final

from evaluator.verdicts import diffs, kernel_moves
from evaluator.verdicts.findings import Differences, Finding, FusionChange, KernelWord
from evaluator.verdicts.fusion import bytes_of
from evaluator.verdicts.matching import matched
from evaluator.verdicts.pairs import finding
from evaluator.verdicts.resources import judge_builds, with_moves
from evaluator.verdicts.sides import KernelUse, Side
from evaluator.verdicts.wording import listed, size
from evaluator.verdicts.words import Verdict

# Findings that say the code is other without saying that it is better or worse.
NEUTRAL: Final = frozenset({"kernels", "fusion", "bytes_moved", "registers", "spills"})
_BODIES: Final[tuple[KernelWord, ...]] = ("added", "removed", "changed")
_LAYERS: Final[Mapping[KernelWord, tuple[str, str]]] = {
    "relaunched": ("launch_changed", "launched otherwise"),
    "rebuilt": ("binary_changed", "of the same source with other machine code (Triton or ptxas moved)"),
}

Sides = tuple[Side, Side]
Kernels = Sequence[KernelUse]


def judge_generated(sides: Sides, differences: Differences) -> list[Finding]:
    """Every finding about the kernels of a pair, none about what neither side recorded.

    ``kernels`` and ``fusion`` only change. Gating are ``bytes_moved``, ``spills`` (bytes) and ``refused`` where they
    have a direction; ``registers`` has none. A bucket that runs what earlier ones left is judged by its kernels alone,
    since their estimates and builds are those buckets'.
    """
    found = [*_kernels(sides, differences), *_fusions(sides, differences.fusions)]
    if not (sides[0].facts or {}).get("reused_code"):
        found += _bytes(sides, differences)
        found += judge_builds(sides, _triton(sides[0]), _triton(sides[1]))
    return found


def _kernels(sides: Sides, differences: Differences) -> list[Finding]:
    counts = (len(sides[0].kernels), len(sides[1].kernels))
    if counts == (0, 0):
        return []
    other = diffs.other_kernels(differences.kernels)
    layers = diffs.other_layers(differences.kernels)
    if not other and not layers:
        text = f"kernels: the same {counts[0]} on both sides"
        return [finding(sides, "kernels", "unchanged", text, counts, ("same_kernels",), kind="set")]
    said = Counter(one.change for one in (*other, *layers))
    parts = [f"{said[word]} {word}" for word in _BODIES if said[word]]
    parts += [f"{said[word]} {text}" for word, (_, text) in _LAYERS.items() if said[word]]
    reasons = (
        *(("kernels_changed",) if other else ()),
        *(code for word, (code, _) in _LAYERS.items() if said[word]),
    )
    made = finding(sides, "kernels", "changed", f"kernels: {', '.join(parts)}", counts, reasons, kind="set")
    return [made._replace(evidence=tuple(item for one in (*other, *layers) for item in one.evidence))]


def _fusions(sides: Sides, changes: Sequence[FusionChange]) -> list[Finding]:
    if not changes:
        return []
    counts = (sum(len(one.base) for one in changes), sum(len(one.candidate) for one in changes))
    reasons = tuple(dict.fromkeys(f"fusion_{one.change}" for one in changes))
    text = listed([fusion_text(one) for one in changes], 3)
    made = finding(sides, "fusion", "changed", text, counts, reasons, kind="set")
    return [made._replace(evidence=tuple(item for one in changes for item in one.evidence))]


def fusion_text(one: FusionChange) -> str:
    """``fusion lost: 1 kernel became 2 (a_0 became b_0 and c_1), +4.2 MB moved by Inductor's estimate``."""
    numbers = f"{_kernel_count(one.base)} became {len(one.candidate)}"
    text = f"fusion {one.change}: {numbers} ({listed(one.base)} became {listed(one.candidate)})"
    if one.more_bytes is None:
        return text
    sign = "+" if one.more_bytes > 0 else ""
    return f"{text}, {sign}{size(one.more_bytes)} moved by Inductor's estimate"


def _kernel_count(names: Sequence[str]) -> str:
    return f"{len(names)} {'kernel' if len(names) == 1 else 'kernels'}"


def _triton(side: Side) -> list[KernelUse]:
    return [one for one in side.kernels if is_triton(one)]


def is_triton(one: KernelUse) -> bool:
    """Whether Triton compiles it: what others move is nobody's estimate, and ptxas builds none of them.

    A template may be another compiler's (CUTLASS), which says nothing of a Triton launch; a kernel that picks one of
    several has no source of its own.
    """
    if one.source_hash is None:
        return False
    return one.kind == "triton" or (one.kind == "template" and bool(one.launch_hash or one.form or one.build))


def _bytes(sides: Sides, differences: Differences) -> list[Finding]:
    ours, theirs = (_triton(side) for side in sides)
    if not any(one.bytes_moved is not None for one in (*ours, *theirs)):
        return []
    same, removed, added = matched(ours, theirs, (lambda one: (one.source_hash, one.launch_hash),))
    # A kernel of which nothing is known on either side and that is the same on both moves the same.
    silent = [one for one, other in same if one.bytes_moved is None and other.bytes_moved is None]
    told = [pair for pair in same if pair[0] not in silent]
    totals = (
        bytes_of([*(one for one, _ in told), *removed]),
        bytes_of([*(one for _, one in told), *added]),
    )
    name = "bytes moved by Triton kernels (Inductor's estimate)"
    if totals[0] is None or totals[1] is None:
        where = "both sides" if totals == (None, None) else "one side"
        text = f"{name}: unknown for a kernel of {where}"
        return [
            finding(
                sides, "bytes_moved", "not_compared", text, totals, ("evidence_lost",), gating=True, unit="B"
            )
        ]
    moved = sum(1 for one, other in told if one.bytes_moved != other.bytes_moved)
    text, besides = f"{name}: {size(totals[0])} -> {size(totals[1])}", _besides(silent)
    if totals[0] == totals[1] and not moved:
        text = f"{name}: {size(totals[0])} on both sides{besides}"
        return [finding(sides, "bytes_moved", "unchanged", text, totals, gating=True, unit="B")]
    verdict, why, reasons = _direction(sides, differences, totals[1] - totals[0], moved)
    gating = verdict != "changed"
    text = f"{text}{why}{besides}"
    made = finding(sides, "bytes_moved", verdict, text, totals, reasons, gating=gating, unit="B")
    others = kernel_moves.moves(kernel_moves.paired(ours, theirs), kernel_moves.bytes_moved)
    return [with_moves(made, others, sized=True)]


def _direction(
    sides: Sides, differences: Differences, more: int, estimates: int
) -> tuple[Verdict, str, tuple[str, ...]]:
    """Whether another total is worse or better, or why it can't be told; ``estimates``: same kernels, another one."""
    if estimates:
        what = "1 kernel that is" if estimates == 1 else f"{estimates} kernels that are"
        text = f"; the estimator moved: it says otherwise of {what} the same on both sides"
        return "changed", text, ("estimate_moved",)
    if not diffs.other_kernels(differences.kernels):
        return "changed", "; the same bodies, launched otherwise", ("launch_changed",)
    if _externs(sides[0]) != _externs(sides[1]):
        return "changed", "; other library calls are made, and nobody counts what those move", ()
    return ("regressed" if more > 0 else "improved" if more < 0 else "changed"), "", ()


def _externs(side: Side) -> Counter[str]:
    """What is called beside Triton's kernels, by name or body, and how often."""
    found: Counter[str] = Counter()
    for one in side.kernels:
        if not is_triton(one):
            found[one.source_hash or one.name] += one.calls or 1
    return found


def _besides(silent: Kernels) -> str:
    return f", besides {len(silent)} of no estimate that are the same on both sides" if silent else ""
