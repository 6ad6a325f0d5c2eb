"""Kernels that were merged or split between two sides, told by the operators that their names say they fuse.

Inductor calls a kernel after what it fuses, sorted (``triton_poi_fused_add_mul_silu_sub_0``), and a pass of a graph
computes the same operators in every version: where one kernel's are exactly those of several others, these are its
pieces. What is the same body on both sides, or fuses the same operators one to one, was neither merged nor split.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterator, Sequence
from functools import lru_cache
from typing import Final, Literal

from evaluator.verdicts.findings import Evidence, FusionChange
from evaluator.verdicts.matching import matched
from evaluator.verdicts.sides import KernelUse

# What is before `fused` says what kind of kernel it is, and the number at the end which one of several.
_NAME: Final = re.compile(r"^[a-z]+_(?:[a-z]+_)?fused_(?P<operators>.*?)(?:_?\d+)?$")

_POINTWISE: Final = "pointwise"

# Names that share this part of their words are of one kernel: half of them is what a kernel split in two has.
ALIKE: Final = 0.75

Kernels = Sequence[KernelUse]
# One kernel of a side, and those of the other side that together are it.
Split = tuple[KernelUse, tuple[KernelUse, ...]]


@lru_cache(maxsize=8192)
def operators(name: str) -> frozenset[str]:
    """The words of the operators that a kernel's name says it fuses; empty where it says none.

    An operator's own underscores can't be told from those between operators (``native_layer_norm``), so that it is
    taken apart, alike on both sides.
    """
    found = _NAME.match(name)
    return frozenset(word for word in found["operators"].split("_") if word) if found else frozenset()


def fusions(base: Kernels, candidate: Kernels) -> tuple[FusionChange, ...]:
    """Every kernel of the base that became several (``lost``), and several that became one (``gained``)."""
    found: list[FusionChange] = []
    for ours, theirs in _passes(base, candidate):
        _, ours, theirs = matched(ours, theirs, (lambda one: one.source_hash,))
        ours, theirs = _unequal(ours, theirs)
        lost = _splits(ours, theirs)
        used = {id(piece) for _, pieces in lost for piece in pieces} | {id(whole) for whole, _ in lost}
        gained = _splits(
            [one for one in theirs if id(one) not in used], [one for one in ours if id(one) not in used]
        )
        found += [_change("lost", (whole,), pieces) for whole, pieces in lost]
        found += [_change("gained", pieces, (whole,)) for whole, pieces in gained]
    return tuple(found)


def alike(base: Kernels, candidate: Kernels) -> list[tuple[KernelUse, KernelUse]]:
    """Kernels of one pass that fuse nearly the same operators, one to one, the likest first: a version that names one
    operator more in a kernel's name did not remove the kernel and add another."""
    found: list[tuple[float, int, int]] = []
    for place, ours in enumerate(base):
        for other, theirs in enumerate(candidate):
            if (ours.origin, ours.form, ours.kind) == (theirs.origin, theirs.form, theirs.kind):
                share = _shared(operators(ours.name), operators(theirs.name))
                if share >= ALIKE:
                    found.append((-share, place, other))
    pairs: list[tuple[KernelUse, KernelUse]] = []
    taken: tuple[set[int], set[int]] = (set(), set())
    for _, place, other in sorted(found):
        if place not in taken[0] and other not in taken[1]:
            taken[0].add(place)
            taken[1].add(other)
            pairs.append((base[place], candidate[other]))
    return pairs


def _shared(ours: frozenset[str], theirs: frozenset[str]) -> float:
    """The part of both names' words that they share."""
    return len(ours & theirs) / len(ours | theirs) if ours and theirs else 0.0


