"""What equal sides show: noise of a cell and metric from a calibration, and what it allows to see.

All spreads are standard deviations of logs, so 0.015 is 1.5%; what is returned for a reader or a margin is a relative
difference (0.03: one side is 1.03 times the other). Source of the formulas: the power of a
two-sample test of normal data, 80% at a two-sided 5%.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from evaluator.verdicts.policy import LEAST_REPLICAS
from evaluator.verdicts.ratio import log_shift
from evaluator.verdicts.sides import Noise

# What an interleaved comparison has at least: 5 against 5 reaches 99% confidence, 4 against 4 only 97%.
USUAL_REPLICAS: Final = 5
# "This or more": where so many are asked for, the true ratio lies at the margin, and no number settles it.
MOST_REPLICAS: Final = 1000

# Two-sided 5% and 80% power: 1.96 + 0.84; and its square times 2, for the number of replicas.
_POWER_DEVIATIONS: Final = 2.8
_POWER_REPLICAS: Final = 16
# Below this the normal rule is short by about two: the spread is estimated too, and ranks lose a little.
_FEW: Final = 20
# Two-sided 5% of a normal, and the efficiency of the Hodges-Lehmann estimate on normal data: 3 / pi.
_TWO_SIDED_95: Final = 1.959964
_EFFICIENCY: Final = 3 / math.pi
# Of fewer splits the 95th percentile is nearly the largest, and that of 16 (5 pairs) came out a fifth too low.
_LEAST_SPLITS: Final = 64
# Enough for a 95th percentile; each costs 5 to 20 microseconds, and a comparison asks for thousands of floors.
_MOST_SPLITS: Final = 256


def noise_of(metric: str, rounds_by_replica: Mapping[int, Sequence[float]], run: int) -> Noise:
    """The noise that the replicas of one environment showed for a metric of one cell.

    ``rounds_by_replica``: replica number -> its rounds (one sample where it has no rounds), in the metric's unit.
    Numbers that are not positive and finite are left out, as failed measurements are. ``run``: id of the calibration.
    Raises ValueError with fewer than 2 replicas: one has no spread.
    """
    kept = [
        [one for one in rounds if math.isfinite(one) and one > 0]
        for _, rounds in sorted(rounds_by_replica.items())
    ]
    logs = [[math.log(one) for one in rounds] for rounds in kept if rounds]
    if len(logs) < 2:
        raise ValueError(f"noise of {metric} needs 2 replicas or more, not {len(logs)}")
    values = tuple(statistics.median(rounds) for rounds in kept if rounds)
    freedom = sum(len(rounds) - 1 for rounds in logs)
    squares = sum((one - statistics.fmean(rounds)) ** 2 for rounds in logs for one in rounds)
    return Noise(
        metric=metric,
        between_sd=statistics.stdev(math.log(value) for value in values),
        within_sd=math.sqrt(squares / freedom) if freedom else None,
        rounds=statistics.median_low(len(rounds) for rounds in logs),
        values=values,
        run=run,
    )


def usable(noise: Noise | None) -> Noise | None:
    """The noise where its replicas can say what is usual: of fewer than 4 the spread may be off by several times."""
    return noise if noise is not None and len(noise.values) >= LEAST_REPLICAS else None


def floor(noise: Noise, replicas: int) -> float:
    """What equal sides exceed in 5% of comparisons: 95th percentile of the estimate's relative difference from 1.

    With enough calibrated replicas (16 for sides of 8, 13 for sides of 5), from splits of them into two equal sides:
    of two neighbours in time each side gets one, as in an interleaved run, so that a drift of the machine is not
    counted as noise. With fewer, from the normal model. ``replicas``: of a side, at least 1.
    """
    if replicas < 1:
        raise ValueError("a side has at least 1 replica")
    estimates = sorted(abs(one) for one in _split_estimates(noise.values, replicas))
    if estimates:
        position = 0.95 * (len(estimates) - 1)
        lower = int(position)
        upper = min(lower + 1, len(estimates) - 1)
        return math.expm1(estimates[lower] + (position - lower) * (estimates[upper] - estimates[lower]))
    return math.expm1(_TWO_SIDED_95 * noise.between_sd * math.sqrt(2 / (replicas * _EFFICIENCY)))


def detectable(noise_sd: float, replicas: int) -> float:
    """The relative difference that a comparison with so many replicas a side finds in 4 of 5 cases.

    2.8 sd sqrt(2 / P), where ``noise_sd`` is that of logs of replica values, so the rounds' part is in it. Source: the normal
    two-sample rule. Below 20 replicas P is taken as 2 fewer, as ``replicas_needed`` adds 2: with 5 against 5 the plain
    rule's effect was found in 56% of cases, this one's in 81%. ``replicas``: of a side; below 4 nothing is found at all.
    """
    if replicas < 1:
        raise ValueError("a side has at least 1 replica")
    counted = replicas if replicas >= _FEW else max(1, replicas - 2)
    return math.expm1(_POWER_DEVIATIONS * noise_sd * math.sqrt(2 / counted))


def replicas_needed(noise_sd: float, effect: float) -> int:
    """Replicas a side that find a relative difference of ``effect`` in 4 of 5 cases: 16 (sd/d)^2, and 2 more if few.

    ``noise_sd``: sd of log replica values. At least 5, the least that an interleaved run uses, and at most
    ``MOST_REPLICAS``. Raises ValueError unless the effect is above 0.
    """
    if effect <= 0 or noise_sd < 0:
        raise ValueError("an effect above 0 and a spread of 0 or more are needed")
    distance = math.log1p(effect)
    if noise_sd >= distance * math.sqrt(MOST_REPLICAS / _POWER_REPLICAS):
        return MOST_REPLICAS
    exact = _POWER_REPLICAS * (noise_sd / distance) ** 2
    return max(USUAL_REPLICAS, math.ceil(max(exact, min(exact + 2, _FEW))))


def replicas_above_noise(noise_sd: float, effect: float) -> int:
    """Replicas a side of which equal sides exceed ``effect`` in 5% of comparisons: the normal model of ``floor`` solved.

    From 1 to ``MOST_REPLICAS``. Raises ValueError unless the effect is above 0.
    """
    if effect <= 0 or noise_sd < 0:
        raise ValueError("an effect above 0 and a spread of 0 or more are needed")
    exact = 2 * (_TWO_SIDED_95 * noise_sd / math.log1p(effect)) ** 2 / _EFFICIENCY
    return min(MOST_REPLICAS, max(1, math.ceil(exact)))


def _split_estimates(values: Sequence[float], replicas: int) -> Iterator[float]:
    """Log shifts between the halves of balanced splits of ``2 * replicas`` neighbours; none where too few."""
    logs = [math.log(value) for value in values]
    windows = len(logs) - 2 * replicas + 1
    # The last pair's order is fixed: swapping every pair swaps the sides, and only the size counts.
    codes = 1 << (replicas - 1)
    if windows * codes < _LEAST_SPLITS:
        return
    step = max(1, windows * codes // _MOST_SPLITS)
    # An odd step visits every pattern of the low bits, where an even one would never swap the first pair.
    step += 1 - step % 2
    for number in range(0, windows * codes, step):
        start, code = divmod(number, codes)
        base, candidate = [], []
        for pair in range(replicas):
            left, right = logs[start + 2 * pair], logs[start + 2 * pair + 1]
            swapped = code >> pair & 1
            base.append(right if swapped else left)
            candidate.append(left if swapped else right)
        yield log_shift(base, candidate)
