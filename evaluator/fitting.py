"""Which workloads of an upgrade fit into the time that ``--budget`` gives, and what is said of it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from evaluator.budget import Choice, Group, choose
from evaluator.errors import UserError
from evaluator.estimate import Figures, History, duration
from evaluator.plan import Unit


@dataclass(frozen=True)
class Fit:
    """What a budget takes. ``groups``: all there are, with the seconds that they take on all sides."""

    budget_s: float
    groups: tuple[Group, ...]
    choice: Choice

    @property
    def whole(self) -> bool:
        """Whether everything fits."""
        return not self.choice.left_out and not self.choice.one_bucket

    @property
    def note(self) -> str:
        """What it takes, in one clause."""
        if self.whole:
            return f"all {len(self.groups)} workloads fit into the budget of {duration(self.budget_s)}, about {self._takes}"
        names = sorted({name for name, _ in self.choice.left_out})
        return (
            f"the budget of {duration(self.budget_s)} takes {len(self.choice.only)} of {len(self.groups)} workloads, "
            f"the first bucket of each, about {self._takes}"
            + (f"; left out: {', '.join(names)}" if names else "")
        )

    @property
    def _takes(self) -> str:
        return duration(self.choice.seconds)

    @property
    def lines(self) -> Iterator[str]:
        """Each workload that is taken, with its time."""
        for group in self.groups:
            if (group.workload, group.variant) in self.choice.only:
                variant = "" if group.variant == "default" else f" [{group.variant}]"
                seconds = group.first_bucket_s if self.choice.one_bucket else group.all_buckets_s
                yield f"  {group.workload}{variant}: about {duration(seconds)}"


def fit(
    units: Sequence[Unit],
    whole_s: float,
    history: History,
    budget_s: float,
    told: Collection[str] = (),
    sides: int = 1,
) -> Fit:
    """What of these units fits. ``whole_s``: seconds that all of it takes; ``sides``: how often all of it is done.

    ``told``: workloads that come first. Raises UserError where nothing fits.
    """
    groups = _groups(units, history, sides)
    fixed = whole_s * sides - sum(group.all_buckets_s for group in groups)
    choice = choose(groups, fixed, budget_s, told)
    if groups and not choice.only:
        least = fixed + min(group.first_bucket_s for group in groups)
        raise UserError(
            f"nothing fits into {duration(budget_s)}: the cheapest workload takes about {duration(least)}; give a larger "
            "--budget or a smaller --profile"
        )
    return Fit(budget_s, tuple(groups), choice)


def _groups(units: Sequence[Unit], history: History, sides: int) -> list[Group]:
    figures = Figures(history)
    seconds: dict[tuple[str, str], dict[str, float]] = {}
    for unit in units:
        group = seconds.setdefault((unit.workload, unit.variant), {})
        for bucket in unit.buckets:
            spent, _ = figures.seconds(unit, bucket)
            group[bucket] = group.get(bucket, 0.0) + sides * spent
    return [
        Group(workload, variant, next(iter(buckets.values())), sum(buckets.values()))
        for (workload, variant), buckets in seconds.items()
    ]
