"""Accuracy across versions: each side's own verdict, and the outputs against each other."""

from __future__ import annotations

import math

import pytest
import torch

from evaluator.verdicts.accuracy import DRIFT_SLACK, TOLERANCES, judge_accuracy, judge_drift
from evaluator.verdicts.findings import Finding
from evaluator.verdicts.sides import LeafDigest
from tests.evaluator.verdicts.given import accuracy, candidate, failing, leaf, side


def drift(base: LeafDigest, other: LeafDigest) -> Finding:
    found = judge_drift(side(accuracy=accuracy("pass", base)), candidate(accuracy=accuracy("pass", other)))
    assert found is not None
    assert not found.gating
    return found


def by_metric(base: str | None, other: str | None) -> dict[str, Finding]:
    found = judge_accuracy(side(accuracy=accuracy(base)), candidate(accuracy=accuracy(other, reason="off")))
    return {one.metric: one for one in found}


@pytest.mark.parametrize("name", sorted({*TOLERANCES} - {"float", "complex"}))
def test_tolerances_are_those_of_torch_testing(name: str) -> None:
    assert TOLERANCES[name] == torch.testing._comparison.default_tolerances(getattr(torch, name))


def test_python_numbers_have_the_tolerance_of_the_tensors_they_come_from() -> None:
    assert TOLERANCES["float"] == TOLERANCES["complex"] == TOLERANCES["float32"]


@pytest.mark.parametrize(
    ("base", "other", "verdict"),
    [
        ("pass", "pass", "unchanged"),
        ("pass", "fail", "regressed"),
        ("fail", "pass", "fixed"),
        ("fail", "fail", "unchanged"),
        ("pass", "not_comparable", "not_compared"),
        ("not_comparable", "fail", "not_compared"),
        ("pass", None, "not_compared"),
    ],
)
def test_accuracy_regresses_where_the_base_was_right(
    base: str | None, other: str | None, verdict: str
) -> None:
    found = by_metric(base, other)["accuracy"]
    assert found.verdict == verdict
    assert found.gating


@pytest.mark.parametrize(
    ("base", "other", "verdict"),
    [
        (1e-2, 1.9e-2, "unchanged"),
        (1e-2, 2.1e-2, "changed"),
        (2.1e-2, 1e-2, "changed"),
        (1e-2, None, "changed"),
        (1e-2, float("nan"), "changed"),
        (1e-2, float("inf"), "changed"),
        (None, None, "unchanged"),
    ],
)
def test_wrong_on_both_sides_is_equal_only_if_about_as_wrong(
    base: float | None, other: float | None, verdict: str
) -> None:
    ours, theirs = accuracy("fail", rmse_fp64=base), accuracy("fail", rmse_fp64=other)
    found = {one.metric: one for one in judge_accuracy(side(accuracy=ours), candidate(accuracy=theirs))}
    assert (found["accuracy"].verdict, found["accuracy"].gating) == (verdict, True)
    assert "wrong on both sides" in found["accuracy"].text


def test_a_wrong_result_says_what_is_wrong() -> None:
    assert "off" in by_metric("pass", "fail")["accuracy"].text


def test_a_result_with_eagers_random_numbers_says_so() -> None:
    ours, theirs = (accuracy(verdict, series="fallback_random") for verdict in ("pass", "fail"))
    (found, *_) = judge_accuracy(side(accuracy=ours), candidate(accuracy=theirs))
    assert found.verdict == "regressed"
    assert found.text.endswith("(compared with eager's random numbers in the compiled code)")


def test_right_on_both_sides_is_no_more_than_was_compared() -> None:
    left_out = accuracy("pass", reason="1 leaf not compared: out[1] (a meta tensor has no values)")
    whole, part = (
        judge_accuracy(side(accuracy=accuracy("pass")), candidate(accuracy=one))[0]
        for one in (accuracy("pass"), left_out)
    )
    assert (whole.verdict, whole.text) == ("unchanged", "right on both sides")
    assert (part.verdict, part.text) == ("unchanged", f"right on both sides; {left_out.reason}")


def test_an_accuracy_that_only_one_side_has_says_which() -> None:
    found = by_metric("pass", None)["accuracy"]
    assert (found.reasons, found.text) == (("not_measured",), "checked on the base only")
    assert by_metric(None, "fail")["accuracy"].text == "checked on the candidate only"


def test_nothing_is_said_where_neither_side_measured_it() -> None:
    assert judge_accuracy(side(accuracy=None), candidate(accuracy=None)) == ()


def test_a_failed_accuracy_whose_details_are_missing_is_told_by_the_status() -> None:
    wrong = candidate(accuracy=None, status="accuracy_failed")
    (found,) = judge_accuracy(side(), wrong)
    assert found.verdict == "regressed"


