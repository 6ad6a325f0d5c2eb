"""What two groups of replica values of a time say: regressed, improved, unchanged, or inconclusive and why.

The unit is the replica: a value is the median of one replica's rounds, never one round (pooled rounds call every
fourth pair of equal sides different). More is worse.
"""

from __future__ import annotations

import math
import statistics
from dataclasses import dataclass
from typing import Final, NamedTuple

from evaluator.verdicts.findings import Estimate
from evaluator.verdicts.noise import (
    MOST_REPLICAS,
    USUAL_REPLICAS,
    floor,
    replicas_above_noise,
    replicas_needed,
    usable,
)
from evaluator.verdicts.policy import LEAST_REPLICAS, Policy
from evaluator.verdicts.ratio import Ratio, critical_value, ratios
from evaluator.verdicts.sides import Noise, Series
from evaluator.verdicts.words import Magnitude, Verdict, round_flags

# Classes of a change by multiples of the margin that was used: below twice it small, below five times it medium, else
# large. With 3% of a warm time: to 6%, to 15%; with 10% of a cold compile: to 20%, to 50%.
SMALL_BELOW: Final = 2.0
MEDIUM_BELOW: Final = 5.0

# Neither a time nor an amount of memory is as large in any of their units, or as small as 1 by this.
_IMMENSE: Final = 1e15

_DEFAULT: Final = Policy()


class TimeJudgement(NamedTuple):
    """The verdict about one time. ``reasons`` are codes of ``words.REASONS``.

    ``estimate`` is None where no interval of the confidence exists (too few replicas, nothing measured). ``base`` and
    ``candidate``: medians of the replica values, in the series' unit, None where not measured. ``more_replicas``: of an
    inconclusive one, how many more a side would likely settle it (``noise.MOST_REPLICAS`` in all: that or more); with
    ``too_few_replicas`` the least with which anything can be said, since no spread is known.
    ``magnitude``: of a regressed or improved one.
    """

    verdict: Verdict
    estimate: Estimate | None
    reasons: tuple[str, ...]
    more_replicas: int | None
    magnitude: Magnitude | None
    base: float | None = None
    candidate: float | None = None


@dataclass(frozen=True)
class TimeRerun:
    """What a fresh rerun says of a candidate. ``confirmed``: True: found again, in the same direction; False: not
    found again; None: the rerun could not decide (too few replicas, nothing measured, or the same once more without
    being sure), so that the finding stays unconfirmed."""

    confirmed: bool | None
    judgement: TimeJudgement


def judge(
    base: Series | None,
    candidate: Series | None,
    *,
    margin: float,
    confidence: float = _DEFAULT.confidence,
    equivalence_confidence: float = _DEFAULT.equivalence_confidence,
    noise: Noise | None = None,
) -> TimeJudgement:
    """Judge a time of two sides that were measured on one machine.

    With r the Hodges-Lehmann ratio, m the margin, and b the noise floor at this number of replicas where that is more
    than m, else m: ``regressed``: the interval of ``confidence`` above 1 and r >= 1 + b; ``improved``: its mirror image;
    ``unchanged``: the interval of ``equivalence_confidence`` inside 1 / (1 + m) to 1 + m; else ``inconclusive``, with
    ``within_noise`` where the floor alone forbids a change. Noise never widens what counts as equal. The estimate's
    ``margin`` is b. Noise of fewer than 4 replicas is not used.
    Below 4 replicas a side, or where the sizes allow no interval of this confidence, always ``inconclusive``.
    ``not_compared`` (``not_measured``) where a side has no value, or one that is no positive number.
    """
    if base is None or candidate is None or not (measured(base) and measured(candidate)):
        return TimeJudgement("not_compared", None, ("not_measured",), None, None)
    sizes = len(base.values), len(candidate.values)
    medians = statistics.median(base.values), statistics.median(candidate.values)
    flagged = round_flags(base.flags | candidate.flags)
    strictest = max(confidence, equivalence_confidence)
    if min(sizes) < LEAST_REPLICAS or not _have_interval(*sizes, strictest):
        more = _fewest(strictest) - min(sizes)
        return TimeJudgement("inconclusive", None, ("too_few_replicas", *flagged), more, None, *medians)

    wide, narrow = ratios(base.values, candidate.values, confidence, equivalence_confidence)
    noise = usable(noise)
    bar = margin if noise is None else max(margin, floor(noise, min(sizes)))
    estimate = Estimate(wide.ratio, wide.low, wide.high, confidence, bar, *sizes)
    verdict = _verdict(wide, narrow, margin, bar)
    settling: int | None = None
    if verdict == "inconclusive":
        needed = [_more(base, candidate, wide, margin)]
        if noise is not None and _verdict(wide, narrow, margin, margin) != verdict:
            needed.append(_more_than_noise(noise, wide, min(sizes)))
        settling = max(needed)
    return TimeJudgement(
        verdict=verdict,
        estimate=estimate,
        reasons=(*_why(verdict, wide, narrow, margin), *flagged),
        more_replicas=settling,
        magnitude=magnitude(wide.ratio, bar) if verdict in ("regressed", "improved") else None,
        base=medians[0],
        candidate=medians[1],
    )