def _passes(base: Kernels, candidate: Kernels) -> Iterator[tuple[list[KernelUse], list[KernelUse]]]:
    """The generated kernels of each pass of a graph on both sides; where graphs are called otherwise, of each pass."""
    ours, theirs = ([one for one in side if operators(one.name)] for side in (base, candidate))
    by_graph = {one.graph for one in ours} == {one.graph for one in theirs}

    def key(one: KernelUse) -> Hashable:
        return (one.origin, one.graph if by_graph else None)

    for name in dict.fromkeys(map(key, ours)):
        yield [one for one in ours if key(one) == name], [one for one in theirs if key(one) == name]


def _unequal(base: Kernels, candidate: Kernels) -> tuple[list[KernelUse], list[KernelUse]]:
    """The kernels whose operators are not those of a counterpart. One against several of the same operators is left:
    a reduction in two stages has two kernels that are called alike. A reduction has no counterpart that reduces
    nothing: the last piece of one that was split names all that it is computed from."""
    ours, theirs = list(base), list(candidate)
    for key in {_work(one) for one in base}:
        here, there = ([one for one in side if _work(one) == key] for side in (ours, theirs))
        if min(len(here), len(there)) == 1 < max(len(here), len(there)):
            continue
        paired = min(len(here), len(there))
        gone = {id(one) for one in (*here[:paired], *there[:paired])}
        ours, theirs = ([one for one in side if id(one) not in gone] for side in (ours, theirs))
    return ours, theirs


def _work(one: KernelUse) -> tuple[frozenset[str], bool]:
    """What a kernel computes, and whether it reduces nothing; how a reduction goes about it is no other work."""
    return operators(one.name), one.form == _POINTWISE


def _splits(wholes: Kernels, pieces: Kernels) -> list[Split]:
    """The wholes that are made of several of the pieces, each piece of one whole; the largest first."""
    free = list(pieces)
    found: list[Split] = []
    for whole in sorted(wholes, key=lambda one: -len(operators(one.name))):
        taken = _pieces(whole, free)
        if taken:
            found.append((whole, taken))
            free = [one for one in free if one not in taken]
    # A piece that adds no operator (one is computed twice) is of the only whole that it can be of.
    for one in free:
        owners = [place for place, (whole, _) in enumerate(found) if _within(one, whole)]
        if len(owners) == 1:
            whole, taken = found[owners[0]]
            found[owners[0]] = (whole, (*taken, one))
    return found


def _pieces(whole: KernelUse, free: Kernels) -> tuple[KernelUse, ...]:
    """The first kernels that together fuse exactly what the whole does, two at least; none where there are not."""
    same = [one for one in free if operators(one.name) == operators(whole.name)]
    if len(same) > 1:
        return tuple(same)
    missing = set(operators(whole.name))
    taken: list[KernelUse] = []
    for one in free:
        if _within(one, whole) and operators(one.name) & missing:
            taken.append(one)
            missing -= operators(one.name)
    return tuple(taken) if not missing and len(taken) > 1 else ()


def _within(piece: KernelUse, whole: KernelUse) -> bool:
    return operators(piece.name) <= operators(whole.name)


def _change(
    change: Literal["lost", "gained"], base: tuple[KernelUse, ...], candidate: tuple[KernelUse, ...]
) -> FusionChange:
    moved = [bytes_of(side) for side in (base, candidate)]
    return FusionChange(
        change,
        tuple(one.name for one in base),
        tuple(one.name for one in candidate),
        tuple(one.source_sha256 for one in base),
        tuple(one.source_sha256 for one in candidate),
        None if moved[0] is None or moved[1] is None else moved[1] - moved[0],
        (
            *(Evidence("kernel", one.id, "base") for one in base),
            *(Evidence("kernel", one.id, "candidate") for one in candidate),
        ),
    )


def bytes_of(kernels: Kernels) -> int | None:
    """What one launch of each reads and writes together, by Inductor's estimate; None where one does not say."""
    known = [one.bytes_moved for one in kernels if one.bytes_moved is not None]
    return sum(known) if len(known) == len(kernels) else None