@pytest.mark.parametrize(
    ("base", "other", "verdict"),
    [
        (1e-8, 1.9e-8, "unchanged"),
        (1e-8, 2.1e-8, "changed"),
        (2.1e-8, 1e-8, "changed"),
        (0.0, 1e-9, "changed"),
    ],
)
def test_an_error_to_float64_that_more_than_doubled_is_told(base: float, other: float, verdict: str) -> None:
    found = judge_accuracy(
        side(accuracy=accuracy(rmse_fp64=base)), candidate(accuracy=accuracy(rmse_fp64=other))
    )
    one = next(one for one in found if one.metric == "accuracy.rmse_fp64")
    assert (one.verdict, one.gating) == (verdict, False)


def test_equal_bytes_are_bit_for_bit_equal() -> None:
    found = drift(leaf("a"), leaf("a"))
    assert found.verdict == "unchanged"
    assert "bit for bit" in found.text


def allowed(size: float, dtype: str) -> float:
    """By hand: twice (atol + rtol x size)."""
    rtol, atol = {"float32": (1.3e-6, 1e-5), "bfloat16": (1.6e-2, 1e-5), "float64": (1e-7, 1e-7)}[dtype]
    return 2 * (atol + rtol * size)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float64"])
@pytest.mark.parametrize(("part", "verdict"), [(0.9, "unchanged"), (1.1, "changed")])
def test_floats_may_differ_by_twice_the_tolerance(dtype: str, part: float, verdict: str) -> None:
    assert DRIFT_SLACK == 2
    # Equal sizes, so that the sample's root mean square is the elements' own.
    moved = 100.0 - part * allowed(100.0, dtype)
    found = drift(leaf("a", (100.0, 100.0), dtype=dtype), leaf("b", (100.0, moved), dtype=dtype))
    assert found.verdict == verdict
    assert found.candidate == pytest.approx(part * allowed(100.0, dtype), rel=1e-6)


def test_a_small_element_among_large_ones_has_their_rounding_errors() -> None:
    # The root mean square of 1000 and 0 is 707: 2 x (1e-5 + 1.3e-6 x 707) = 1.86e-3.
    size = math.sqrt(1000.0**2 / 2)
    for part, verdict in ((0.9, "unchanged"), (1.1, "changed")):
        off = part * 2 * (1e-5 + 1.3e-6 * size)
        assert drift(leaf("a", (1000.0, 0.0)), leaf("b", (1000.0, off))).verdict == verdict


def test_a_loss_of_one_percent_shows_in_every_sampled_element() -> None:
    found = drift(leaf("a", (1.0, 2.0, -3.0)), leaf("b", (1.01, 2.02, -3.03)))
    assert found.verdict == "changed"
    assert "3 of 3" in found.text


def test_the_workloads_own_tolerance_counts() -> None:
    loose = {"float32": (0.1, 0.1)}
    base = side(accuracy=accuracy("pass", leaf("a", (1.0,)), tolerance=loose))
    other = candidate(accuracy=accuracy("pass", leaf("b", (1.2,)), tolerance=loose))
    found = judge_drift(base, other)
    assert found is not None
    assert found.verdict == "unchanged"


@pytest.mark.parametrize(
    ("base", "other", "said"),
    [
        (leaf("a", (1, 2), dtype="int64"), leaf("b", (1, 3), dtype="int64"), "1 of 2 sampled"),
        (leaf("a", (True,), dtype="bool"), leaf("b", (False,), dtype="bool"), "bool"),
        (leaf("a"), leaf("a", dtype="float64"), "float32 -> float64"),
        (leaf("a"), leaf("a", shape=(1, 2)), "[2] -> [1, 2]"),
        (leaf("a"), leaf("a", leaf="out[0]"), "only"),
        (leaf("a", None), leaf("b", None), "no elements"),
        (leaf("a", (1.0, "nan")), leaf("b", (1.0, 2.0)), "NaN"),
        (leaf("a", (1.0, "inf")), leaf("b", (1.0, "-inf")), "NaN or infinity"),
    ],
)
def test_what_has_no_tolerance_changed_and_did_not_regress(
    base: LeafDigest, other: LeafDigest, said: str
) -> None:
    found = drift(base, other)
    assert found.verdict == "changed"
    assert said in found.text


def test_nan_and_infinity_in_the_same_places_are_equal() -> None:
    sample = ("nan", "inf", "-inf", 1.0)
    assert drift(leaf("a", sample), leaf("b", sample)).verdict == "unchanged"


def test_random_outputs_are_not_compared() -> None:
    base, other = side(accuracy=accuracy("not_comparable")), candidate(accuracy=accuracy("pass", leaf("b")))
    found = judge_drift(base, other)
    assert found is not None
    assert (found.verdict, found.reasons) == ("not_compared", ("not_comparable",))


def test_there_is_no_drift_without_outputs() -> None:
    assert judge_drift(side(), failing()) is None
