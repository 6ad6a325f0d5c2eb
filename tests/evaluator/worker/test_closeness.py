"""One float leaf: the tolerance, the rule beside it, and when float64 is a reference at all. By hand arithmetic."""

from __future__ import annotations

import math

import pytest
import torch

from evaluator.worker.closeness import Closeness, Rules, judge_floats, rms
from evaluator.worker.trees import flatten
from evaluator.worker.values import Value, copy_leaf

NAN, INF = float("nan"), float("inf")


def value(*numbers: complex, dtype: torch.dtype = torch.float32) -> Value:
    (leaf,) = flatten(torch.tensor(numbers, dtype=dtype)).leaves
    return copy_leaf(leaf)


def judge(
    compiled: Value,
    eager: Value,
    reference: Value | None,
    coarsest: str = "float32",
    **tolerance: tuple[float, float],
) -> Closeness:
    return judge_floats(compiled, eager, reference, Rules(tolerance, coarsest), "told not to")


def test_figures_are_those_of_hand_arithmetic() -> None:
    # Errors to the reference: compiled 0.5 and 0, eager 0 and 1, so root mean squares sqrt(1/8) and sqrt(1/2).
    found = judge(value(1.5, 4.0), value(1.0, 5.0), value(1.0, 4.0, dtype=torch.float64))
    assert found.max_abs == 1.0
    assert found.max_rel == 0.5
    assert found.rmse_fp64 == pytest.approx(math.sqrt(1 / 8), rel=1e-15)
    assert found.eager_rmse_fp64 == pytest.approx(math.sqrt(1 / 2), rel=1e-15)
    assert (found.max_abs_fp64, found.eager_max_abs_fp64) == (0.5, 1.0)


def test_a_leaf_within_the_tolerance_of_float64_passes_though_eager_is_exact() -> None:
    # float32: 1.3e-6 * 1 + 1e-5 = 1.13e-5
    one = value(1.0, dtype=torch.float64)
    assert judge(value(1.0 + 1.1e-5), value(1.0), one).verdict == "pass"
    assert judge(value(1.0 + 1.3e-5), value(1.0), one).verdict == "fail"


def test_the_workloads_own_tolerance_replaces_the_default() -> None:
    one = value(1.0, dtype=torch.float64)
    assert judge(value(1.5), value(1.0), one, float32=(0.5, 0.0)).verdict == "pass"
    assert judge(value(1.0 + 1.1e-5), value(1.0), one, float32=(1e-6, 0.0)).verdict == "fail"


@pytest.mark.parametrize(
    ("compiled_error", "verdict"),
    # Allowed: 2 x 1e-4 and a tenth of (1.3e-6 * 1 + 1e-5), 2.0113e-4 in all.
    [(2.0e-4, "pass"), (2.006e-4, "pass"), (2.03e-4, "fail")],
)
def test_twice_eagers_error_and_a_tenth_of_the_tolerance_pass(compiled_error: float, verdict: str) -> None:
    exact = value(1.0, 1.0, dtype=torch.float64)
    compiled, eager = value(1.0 + compiled_error, 1.0 + compiled_error), value(1.0 + 1e-4, 1.0 + 1e-4)
    assert judge(compiled, eager, exact).verdict == verdict


def test_a_small_mean_error_does_not_excuse_one_large_element() -> None:
    exact = torch.ones(1000, dtype=torch.float64)
    compiled = exact.clone()
    compiled[3] += 9e-4
    eager = exact + 1e-4
    found = judge(
        value(*compiled.tolist()), value(*eager.tolist()), value(*exact.tolist(), dtype=torch.float64)
    )
    assert found.rmse_fp64 is not None and found.eager_rmse_fp64 is not None
    assert found.rmse_fp64 < found.eager_rmse_fp64
    assert found.verdict == "fail"


def test_nan_equals_nan_in_the_same_place_only() -> None:
    reference = value(NAN, 1.0, dtype=torch.float64)
    assert judge(value(NAN, 1.0), value(NAN, 1.0), reference).verdict == "pass"
    assert judge(value(1.0, NAN), value(NAN, 1.0), reference).verdict == "fail"
    assert judge(value(NAN, NAN), value(NAN, 1.0), None).verdict == "fail"


def test_garbage_beside_a_nan_fails() -> None:
    reference = value(NAN, 1.0, dtype=torch.float64)
    found = judge(value(NAN, 700.0), value(NAN, 1.0), reference)
    assert (found.verdict, found.max_abs) == ("fail", 699.0)


