"""How often verdicts about times are wrong, what they find, and how fast they are.

    python -m tests.benchmarks.verdicts [--comparisons 3000] [--seed 1]

Prints, over seeded synthetic replicas and over measured processes that all did the same (where the series lie beside the
checkout): verdicts of equal sides, power by effect, the two stages over many comparisons, what pooling rounds
would do, what a calibration promises against what is found, and the time each step takes.
"""

from __future__ import annotations

import argparse
import random
import statistics
import time
from collections import Counter
from collections.abc import Callable, Iterable
from functools import partial
from itertools import chain

from evaluator.verdicts.noise import detectable, floor, noise_of, replicas_needed
from evaluator.verdicts.policy import WARM_MARGIN
from evaluator.verdicts.ratio import ratio
from evaluator.verdicts.times import judge, judge_rerun
from tests.evaluator.verdicts.simulated import (
    SERIES,
    Side,
    equal_processes,
    interleaved,
    rounds,
    series,
    side,
)

SPREADS = (0.005, 0.01, 0.015, 0.03)
SIZES = ((5, 5), (8, 8))


def verdict(base: Side, candidate: Side, margin: float = WARM_MARGIN) -> str:
    return judge(series(base), series(candidate), margin=margin).verdict


def shares(pairs: Iterable[tuple[Side, Side]], margin: float = WARM_MARGIN) -> Counter[str]:
    """Each verdict's share of the comparisons."""
    found = Counter(verdict(base, candidate, margin) for base, candidate in pairs)
    total = sum(found.values())
    return Counter({word: count / total for word, count in found.items()})


def equal_sides(draw: random.Random, comparisons: int) -> None:
    print(f"\nEqual sides, margin {WARM_MARGIN:.0%}, {comparisons} comparisons each")
    print(
        f"{'sd':>6} {'sides':>6} {'p < .05':>8} {'regressed':>10} {'improved':>9} {'unchanged':>10} {'inconclusive':>13}"
    )
    for spread in SPREADS:
        for left, right in SIZES:
            pairs = [(side(draw, left, spread), side(draw, right, spread)) for _ in range(comparisons)]
            print(f"{spread:6.1%} {left:>3} v {right} {significant(pairs):8.1%} {row(shares(pairs))}")


def row(found: Counter[str]) -> str:
    return (
        f"{found['regressed']:10.2%} {found['improved']:9.2%} {found['unchanged']:10.1%}"
        f" {found['inconclusive']:13.1%}"
    )


def significant(pairs: Iterable[tuple[Side, Side]]) -> float:
    """The share of comparisons whose 95% interval leaves 1 out, whatever the margin."""
    found = [ratio(base, candidate) for base, candidate in pairs]
    return sum(one.low > 1 or one.high < 1 for one in found) / len(found)


