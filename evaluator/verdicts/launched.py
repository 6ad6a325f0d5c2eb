"""Kernels that compiled calls of two sides were seen to launch: which and how many, and never that fewer is better."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Final

from evaluator.verdicts.findings import Evidence, Finding
from evaluator.verdicts.pairs import finding
from evaluator.verdicts.sides import Launched, Side
from evaluator.verdicts.wording import listed

_WHAT: Final = "kernels launched in a compiled call"
# A C++ function as a trace writes it out: what it returns, whose it is, and from here on what it was instantiated with.
_WRITTEN_OUT: Final = re.compile(r"[<(].*", re.DOTALL)
_MOST: Final = 3


def judge_launched(sides: tuple[Side, Side]) -> list[Finding]:
    """``launches``, a fact without a direction, where both sides' batches are known in full; nothing elsewhere.

    A kernel is told by its name, which is all that a trace says of it: another library's kernel is another one. What
    Inductor generates may keep its name and be other code, which ``kernels`` tells.
    """
    ours, theirs = (side.launched for side in sides)
    if ours is None or theirs is None:
        return []
    base, candidate = _per_call(ours), _per_call(theirs)
    values = (_number(sum(base.values())), _number(sum(candidate.values())))
    if base == candidate:
        text = f"{_WHAT}: the same {values[0]} on both sides"
        return [finding(sides, "launches", "unchanged", text, values, kind="set")]
    parts = [f"{values[0]} -> {values[1]}"]
    for word, more, fewer in (("more of", candidate, base), ("less of", base, candidate)):
        others = {name: count - fewer.get(name, 0) for name, count in more.items()}
        if names := _names({name: count for name, count in others.items() if count > 0}):
            parts.append(f"{word} {names}")
    made = finding(sides, "launches", "changed", f"{_WHAT}: {'; '.join(parts)}", values, kind="set")
    moved = {name for name in base.keys() | candidate.keys() if base.get(name) != candidate.get(name)}
    return [made._replace(evidence=(*_evidence(ours, moved, "base"), *_evidence(theirs, moved, "candidate")))]


def _per_call(batch: Launched) -> dict[str, Fraction]:
    """Launches of each name a call: two batches need not have equally many calls."""
    counted: Counter[str] = Counter()
    for _, name, launches in batch.kernels:
        counted[name] += launches
    return {name: Fraction(launches, batch.calls) for name, launches in counted.items()}


def _names(counts: Mapping[str, Fraction]) -> str:
    """The names, the most launched first, with how often a call; a template's as one, since what tells them is long."""
    short: dict[str, Fraction] = {}
    for name, count in counts.items():
        short[_short(name)] = short.get(_short(name), Fraction(0)) + count
    ordered = sorted(short.items(), key=lambda one: (-one[1], one[0]))
    return listed([f"{name} ({_number(count)} a call)" for name, count in ordered], _MOST)


def _short(name: str) -> str:
    words = _WRITTEN_OUT.sub("", name.replace("(anonymous namespace)::", "")).split()
    return words[-1].removeprefix("at::native::") if words else name


def _number(count: Fraction | int) -> int | float:
    return int(count) if count == int(count) else round(float(count), 2)


def _evidence(batch: Launched, names: Iterable[str], side: str) -> tuple[Evidence, ...]:
    wanted = set(names)
    return tuple(Evidence("observed_kernel", row, side) for row, name, _ in batch.kernels if name in wanted)