def test_infinities_need_the_same_place_and_sign() -> None:
    reference = value(INF, -INF, dtype=torch.float64)
    assert judge(value(INF, -INF), value(INF, -INF), reference).verdict == "pass"
    assert judge(value(-INF, -INF), value(INF, -INF), reference).verdict == "fail"
    assert judge(value(3.0, -INF), value(INF, -INF), reference).verdict == "fail"


def test_where_eager_overflows_and_float64_does_not_nothing_can_be_said() -> None:
    reference = value(1e5, 1.0, dtype=torch.float64)
    eager = value(INF, 1.0, dtype=torch.float16)
    assert judge(eager, eager, reference, "float16").verdict == "pass"
    compiled = value(65504.0, 1.0, dtype=torch.float16)
    assert judge(compiled, eager, reference, "float16").verdict == "not_comparable"


def test_without_a_reference_eager_is_one() -> None:
    found = judge(value(1.0 + 1.1e-5), value(1.0), None)
    assert (found.verdict, found.reference, found.reference_reason) == ("pass", "eager", "told not to")
    assert found.rmse_fp64 is None
    assert judge(value(1.0 + 3e-5), value(1.0), None).verdict == "fail"


def test_eager_far_from_float64_is_ill_conditioned_unless_compiled_agrees_with_eager() -> None:
    reference = value(1.0, 2.0, dtype=torch.float64)
    eager = value(5.0, -3.0)
    same = judge(eager, eager, reference)
    assert (same.verdict, same.reference) == ("pass", "eager")
    other = judge(value(1.5, 8.0), eager, reference)
    assert other.verdict == "not_comparable"
    assert other.reason is not None and "far from float64" in other.reason


def test_how_far_is_far_depends_on_the_coarsest_dtype_taking_part() -> None:
    # A loss in float32 of a model in bfloat16: 1 % off is what bfloat16 gives, and no float32 computation does.
    exact = value(1.0, dtype=torch.float64)
    assert judge(value(1.015), value(1.01), exact, "bfloat16").reference == "float64"
    assert judge(value(1.015), value(1.01), exact, "float32").verdict == "not_comparable"


def test_a_few_elements_on_an_edge_are_judged_by_eager_and_the_rest_by_float64() -> None:
    exact = torch.ones(1000, dtype=torch.float64)
    eager = exact.clone()
    eager[7] = 2.0
    reference = value(*exact.tolist(), dtype=torch.float64)
    assert judge(value(*eager.tolist()), value(*eager.tolist()), reference).verdict == "pass"
    wrong = eager.clone()
    wrong[8] = 1.5
    assert judge(value(*wrong.tolist()), value(*eager.tolist()), reference).verdict == "fail"
    unclear = eager.clone()
    unclear[7] = 1.5
    assert judge(value(*unclear.tolist()), value(*eager.tolist()), reference).verdict == "not_comparable"


def test_complex_differences_are_moduli() -> None:
    (leaf,) = flatten(torch.tensor([3 + 4j], dtype=torch.complex64)).leaves
    (zero,) = flatten(torch.tensor([0j], dtype=torch.complex64)).leaves
    assert judge(copy_leaf(leaf), copy_leaf(zero), None).max_abs == 5.0


def test_an_empty_leaf_passes_without_figures() -> None:
    found = judge(value(), value(), value(dtype=torch.float64))
    assert (found.verdict, found.max_abs, found.rmse_fp64) == ("pass", None, None)


def test_a_root_mean_square_does_not_overflow() -> None:
    assert rms(torch.tensor([3e200, 4e200], dtype=torch.float64)) == pytest.approx(math.sqrt(12.5) * 1e200)


@pytest.mark.parametrize(
    ("number", "verdict"),
    [
        (complex(INF, 1 / 3 + 6e-8), "pass"),
        (complex(INF, 1.0), "fail"),
        (complex(-INF, 1 / 3), "fail"),
        (complex(1 / 3, INF), "fail"),
        (complex(INF, NAN), "fail"),
    ],
)
@pytest.mark.parametrize("with_reference", [True, False])
def test_beside_an_infinite_part_the_other_part_is_judged(
    number: complex, verdict: str, with_reference: bool
) -> None:
    eager, compiled = (value(one, 2 + 1j, dtype=torch.complex64) for one in (complex(INF, 1 / 3), number))
    reference = value(complex(INF, 1 / 3), 2 + 1j, dtype=torch.complex128) if with_reference else None
    assert judge(compiled, eager, reference).verdict == verdict
