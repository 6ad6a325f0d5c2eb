"""Whose registers, spills and bytes moved between two sides, and builds that came to no end. Numbers by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from evaluator.report.differences import difference_lines
from evaluator.verdicts.cells import compare_cell, confirmed_regressions
from evaluator.verdicts.findings import CellVerdict, Evidence, Finding
from evaluator.verdicts.policy import Policy
from evaluator.verdicts.sides import KernelUse
from tests.evaluator.verdicts.fused import (
    FUSED,
    SPLIT,
    TENSOR,
    accident,
    base_of,
    candidate_of,
    codegen,
    refused,
    triton,
    with_build,
)

FIRST, SECOND = SPLIT


def cell(
    base: tuple[KernelUse, ...], candidate: tuple[KernelUse, ...], *, again: bool = False
) -> CellVerdict:
    sides = (base_of(*base), candidate_of(*candidate))
    pair = codegen(*sides, rerun=sides if again else None)
    return compare_cell(pair, Policy(), different_builds=False, dependencies=1)


def of(found: CellVerdict, metric: str) -> Finding:
    (one,) = [one for one in found.findings if one.metric == metric]
    return one


def test_the_kernel_whose_registers_moved_is_named_with_both_numbers() -> None:
    # The most of a kernel is 64 on both sides; what moved is the other's.
    most = with_build(FIRST, registers=64)
    found = cell((most, with_build(SECOND, registers=44)), (most, with_build(SECOND, registers=32)))
    one = of(found, "registers")
    assert one.text == (
        "registers of a thread: at most 64 on both sides; triton_poi_fused_mul_sub_1 44 -> 32"
    )
    assert (one.verdict, one.base, one.candidate) == ("changed", 64, 64)
    assert one.evidence[-2:] == (Evidence("kernel", 42, "base"), Evidence("kernel", 42, "candidate"))


def test_kernels_that_changed_places_moved() -> None:
    # As a list both sides have 20 and 40.
    swapped = cell(
        (with_build(FIRST, registers=20), with_build(SECOND, registers=40)),
        (with_build(FIRST, registers=40), with_build(SECOND, registers=20)),
    )
    one = of(swapped, "registers")
    assert one.verdict == "changed"
    assert "triton_poi_fused_add_silu_0 20 -> 40" in one.text
    assert "triton_poi_fused_mul_sub_1 40 -> 20" in one.text
    # And 80 bytes are spilled on either side, each by another kernel.
    spills = of(
        cell(
            (with_build(FIRST, spill_stores=80), SECOND),
            (FIRST, with_build(SECOND, spill_stores=48, spill_loads=32)),
        ),
        "spills",
    )
    assert (spills.verdict, spills.base, spills.candidate) == ("changed", 80, 80)
    assert spills.text.endswith(
        "triton_poi_fused_add_silu_0 80 B -> 0 B and triton_poi_fused_mul_sub_1 0 B -> 80 B"
    )


def test_the_largest_move_is_first_and_the_rest_is_counted() -> None:
    before = tuple(triton(f"triton_poi_fused_a{n}_0", 1, id=n) for n in range(5))
    after = tuple(with_build(one, registers=22 + one.id) for one in before)
    text = of(cell(before, after), "registers").text
    assert text.partition("; ")[2] == (
        "triton_poi_fused_a4_0 22 -> 26, triton_poi_fused_a3_0 22 -> 25, "
        "triton_poi_fused_a2_0 22 -> 24 and 1 more"
    )


def test_a_kernel_of_another_name_is_followed_by_its_body() -> None:
    old = triton("triton_per_fused_native_layer_norm_native_layer_norm_backward_0", 3, "norm")
    new = with_build(replace(old, name="triton_per_fused_native_layer_norm_backward_0"), registers=30)
    found = cell((old,), (new,))
    assert f"{old.name}, now {new.name}, 22 -> 30" in of(found, "registers").text


def test_bytes_that_moved_are_said_of_their_kernels() -> None:
    # One kernel of 3 tensors, 3,145,728 bytes, became two of 3 and of 4 (4,194,304).
    one = of(cell((FUSED,), SPLIT), "bytes_moved")
    assert one.text.endswith(
        "3.15 MB -> 7.34 MB; triton_poi_fused_mul_sub_1 (new) 4.19 MB, "
        "triton_poi_fused_add_mul_silu_sub_0 (gone) 3.15 MB and triton_poi_fused_add_silu_0 (new) 3.15 MB"
    )
    same_name = replace(FUSED, source_hash="another body", bytes_moved=4 * TENSOR)
    text = of(cell((FUSED,), (same_name,)), "bytes_moved").text
    assert text.endswith("; triton_poi_fused_add_mul_silu_sub_0 3.15 MB -> 4.19 MB")


def test_a_spill_and_its_cause_name_the_kernel() -> None:
    spilling = with_build(FIRST, spill_stores=48, spill_loads=32)
    one = of(cell((FIRST, SECOND), (spilling, SECOND), again=True), "spills")
    assert one.text.endswith("0 B -> 80 B a thread; triton_poi_fused_add_silu_0 0 B -> 80 B")
    assert one.cause is not None and "triton_poi_fused_add_silu_0 0 B -> 80 B" in one.cause.text
    new = of(cell((FUSED,), (FUSED, spilling)), "spills")
    assert new.text.endswith("triton_poi_fused_add_silu_0 (new) 80 B")


def test_a_report_tells_what_each_kernel_takes_otherwise() -> None:
    other = replace(
        with_build(FIRST, registers=40, spill_stores=8, sass_hash="other"), bytes_moved=4 * TENSOR
    )
    (line,) = difference_lines(cell((FIRST,), (other,)).differences)
    assert line == (
        "kernel rebuilt: triton_poi_fused_add_silu_0 (triton, same source, other machine code; "
        "registers 22 -> 40, spilled 0 B -> 8 B, moves 3.15 MB -> 4.19 MB)"
    )


@pytest.mark.parametrize("how", ["not built: no end within 120 s", "not built: ptxas crashed (signal 11)"])
def test_a_build_that_came_to_no_end_is_no_refusal_and_no_equality(how: str) -> None:
    unknown = replace(FIRST, build=accident(how))
    for base, candidate in ((FIRST, unknown), (unknown, FIRST), (unknown, unknown)):
        found = cell((base, SECOND), (candidate, SECOND), again=True)
        for metric in ("refused", "spills"):
            one = of(found, metric)
            assert (one.verdict, one.reasons, one.gating) == ("not_compared", ("evidence_lost",), True)
            assert how in one.text and FIRST.name in one.text
        assert found.verdict == "inconclusive" and not confirmed_regressions(found)


def test_a_refusal_counts_beside_builds_that_came_to_no_end_where_it_is_one_more_in_any_case() -> None:
    no = replace(SECOND, build=refused())
    unknown = replace(FIRST, build=accident())
    # Whatever became of the first on the candidate, the second was built on the base and is refused.
    worse = of(cell((FIRST, SECOND), (unknown, no), again=True), "refused")
    assert (worse.verdict, worse.base, worse.candidate) == ("regressed", 0, 1)
    assert worse.cause is not None and worse.cause.evidence[0].id == SECOND.id
    # The base's first may have been refused as well: one on either side.
    assert of(cell((unknown, SECOND), (FIRST, no)), "refused").verdict == "not_compared"
    assert of(cell((FIRST, no), (FIRST, SECOND)), "refused").verdict == "improved"
    assert of(cell((FIRST, no), (unknown, SECOND)), "refused").verdict == "not_compared"
