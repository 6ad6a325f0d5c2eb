"""Every reason that is declared is given by something, and nothing gives one that is not."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from evaluator.verdicts.findings import Verdicts
from evaluator.verdicts.sides import Noise, Pair
from evaluator.verdicts.whole import compare
from evaluator.verdicts.words import REASONS, ROUND_FLAGS
from tests.evaluator.verdicts.fused import (
    FUSED,
    SPLIT,
    base_of,
    candidate_of,
    codegen,
    refused,
    with_build,
)
from tests.evaluator.verdicts.given import (
    NEXT_TORCH,
    STEADY_8,
    accuracy,
    candidate,
    environment,
    failing,
    guard,
    kernel,
    pair,
    rung,
    series,
    side,
    site,
    times,
)

WALL, COLD, WARM = "compiled.wall_ms", "compile.cold_s", "compile.warm_cache_s"
WIDE = (8.0, 9.0, 10.0, 11.0, 12.0)


def warm(factor: float, values: tuple[float, ...] = STEADY_8, *flags: str) -> Pair:
    return pair(
        side(series={WALL: times(WALL, 1, values, flags)}),
        candidate(series={WALL: times(WALL, factor, values, flags)}),
    )


def cold(base: dict[str, float], other: dict[str, float], *flags: str) -> Pair:
    ours = series(**base)
    return pair(
        side(series={**ours, COLD: ours[COLD]._replace(flags=frozenset(flags))}, kernels=()),
        candidate(series=series(**other), kernels=()),
    )


def pairs() -> Iterator[Pair]:
    """A pair for each thing that can be said, some for several."""
    slow = warm(1.2)
    numbers = [series(compiled__wall_ms=factor, eager__wall_ms=factor) for factor in (1, 1.2)]
    again = (side(112, series=series(STEADY_8, compiled__wall_ms=1)),)
    yield slow  # same_kernels, not_rerun
    yield replace(slow, interleaved=False)
    yield replace(slow, rerun=(*again, side(157, series=series(STEADY_8, compiled__wall_ms=1.2))))
    yield replace(slow, rerun=(*again, side(157, series=series(STEADY_8, compiled__wall_ms=1))))
    spread = (6.0, 7.0, 8.0, 10.0, 10.5, 12.0, 14.0, 16.0)
    undecided = [
        side(one, series=series(spread, compiled__wall_ms=factor)) for one, factor in ((112, 1), (157, 1.37))
    ]
    yield replace(slow, rerun=(undecided[0], undecided[1]))
    yield pair(side(series=numbers[0]), candidate(series=numbers[1]))  # operators_moved
    other = candidate(series=series(STEADY_8, compiled__wall_ms=1.2), kernels=(kernel(body="x"),))
    yield replace(slow, candidate=other)
    blank = (replace(one, kernels=()) for one in (slow.base, slow.candidate) if one is not None)
    rungs = rung("eager", side(series=numbers[0]), candidate(series=series(compiled__wall_ms=1.2)))
    yield pair(*blank, rungs=(rungs,))  # layer_moved
    yield pair(side(), candidate({"graph_breaks": 1}, breaks=(site(),)))
    yield pair(side(facts={"graph_breaks": 1}, breaks=(site(),)), candidate())
    yield pair(side(), candidate({"recompiles": 1}, guards=(guard(),)))
    yield pair(side(facts={"recompiles": 1}, guards=(guard(),)), candidate())
    yield pair(side(), candidate({"recompile_limit_hit": True, "ran_eager": "some"}))  # limit_hit
    yield pair(
        side(series={WARM: times(WARM)}), candidate(series={WARM: times(WARM, 4, flags=["cache_missed"])})
    )
    yield cold({"compile__cold_s": 1}, {"compile__cold_s": 2}, "cache_hit")
    yield cold(
        {"compile__cold_s": 1, "compile__dynamo_s": 0.2}, {"compile__cold_s": 2, "compile__dynamo_s": 1.2}
    )
    numbers_of_both = {"series": series(compiled__wall_ms=1, compile__host_peak_mb=1)}
    yield pair(side(**numbers_of_both), failing())  # new_error, one_side_failed
    yield pair(failing(12), failing(**numbers_of_both))
    yield pair(side(), None)
    yield pair(side(), candidate(status="unsupported"))
    yield pair(side(**numbers_of_both), candidate())  # not_measured
    yield pair(side(), candidate(), candidate_definition="another")
    yield pair(side(**numbers_of_both), candidate(machine="another", **numbers_of_both))
    yield pair(side(**numbers_of_both), candidate(**numbers_of_both))  # different_builds
    yield pair(side(**numbers_of_both), candidate({"nothing_compiled": True}, **numbers_of_both))
    yield pair(side(**numbers_of_both), candidate({"ran_eager": "some"}, **numbers_of_both))
    yield pair(side(), replace(candidate(), facts=None))
    yield pair(side(), candidate(accuracy=accuracy("not_comparable")))
    yield warm(1.2, STEADY_8[:3], *ROUND_FLAGS)
    yield warm(1.01)  # below_margin
    yield warm(1.0, WIDE)
    yield codegen(base_of(FUSED), candidate_of(*SPLIT))  # fusion_lost
    yield codegen(base_of(*SPLIT), candidate_of(FUSED))
    yield codegen(base_of(FUSED), candidate_of(with_build(FUSED, spill_loads=4)))  # new_spill
    yield codegen(base_of(FUSED), candidate_of(replace(FUSED, build=refused())))
    yield codegen(base_of(FUSED), candidate_of(with_build(FUSED, sass_hash="another")))
    yield codegen(base_of(FUSED), candidate_of(replace(FUSED, launch_hash="another")))
    yield codegen(base_of(FUSED), candidate_of(replace(FUSED, bytes_moved=1)))  # estimate_moved
    yield replace(warm(1.04), noise={WALL: Noise(WALL, 0.2, None, 1, STEADY_8[:4], 1)})


def given(found: Verdicts) -> set[str]:
    findings = [one for cell in found.cells for one in cell.findings]
    codes = {code for one in (*findings, *found.environment) for code in one.reasons}
    return codes | {one.cause.code for one in findings if one.cause is not None and one.cause.code}


def all_given(every: Iterable[Pair]) -> set[str]:
    every = list(every)
    base = environment()
    others = (
        environment(NEXT_TORCH),
        environment({"copy": 2}),
        environment({**NEXT_TORCH, "libraries": {"numpy": "9", "transformers": "5.24.0"}}),
    )
    return set().union(*(given(compare(base, other, every)) for other in others))


def test_reasons_are_those_that_can_be_given() -> None:
    assert all_given(pairs()) == set(REASONS)
