"""Which kernels' numbers moved between two sides, and from what to what: registers, spills, bytes of a launch."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from evaluator.verdicts.findings import Evidence
from evaluator.verdicts.fusion import alike
from evaluator.verdicts.matching import Key, matched
from evaluator.verdicts.sides import KernelUse
from evaluator.verdicts.wording import listed, size, without_number

# Beyond this many a sentence says how many more there are.
_MOST: Final = 3

Pairing = tuple[list[tuple[KernelUse, KernelUse]], list[KernelUse], list[KernelUse]]
Number = Callable[[KernelUse], int | None]


def paired(base: Sequence[KernelUse], candidate: Sequence[KernelUse]) -> Pairing:
    """The kernels that are one on both sides, and what each side has beside them.

    Told by the hash of their bodies, which leaves out names, paths and Triton's version, then by name, then by the
    operators in it (see ``fusion.alike``). A library call has no body and goes by its name.
    """
    keys: tuple[Key[KernelUse], ...] = (
        lambda one: (one.source_hash, one.name),
        lambda one: one.source_hash,
        lambda one: (one.name, one.origin, one.graph) if one.source_hash else None,
        lambda one: (one.name, one.origin) if one.source_hash else None,
        lambda one: (without_number(one.name), one.origin) if one.source_hash else None,
    )
    pairs, removed, added = matched(base, candidate, keys)
    near = alike([one for one in removed if one.source_hash], [one for one in added if one.source_hash])
    gone = {id(one) for pair in near for one in pair}
    removed, added = ([one for one in side if id(one) not in gone] for side in (removed, added))
    return [*pairs, *near], removed, added


@dataclass(frozen=True)
class Move:
    """A kernel whose number is another on the candidate; one of the kernels is None where that side has none of it."""

    base: KernelUse | None
    candidate: KernelUse | None
    before: int
    after: int

    @property
    def evidence(self) -> tuple[Evidence, ...]:
        """The rows of the kernel."""
        sides = (("base", self.base), ("candidate", self.candidate))
        return tuple(Evidence("kernel", one.id, side) for side, one in sides if one is not None)

    def said(self, shown: Callable[[int], str]) -> str:
        """``triton_a 32 -> 40``, ``triton_a, now triton_b, 32 -> 40``, ``triton_b (new) 40``, ``triton_a (gone) 32``."""
        if self.base is None:
            return f"{self._name} (new) {shown(self.after)}"
        if self.candidate is None:
            return f"{self._name} (gone) {shown(self.before)}"
        renamed = f", now {self.candidate.name}," if self.candidate.name != self.base.name else ""
        return f"{self.base.name}{renamed} {shown(self.before)} -> {shown(self.after)}"

    @property
    def _name(self) -> str:
        one = self.candidate or self.base
        assert one is not None
        return one.name


def moves(pairing: Pairing, number: Number) -> list[Move]:
    """The kernels whose number moved, the largest move first; a kernel of one side alone moves all of its number.

    A kernel of which the number is not known on a side it is on has not moved.
    """
    pairs, removed, added = pairing
    found = [
        Move(ours, theirs, before, after)
        for ours, theirs in pairs
        if (before := number(ours)) is not None and (after := number(theirs)) is not None and before != after
    ]
    found += [Move(one, None, value, 0) for one in removed if (value := number(one))]
    found += [Move(None, one, 0, value) for one in added if (value := number(one))]
    return sorted(found, key=lambda one: (-abs(one.after - one.before), one.said(str)))


def sentence(found: Sequence[Move], shown: Callable[[int], str] = str) -> str:
    """The moves in words, each once, at most three of them; empty without any."""
    return listed(list(dict.fromkeys(one.said(shown) for one in found)), _MOST)


def registers(one: KernelUse) -> int | None:
    """Registers of a thread; None where it was not built."""
    return one.build.registers if one.build else None


def spilled(one: KernelUse) -> int | None:
    """Bytes that a thread spills and reads back; None where it was not built."""
    return one.build.spilled if one.build else None


def bytes_moved(one: KernelUse) -> int | None:
    """Bytes of one launch by Inductor's estimate; None where it has none."""
    return one.bytes_moved


# What a kernel takes -> how it is read and shown.
_NUMBERS: Final[Mapping[str, tuple[Number, Callable[[int], str]]]] = {
    "registers": (registers, str),
    "spilled": (spilled, size),
    "moves": (bytes_moved, size),
}


def numbers_moved(base: KernelUse, candidate: KernelUse) -> tuple[str, ...]:
    """What one kernel takes otherwise on two sides that both say: ``registers 32 -> 40``, ``moves 3.1 MB -> 4.2 MB``."""
    known = [(name, number(base), number(candidate), shown) for name, (number, shown) in _NUMBERS.items()]
    return tuple(
        f"{name} {shown(before)} -> {shown(after)}"
        for name, before, after, shown in known
        if before is not None and after is not None and before != after
    )