def power(draw: random.Random, comparisons: int) -> None:
    print("\nShare found as regressed, by planted effect")
    effects = (0.02, 0.03, 0.04, 0.05, 0.07, 0.10, 0.25)
    print(f"{'sd':>6} {'sides':>6} " + " ".join(f"{effect:>7.0%}" for effect in effects))
    for spread in SPREADS:
        for left, right in SIZES:
            found = [
                shares(
                    (side(draw, left, spread), side(draw, right, spread, effect))
                    for _ in range(comparisons // 3)
                )["regressed"]
                for effect in effects
            ]
            print(f"{spread:6.1%} {left:>3} v {right} " + " ".join(f"{one:7.1%}" for one in found))


def two_stages(
    draw: random.Random, comparisons: int, real: int, spread: float = 0.015, effect: float = 0.05
) -> dict[str, int]:
    """Counts of a comparison of so many cells, ``real`` of which are slower by ``effect``: what each rule would report.

    ``significant``: false ones by p < .05 alone; ``margin``: false ones of the first stage; ``confirmed``: false
    ones after the second, 8 against 8 fresh replicas; ``found``: real ones after the second.
    """
    counts = dict.fromkeys(("significant", "margin", "confirmed", "found"), 0)
    for number in range(comparisons):
        is_real = number < real
        planted = effect if is_real else 0.0
        base, candidate = side(draw, 5, spread), side(draw, 5, spread, planted)
        first = judge(series(base), series(candidate), margin=WARM_MARGIN)
        bound = first.estimate
        assert bound is not None
        counts["significant"] += not is_real and (bound.low > 1 or bound.high < 1)
        if first.verdict not in ("regressed", "improved"):
            continue
        counts["margin"] += not is_real
        again = judge_rerun(
            first,
            series(side(draw, 8, spread)),
            series(side(draw, 8, spread, planted)),
            margin=WARM_MARGIN,
        )
        counts["found" if is_real else "confirmed"] += bool(again.confirmed)
    return counts


def of_rounds(draw: random.Random, replicas: int) -> list[list[float]]:
    """Rounds as they are measured: 1.5% between replicas and 2% within, 7 rounds each."""
    return rounds(draw, replicas, 7, 0.015, 0.02)


def medians(replicas: list[list[float]]) -> Side:
    return tuple(statistics.median(one) for one in replicas)


def pooled(draw: random.Random, comparisons: int) -> None:
    print("\nEqual sides, 1.5% between replicas and 2% within, 7 rounds each")
    for size, _ in SIZES:
        pairs = [(medians(of_rounds(draw, size)), medians(of_rounds(draw, size))) for _ in range(comparisons)]
        print(f"  medians, {size} v {size}: p < .05 in {significant(pairs):.1%}, {in_words(shares(pairs))}")
    sides = [(of_rounds(draw, 5), of_rounds(draw, 5)) for _ in range(comparisons)]
    flat = [(tuple(chain(*base)), tuple(chain(*candidate))) for base, candidate in sides]
    print(f"  5 x 7 rounds pooled: p < .05 in {significant(flat):.1%}")
    alone = [
        (tuple(rounds(draw, 1, 35, 0.015, 0.02)[0]), tuple(rounds(draw, 1, 35, 0.015, 0.02)[0]))
        for _ in range(comparisons)
    ]
    print(f"  35 rounds of one replica: p < .05 in {significant(alone):.1%}")


def in_words(found: Counter[str]) -> str:
    return ", ".join(f"{word} {share:.1%}" for word, share in found.most_common())


def calibrated(draw: random.Random, comparisons: int) -> None:
    print("\nA calibration of 16 replicas: its floor, what it calls detectable, and what is found of that")
    for spread in SPREADS:
        noise = noise_of("compiled.wall_ms", {n: [one] for n, one in enumerate(side(draw, 16, spread))}, 1)
        effect = detectable(noise.between_sd, 5)
        pairs = ((side(draw, 5, spread), side(draw, 5, spread, effect)) for _ in range(comparisons // 3))
        print(
            f"  sd {spread:.1%} (seen {noise.between_sd:.2%}): floor at 5 {floor(noise, 5):.1%}, at 8 {floor(noise, 8):.1%};"
            f" detectable at 5 {effect:.1%}, p < .05 in {significant(pairs):.0%};"
            f" a margin of 3% needs {replicas_needed(noise.between_sd, 0.03)} a side"
        )


def measured() -> None:
    if not SERIES.is_dir():
        print("\nMeasured series: not beside the checkout, left out")
        return
    print("\nMeasured processes that did the same, in turns, every window of neighbours")
    print(
        f"{'series':16} {'sides':>6} {'windows':>8} {'p < .05':>8} {'regressed':>10} {'improved':>9} {'unchanged':>10} {'inconclusive':>13}"
    )
    for name, values in equal_processes().items():
        for replicas in (5, 8):
            pairs = list(interleaved(values, replicas))
            print(
                f"{name:16} {replicas:>3} v {replicas} {len(pairs):>8} {significant(pairs):8.1%} {row(shares(pairs))}"
            )


def speed(draw: random.Random) -> None:
    print("\nMicroseconds a call")
    for size in (5, 8, 20):
        base, candidate = side(draw, size, 0.015), side(draw, size, 0.015)
        noise = noise_of("m", {n: [one] for n, one in enumerate(side(draw, 2 * size + 3, 0.015))}, 1)
        of_ratio = spent(partial(ratio, base, candidate))
        of_judge = spent(partial(judge, series(base), series(candidate), margin=WARM_MARGIN))
        of_floor = spent(partial(floor, noise, size), 20)
        print(f"  {size:>2} v {size:<2} ratio {of_ratio:6.0f}  judge {of_judge:6.0f}  floor {of_floor:6.0f}")


def spent(call: Callable[[], object], times: int = 500) -> float:
    start = time.perf_counter()
    for _ in range(times):
        call()
    return (time.perf_counter() - start) / times * 1e6


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--comparisons", type=int, default=3000, help="synthetic comparisons a line (3000)")
    parser.add_argument("--seed", type=int, default=1, help="of the random numbers (1)")
    arguments = parser.parse_args()
    draw = random.Random(arguments.seed)
    equal_sides(draw, arguments.comparisons)
    power(draw, arguments.comparisons)
    print("\nTwo stages: 3000 comparisons at 1.5%, 45 of them slower")
    for effect in (0.04, 0.05, 0.07, 0.10):
        counts = two_stages(draw, 3000, 45, effect=effect)
        print(
            f"  by {effect:.0%}: {counts['significant']} false with p < .05 alone, {counts['margin']} with the margin,"
            f" {counts['confirmed']} after the second stage; {counts['found']} of 45 found"
        )
    pooled(draw, arguments.comparisons)
    calibrated(draw, arguments.comparisons)
    measured()
    speed(draw)


if __name__ == "__main__":
    main()