def judge_rerun(
    stage1: TimeJudgement,
    base: Series | None,
    candidate: Series | None,
    *,
    margin: float,
    confidence: float = _DEFAULT.rerun_confidence,
    equivalence_confidence: float = _DEFAULT.equivalence_confidence,
    noise: Noise | None = None,
) -> TimeRerun:
    """The second stage: judge the fresh values alone, by the same margin at 99%, and say whether they confirm.

    Of thousands of comparisons some cross the limits of the first stage by luck alone; two in a row hardly do. The first
    stage's values are not used again, since it is their luck that is in doubt. Raises ValueError where the first
    stage found nothing to confirm (neither regressed nor improved).
    """
    if stage1.verdict not in ("regressed", "improved"):
        raise ValueError(f"nothing to confirm in a time that is {stage1.verdict}")
    again = judge(
        base,
        candidate,
        margin=margin,
        confidence=confidence,
        equivalence_confidence=equivalence_confidence,
        noise=noise,
    )
    if again.estimate is None:
        return TimeRerun(None, again)
    if again.verdict == stage1.verdict:
        return TimeRerun(True, again)
    # A rerun whose own estimate is beyond the margin again, and whose interval is too wide to be sure, clears nothing.
    ratio_again = again.estimate.ratio if stage1.verdict == "regressed" else 1 / again.estimate.ratio
    points_there = again.verdict == "inconclusive" and ratio_again >= 1 + margin
    return TimeRerun(None if points_there else False, again)


def magnitude(change: float, margin: float) -> Magnitude:
    """The class of a ratio by multiples of the margin. An improvement is measured by its mirror image, 1 / ratio."""
    relative = max(change, 1 / change) - 1
    if relative < SMALL_BELOW * margin:
        return "small"
    return "medium" if relative < MEDIUM_BELOW * margin else "large"


def measured(series: Series | None) -> bool:
    """Whether there are values, and all are positive numbers that something can measure: one that is not comes of a
    clock or a record that is broken."""
    if series is None or not series.values:
        return False
    # Asked four times of each series, and a generator takes twice as long.
    for one in series.values:  # noqa: SIM110
        if not 1 / _IMMENSE < one < _IMMENSE:
            return False
    return True


def _have_interval(base: int, candidate: int, confidence: float) -> bool:
    try:
        critical_value(base, candidate, confidence)
    except ValueError:
        return False
    return True


def _fewest(confidence: float) -> int:
    """The replicas a side to ask for where there are too few: the usual number, or more if the confidence needs it."""
    for each in range(USUAL_REPLICAS, 100):
        if _have_interval(each, each, confidence):
            return each
    raise ValueError(f"no number of replicas that can be had reaches a confidence of {confidence:g}")


def _verdict(wide: Ratio, narrow: Ratio, margin: float, bar: float) -> Verdict:
    if wide.low > 1 and wide.ratio >= 1 + bar:
        return "regressed"
    if wide.high < 1 and wide.ratio <= 1 / (1 + bar):
        return "improved"
    if 1 / (1 + margin) < narrow.low and narrow.high < 1 + margin:
        return "unchanged"
    return "inconclusive"


def _why(verdict: Verdict, wide: Ratio, narrow: Ratio, margin: float) -> tuple[str, ...]:
    """The reason code of a verdict that is not a change, and of an unchanged one that is not simply so."""
    if verdict in ("regressed", "improved"):
        return ()
    if _verdict(wide, narrow, margin, margin) != verdict:
        return ("within_noise",)
    if wide.low > 1 or wide.high < 1:
        return ("below_margin",)
    return () if verdict == "unchanged" else ("interval_wide",)


def _more(base: Series, candidate: Series, wide: Ratio, margin: float) -> int:
    """How many more replicas a side would likely settle it, if the estimate is the truth and the spread stays.

    Beyond the margin the interval has to leave 1 behind; inside, it has to end before the margin. Either distance is
    an effect that needs 16 (sd/d)^2 replicas.
    """
    logs = [[math.log(one) for one in side.values] for side in (base, candidate)]
    freedom = sum(len(side) - 1 for side in logs)
    squares = sum((one - statistics.fmean(side)) ** 2 for side in logs for one in side)
    shift, limit = abs(math.log(wide.ratio)), math.log1p(margin)
    distance = shift if shift >= limit else limit - shift
    # Both are 0 where every difference counts and none was seen: no number of replicas shows that.
    effect = math.expm1(distance)
    needed = replicas_needed(math.sqrt(squares / freedom), effect) if effect > 0 else MOST_REPLICAS
    return max(1, needed - min(len(side) for side in logs))


def _more_than_noise(noise: Noise, wide: Ratio, replicas: int) -> int:
    """How many more replicas a side bring what equal sides show below this estimate."""
    effect = max(wide.ratio, 1 / wide.ratio) - 1
    return max(1, replicas_above_noise(noise.between_sd, effect) - replicas)
