"""What compiled calls launch, compared between two sides: names and counts, and no word of better or worse."""

from __future__ import annotations

import pytest

from evaluator.verdicts.cells import compare_cell
from evaluator.verdicts.findings import CellVerdict, Finding
from evaluator.verdicts.policy import Policy
from evaluator.verdicts.sides import Launched
from tests.evaluator.verdicts.given import candidate, pair, series, side

FUSED = "triton_poi_fused_add_mul_silu_sub_0"
# As torch's profiler writes them.
ATEN = tuple(
    "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_"
    f"{name}<float>, std::array<char*, 3ul> >(int, at::native::CUDAFunctor_{name}<float>, std::array<char*, 3ul>)"
    for name in ("add", "sub", "mul")
)
SILU = "void at::native::(anonymous namespace)::silu_kernel<float>(at::TensorIteratorBase&)"


def launched(calls: int, **launches: int) -> Launched:
    return Launched(calls, tuple((row, name, count) for row, (name, count) in enumerate(launches.items())))


def compared(base: Launched | None, other: Launched | None) -> CellVerdict:
    times = series(compiled__wall_ms=1)
    sides = side(series=times, launched=base), candidate(series=times, launched=other)
    return compare_cell(pair(*sides), Policy(), different_builds=False, dependencies=1)


def found(base: Launched | None, other: Launched | None) -> Finding:
    cell = compared(base, other)
    # It explains: the answer is what it is without.
    assert cell.verdict == "unchanged"
    (one,) = [one for one in cell.findings if one.metric == "launches"]
    assert (one.kind, one.gating) == ("set", False)
    return one


def test_one_kernel_that_became_four_of_eager_is_named() -> None:
    four = launched(2, **dict.fromkeys(ATEN, 2), **{SILU: 2})
    one = found(launched(4, **{FUSED: 4}), four)
    assert (one.verdict, one.base, one.candidate) == ("changed", 1, 4)
    assert one.text == (
        "kernels launched in a compiled call: 1 -> 4; more of vectorized_elementwise_kernel (3 a call) and "
        f"silu_kernel (1 a call); less of {FUSED} (1 a call)"
    )
    assert {(item.kind, item.side) for item in one.evidence} == {
        ("observed_kernel", "base"),
        ("observed_kernel", "candidate"),
    }


@pytest.mark.parametrize("fewer", [True, False])
def test_neither_fewer_nor_more_has_a_direction(fewer: bool) -> None:
    sides = (launched(1, a=3, b=1), launched(1, a=1, b=1))
    one = found(*(sides if fewer else sides[::-1]))
    assert one.verdict == "changed"
    assert not any(
        word in one.text for word in ("better", "worse", "faster", "slower", "improved", "regressed")
    )
    # What both launch as often is no evidence of a difference.
    assert {item.id for item in one.evidence} == {0}


def test_batches_of_other_lengths_are_compared_by_the_call() -> None:
    one = found(launched(5, a=10, b=5), launched(2, a=4, b=2))
    assert (one.verdict, one.base, one.text) == (
        "unchanged",
        3,
        "kernels launched in a compiled call: the same 3 on both sides",
    )
    # By hand: 7 launches in 5 calls are 1.4 a call.
    assert found(launched(5, a=7), launched(1, a=1)).base == 1.4


def test_as_many_of_other_names_is_no_equality() -> None:
    one = found(launched(1, ampere_sgemm_128x64_tn=1), launched(1, sm90_xmma_gemm_f32f32=1))
    assert (one.verdict, one.base, one.candidate) == ("changed", 1, 1)
    assert "more of sm90_xmma_gemm_f32f32 (1 a call); less of ampere_sgemm_128x64_tn (1 a call)" in one.text


@pytest.mark.parametrize("known", [(None, launched(1, a=1)), (launched(1, a=1), None), (None, None)])
def test_what_one_side_does_not_know_is_no_finding_and_no_lost_evidence(
    known: tuple[Launched | None, Launched | None],
) -> None:
    cell = compared(*known)
    assert cell.verdict == "unchanged"
    assert not [one for one in cell.findings if one.metric == "launches"]
