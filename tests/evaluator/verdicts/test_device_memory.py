"""A GPU's memory between versions: what was given out is judged, what the allocator keeps is not, graphs' pools apart."""

from __future__ import annotations

import pytest

from evaluator.verdicts.cells import compare_cell
from evaluator.verdicts.findings import Finding
from evaluator.verdicts.policy import Policy
from evaluator.worker.protocol import METRICS
from evaluator.worker.targets.cuda.memory import METRIC_NAMES
from tests.evaluator.verdicts.given import candidate, pair, series, side, times

COMPILE = "compile.device_allocated_peak_mb"
CALL = "compiled.device_allocated_peak_mb"
POOLS = "compiled.device_private_pools_mb"


def findings(metric: str, base: tuple[float, ...], other: tuple[float, ...]) -> dict[str, Finding]:
    """Of a cell that has this memory, and a call that takes as long as ever."""
    calls = series(compiled__wall_ms=1)
    pairs = (side(series={metric: times(metric, values=base)} | calls),
             candidate(series={metric: times(metric, values=other)} | calls))  # fmt: skip
    cell = compare_cell(pair(*pairs), Policy(), different_builds=False, dependencies=1)
    assert cell.verdict == "unchanged"
    return {one.metric: one for one in cell.findings}


@pytest.mark.parametrize(
    ("metric", "factor", "verdict"),
    [
        # An allocator's counts do not spread. By hand: 3% for calls and pools, 10% for a compile.
        (CALL, 1.0, "unchanged"),
        (CALL, 1.02, "unchanged"),
        (CALL, 1.05, "regressed"),
        (CALL, 0.9, "improved"),
        (POOLS, 1.05, "regressed"),
        (COMPILE, 1.05, "unchanged"),
        (COMPILE, 1.2, "regressed"),
    ],
)
def test_what_is_given_out_is_judged_by_replicas_and_gates_nothing(
    metric: str, factor: float, verdict: str
) -> None:
    found = findings(metric, (64.0,) * 5, (64.0 * factor,) * 5)[metric]
    assert (found.verdict, found.kind, found.gating, found.unit) == (verdict, "memory", False, "MB")
    assert found.estimate is not None
    assert found.estimate.ratio == pytest.approx(factor)


def test_one_replica_says_nothing_yet() -> None:
    found = findings(CALL, (64.0,), (128.0,))[CALL]
    assert (found.verdict, found.reasons) == ("inconclusive", ("too_few_replicas",))


def test_what_the_allocator_keeps_or_took_is_no_finding() -> None:
    assert METRICS.keys() >= {f"compiled.{name}" for name in METRIC_NAMES}
    judged = {CALL, POOLS}
    for name in METRIC_NAMES:
        metric = f"compiled.{name}"
        assert (metric in findings(metric, (10.0,) * 5, (50.0,) * 5)) == (metric in judged), metric
    assert "compile.device_reserved_peak_mb" not in findings(
        "compile.device_reserved_peak_mb", (10.0,) * 5, (50.0,) * 5
    )


def test_memory_that_neither_side_takes_is_no_finding() -> None:
    # No pools without CUDA graphs; and with them a replay gives nothing out.
    for metric in (CALL, POOLS):
        assert metric not in findings(metric, (0.0,) * 5, (0.0,) * 5)


@pytest.mark.parametrize(
    ("base", "other", "verdict", "text"),
    [
        ((0.0,) * 5, (40.0,) * 5, "changed", "0 MB -> 40 MB"),
        ((40.0,) * 5, (0.0,) * 5, "changed", "40 MB -> 0 MB"),
        ((0.0,), (40.0,), "inconclusive", "0 MB -> 40 MB"),
    ],
)
def test_from_none_to_some_has_no_ratio_and_is_not_called_unmeasured(
    base: tuple[float, ...], other: tuple[float, ...], verdict: str, text: str
) -> None:
    found = findings(POOLS, base, other)[POOLS]
    assert (found.verdict, found.text, found.gating) == (verdict, text, False)
    assert "not_measured" not in found.reasons


def test_what_one_side_did_not_measure_stays_so() -> None:
    calls = series(compiled__wall_ms=1)
    pools = {POOLS: times(POOLS, values=(0.0,) * 5)}
    cell = compare_cell(
        pair(side(series=calls | pools), candidate(series=calls)),
        Policy(),
        different_builds=False,
        dependencies=1,
    )
    (found,) = [one for one in cell.findings if one.metric == POOLS]
    assert (found.verdict, found.reasons) == ("not_compared", ("not_measured",))
