"""Where the parts of an interval's drawing are: geometry only, the template draws it."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from evaluator.report import phrases
from evaluator.verdicts.findings import Estimate

# A scale reaches at least this many margins to each side, so that a small change looks small, and at most a
# factor of two: beyond that an arrow says that it goes on.
_LEAST_MARGINS: Final = 3.0
_MOST: Final = math.log(2.0)
# The widest tenth of the intervals may leave the scale, so that one noisy cell does not flatten the rest.
_SHOWN_SHARE: Final = 0.9


@dataclass(frozen=True)
class Scale:
    """A logarithmic axis of ratios around no change. ``reach``: the log of the largest ratio on it."""

    reach: float

    def place(self, ratio: float) -> float:
        """Where a ratio stands, from 0 (left end) to 1; what is beyond an end stands there."""
        if not ratio > 0:
            return 0.0
        return min(1.0, max(0.0, (math.log(ratio) / self.reach + 1) / 2)) if ratio < math.inf else 1.0

    def beyond(self, ratio: float) -> bool:
        """Whether a ratio is off the scale."""
        return not 0 < ratio < math.inf or abs(math.log(ratio)) > self.reach

    @property
    def ends(self) -> tuple[str, str]:
        """The ratios at both ends as percentages."""
        return phrases.percent(math.exp(-self.reach)), phrases.percent(math.exp(self.reach))


@dataclass(frozen=True)
class Drawing:
    """An interval on its scale; all places in 0..100. ``label`` says the same in words, for who can't see it."""

    low: float
    high: float
    middle: float
    margin_low: float
    margin_high: float
    low_beyond: bool
    high_beyond: bool
    label: str


def scale_of(estimates: Iterable[Estimate]) -> Scale:
    """One scale for these estimates, so that their drawings can be compared by eye."""
    listed = list(estimates)
    reaches = sorted(
        max(abs(math.log(end)) for end in (one.low, one.ratio, one.high) if 0 < end < math.inf)
        for one in listed
        if any(0 < end < math.inf for end in (one.low, one.ratio, one.high))
    )
    widest = reaches[math.ceil(len(reaches) * _SHOWN_SHARE) - 1] if reaches else 0.0
    margin = max((math.log1p(one.margin) for one in listed), default=0.0)
    return Scale(min(_MOST, max(widest * 1.1, _LEAST_MARGINS * margin, 0.01)))


def draw(estimate: Estimate, scale: Scale) -> Drawing:
    """The drawing of an estimate: its interval, its middle, and the margin within which nothing counts."""

    def place(ratio: float) -> float:
        return round(100 * scale.place(ratio), 2)

    margin = 1 + estimate.margin
    return Drawing(
        low=place(estimate.low),
        high=place(estimate.high),
        middle=place(estimate.ratio),
        margin_low=place(1 / margin),
        margin_high=place(margin),
        low_beyond=scale.beyond(estimate.low),
        high_beyond=scale.beyond(estimate.high),
        label=f"{phrases.interval(estimate)}, {phrases.samples(estimate)}",
    )
