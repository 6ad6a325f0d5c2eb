"""What fits into a limited time: the most telling cells first. Pure."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final

# Kept back for the second stage and the ladder; what they take is known only when the first stage is done.
RESERVE: Final = 0.3


@dataclass(frozen=True)
class Group:
    """A workload in one variant, which is evaluated as a whole: seconds that its first bucket, or all, take."""

    workload: str
    variant: str
    first_bucket_s: float
    all_buckets_s: float

    @property
    def theme(self) -> str:
        """What it has in common with others: the first part of its name."""
        return self.workload.split(".")[0]


@dataclass(frozen=True)
class Choice:
    """What fits: (workload, variant) pairs; whether each has its first bucket only; what was left out."""

    only: tuple[tuple[str, str], ...]
    one_bucket: bool
    left_out: tuple[tuple[str, str], ...]
    seconds: float


def choose(groups: Sequence[Group], fixed_s: float, budget_s: float, told: Collection[str] = ()) -> Choice:
    """The groups to evaluate within a budget, in their given order. ``fixed_s``: what is spent whatever is chosen.

    All buckets of everything if that fits. Otherwise the first bucket of each, the most telling first: workloads that
    told something the last time (``told``), then one of each theme in turn, the cheaper first, until the time is full.
    Nothing fits: the choice is empty.
    """
    room = budget_s * (1 - RESERVE) - fixed_s
    whole = sum(group.all_buckets_s for group in groups)
    if whole <= room:
        return Choice(tuple((g.workload, g.variant) for g in groups), False, (), whole + fixed_s)
    chosen: set[tuple[str, str]] = set()
    spent = 0.0
    for group in _most_telling(groups, told):
        if spent + group.first_bucket_s <= room:
            chosen.add((group.workload, group.variant))
            spent += group.first_bucket_s
    pairs = [(group.workload, group.variant) for group in groups]
    return Choice(
        tuple(pair for pair in pairs if pair in chosen),
        True,
        tuple(pair for pair in pairs if pair not in chosen),
        spent + fixed_s,
    )


def _most_telling(groups: Sequence[Group], told: Collection[str]) -> list[Group]:
    cheaper = sorted(groups, key=lambda group: group.first_bucket_s)
    turn: dict[str, int] = {}
    ranked = []
    for group in cheaper:
        turn[group.theme] = turn.get(group.theme, 0) + 1
        ranked.append((group.workload not in told, turn[group.theme], group.first_bucket_s, group))
    return [group for *_, group in sorted(ranked, key=lambda item: item[:3])]
