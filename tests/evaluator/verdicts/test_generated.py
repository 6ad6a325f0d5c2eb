"""What generated kernels say of two sides: bytes, spills, registers, refusals, and the layers of their identity."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from evaluator.verdicts.cells import compare_cell, confirmed_regressions
from evaluator.verdicts.findings import CellVerdict, Evidence, Finding
from evaluator.verdicts.policy import Policy
from evaluator.verdicts.sides import KernelUse, Pair
from tests.evaluator.verdicts.fused import (
    EXTERN,
    FUSED,
    SPLIT,
    TENSOR,
    base_of,
    candidate_of,
    codegen,
    refused,
    triton,
    with_build,
)
from tests.evaluator.verdicts.given import CANDIDATE_ID, kernel


def compared(pair: Pair) -> CellVerdict:
    return compare_cell(pair, Policy(), different_builds=False, dependencies=1)


def cell(
    base: tuple[KernelUse, ...], candidate: tuple[KernelUse, ...], *, again: bool = False, **facts: Any
) -> CellVerdict:
    sides = (base_of(*base, facts=facts), candidate_of(*candidate, facts=facts))
    rerun = (base_of(*base, facts=facts), candidate_of(*candidate, facts=facts)) if again else None
    return compared(codegen(*sides, rerun=rerun))


def of(found: CellVerdict, metric: str) -> Finding:
    (one,) = [one for one in found.findings if one.metric == metric]
    return one


def metrics(found: CellVerdict) -> set[str]:
    return {one.metric for one in found.findings}


def test_equal_sides_are_unchanged_without_times_and_without_accuracy() -> None:
    found = cell((FUSED,), (FUSED,))
    assert found.verdict == "unchanged"
    # 3 tensors of 1,048,576 bytes.
    bytes_moved = of(found, "bytes_moved")
    assert (bytes_moved.verdict, bytes_moved.base, bytes_moved.unit) == ("unchanged", 3145728, "B")
    assert of(found, "kernels").reasons == ("same_kernels",)
    assert {of(found, name).verdict for name in ("spills", "registers", "refused")} == {"unchanged"}
    assert "accuracy" not in metrics(found) and not any(one.kind == "time" for one in found.findings)
    assert not any(one.verdict == "not_compared" for one in found.findings)


def test_a_lost_fusion_moves_more_bytes_and_is_confirmed_by_a_rerun() -> None:
    first, again = cell((FUSED,), SPLIT), cell((FUSED,), SPLIT, again=True)
    one = of(first, "bytes_moved")
    assert (one.verdict, one.gating, one.confirmed, one.base, one.candidate) == (
        "regressed",
        True,
        False,
        3 * TENSOR,
        7 * TENSOR,
    )
    assert "3.15 MB -> 7.34 MB" in one.text and "not_rerun" in one.reasons
    (sure,) = confirmed_regressions(again)
    assert sure.metric == "bytes_moved" and again.verdict == "regressed"
    assert sure.cause is not None and sure.cause.code == "fusion_lost" and sure.cause.layer == "inductor"
    assert sure.cause.evidence == (
        Evidence("kernel", 31, "base"),
        Evidence("kernel", 41, "candidate"),
        Evidence("kernel", 42, "candidate"),
    )
    # It is told by itself as well, and without a direction.
    fusion = of(first, "fusion")
    assert (fusion.verdict, fusion.base, fusion.candidate) == ("changed", 1, 2)
    assert "fusion lost: 1 kernel became 2" in fusion.text and "+4.19 MB" in fusion.text


def test_fewer_kernels_of_the_same_bytes_are_not_better() -> None:
    pieces = (triton(SPLIT[0].name, 2), triton(SPLIT[1].name, 1))
    found = cell(pieces, (FUSED,))
    assert of(found, "bytes_moved").verdict == "unchanged"
    assert of(found, "fusion").verdict == "changed" and of(found, "fusion").reasons[0] == "fusion_gained"
    # Other code is not unchanged, and nothing says that it is better.
    assert found.verdict == "changed" and found.confirmed is None


def test_fewer_bytes_with_other_kernels_are_an_improvement() -> None:
    found = cell(SPLIT, (FUSED,))
    assert of(found, "bytes_moved").verdict == "improved" and found.verdict == "improved"


def test_another_estimate_of_the_same_body_has_no_direction() -> None:
    found = cell((FUSED,), (replace(FUSED, bytes_moved=5 * TENSOR),))
    one = of(found, "bytes_moved")
    assert (one.verdict, one.reasons) == ("changed", ("estimate_moved",))
    assert "the estimator moved" in one.text and found.verdict == "changed"
    # Nor has a total in which other kernels and another estimator are mixed.
    mixed = cell((FUSED, triton("triton_poi_fused_exp_1", 2)), (replace(FUSED, bytes_moved=TENSOR), *SPLIT))
    assert of(mixed, "bytes_moved").reasons == ("estimate_moved",)


def test_bytes_that_are_unknown_for_a_kernel_are_evidence_lost() -> None:
    found = cell((FUSED,), (SPLIT[0], triton(SPLIT[1].name, None)))
    one = of(found, "bytes_moved")
    assert (one.verdict, one.reasons, one.gating) == ("not_compared", ("evidence_lost",), True)
    assert found.verdict == "inconclusive"


def test_a_kernel_of_the_users_that_is_the_same_moves_the_same() -> None:
    own = triton("my_kernel_0", None, form="user")
    found = cell((FUSED, own), (*SPLIT, own))
    assert (of(found, "bytes_moved").base, of(found, "bytes_moved").candidate) == (3 * TENSOR, 7 * TENSOR)
    assert "besides 1 of no estimate" in of(found, "bytes_moved").text
    other = cell((FUSED, own), (FUSED, replace(own, source_hash="another")))
    assert of(other, "bytes_moved").reasons == ("evidence_lost",)


def test_bytes_beside_other_library_calls_have_no_direction() -> None:
    found = cell((FUSED, EXTERN), SPLIT)
    assert of(found, "bytes_moved").verdict == "changed"
    assert "library calls" in of(found, "bytes_moved").text


def test_new_spills_are_a_regression_of_the_kernels_that_spill() -> None:
    spilling = with_build(FUSED, spill_stores=48, spill_loads=32)
    found = cell((FUSED,), (spilling,), again=True)
    one = of(found, "spills")
    assert (one.verdict, one.base, one.candidate, one.confirmed) == ("regressed", 0, 80, True)
    assert one.cause is not None and one.cause.code == "new_spill"
    assert one.cause.evidence == (Evidence("kernel", 31, "base"), Evidence("kernel", 31, "candidate"))
    assert "the source being the same" in one.cause.text and one.cause.layer is None
    assert of(cell((spilling,), (FUSED,)), "spills").verdict == "improved"
    other = cell((FUSED,), (replace(spilling, source_hash="other", bytes_moved=3 * TENSOR),))
    cause = of(other, "spills").cause
    assert cause is not None and (cause.code, cause.layer) == ("new_spill", "inductor")


def test_registers_alone_only_change() -> None:
    found = cell((FUSED,), (with_build(FUSED, registers=40),))
    one = of(found, "registers")
    assert (one.verdict, one.base, one.candidate) == ("changed", 22, 40)
    assert found.verdict == "changed"


def test_a_kernel_that_is_refused_is_a_regression_and_its_absence_none_of_spills() -> None:
    worse = replace(FUSED, build=refused("ptxas: too much shared data"))
    found = cell((FUSED,), (worse,), again=True)
    one = of(found, "refused")
    assert (one.verdict, one.base, one.candidate) == ("regressed", 0, 1)
    assert "too much shared data" in one.text
    assert one.cause is not None and one.cause.code == "kernel_refused"
    assert Evidence("kernel", 31, "candidate") in one.cause.evidence
    assert of(found, "spills").verdict == "not_compared" and not of(found, "spills").gating
    assert [one.metric for one in confirmed_regressions(found)] == ["refused"]
    assert of(cell((worse,), (FUSED,)), "refused").verdict == "improved"


def test_builds_of_one_side_only_are_evidence_lost() -> None:
    found = cell((FUSED,), (replace(FUSED, build=None),))
    assert of(found, "spills").reasons == ("evidence_lost",) and found.verdict == "inconclusive"
    assert of(cell((replace(FUSED, build=None),) * 2, (replace(FUSED, build=None),) * 2), "kernels")
    assert "spills" not in metrics(cell((replace(FUSED, build=None),), (replace(FUSED, build=None),)))


@pytest.mark.parametrize(
    ("candidate", "change", "code", "said"),
    [
        (replace(FUSED, launch_hash="another"), "relaunched", "launch_changed", "launched otherwise"),
        (
            with_build(FUSED, sass_hash="another"),
            "rebuilt",
            "binary_changed",
            "same source with other machine code (Triton or ptxas moved)",
        ),
    ],
)
def test_the_layers_of_a_kernel_of_equal_bodies(
    candidate: KernelUse, change: str, code: str, said: str
) -> None:
    found = cell((FUSED,), (candidate,))
    (one,) = found.differences.kernels
    assert one.change == change
    assert of(found, "kernels").verdict == "changed" and of(found, "kernels").reasons == (code,)
    assert said in of(found, "kernels").text
    assert found.verdict == "changed"


def test_a_layer_that_only_one_side_knows_is_no_other_one() -> None:
    for unknown in (replace(FUSED, launch_hash=None), with_build(FUSED, sass_hash=None)):
        assert cell((FUSED,), (unknown,)).differences.kernels == ()
        assert cell((unknown,), (FUSED,)).differences.kernels == ()


def test_what_earlier_buckets_left_is_theirs_to_answer_for() -> None:
    found = cell((FUSED,), SPLIT, reused_code=True)
    assert "kernels" in metrics(found) and not metrics(found) & {"bytes_moved", "spills", "registers"}
    assert found.verdict == "changed"


def test_cells_of_a_machine_that_runs_them_say_nothing_of_builds_that_nobody_made() -> None:
    found = cell((kernel(),), (kernel(),))
    assert not metrics(found) & {"bytes_moved", "spills", "registers", "refused", "fusion"}


def test_what_ran_is_not_asked_where_nothing_runs() -> None:
    found = cell((FUSED,), (FUSED,), ran_eager=None)
    assert "ran_eager" not in metrics(found) and found.verdict == "unchanged"


def test_a_rerun_that_shows_no_loss_makes_it_flaky() -> None:
    again = (base_of(FUSED), candidate_of(FUSED))
    found = compared(codegen(base_of(FUSED), candidate_of(*SPLIT), rerun=again))
    assert of(found, "bytes_moved").verdict == "flaky" and not confirmed_regressions(found)
    assert found.candidate_evaluation == CANDIDATE_ID
