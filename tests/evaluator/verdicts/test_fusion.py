"""Kernels that were merged or split, told by the operators in their names."""

from __future__ import annotations

import pytest

from evaluator.verdicts.diffs import kernel_changes
from evaluator.verdicts.findings import Evidence
from evaluator.verdicts.fusion import alike, fusions, operators
from evaluator.verdicts.sides import KernelUse
from tests.evaluator.verdicts.fused import EXTERN, FUSED, SPLIT, TENSOR, triton


@pytest.mark.parametrize(
    ("name", "words"),
    [
        # The names that Inductor gave on a real GPU and for one that is not there.
        ("triton_poi_fused_add_mul_silu_sub_0", {"add", "mul", "silu", "sub"}),
        ("triton_per_fused_gelu_native_layer_norm_0", {"gelu", "native", "layer", "norm"}),
        ("triton_red_fused__to_copy_sum_12", {"to", "copy", "sum"}),
        ("triton_poi_fused_relu6_3", {"relu6"}),
        ("cpp_fused_abs_0", {"abs"}),
        ("triton_poi_fused_0", set()),
        ("cpp_fused_0", set()),
        ("extern_kernels.addmm", set()),
        ("my_own_kernel_1", set()),
    ],
)
def test_the_operators_are_told_without_kind_and_number(name: str, words: set[str]) -> None:
    assert operators(name) == words


def test_one_that_became_two_is_a_fusion_lost_with_every_row_and_what_it_costs() -> None:
    (found,) = fusions([FUSED], SPLIT)
    assert found.change == "lost"
    assert found.base == (FUSED.name,)
    assert found.candidate == (SPLIT[0].name, SPLIT[1].name)
    assert found.base_sources == (FUSED.source_sha256,)
    assert found.candidate_sources == (SPLIT[0].source_sha256, SPLIT[1].source_sha256)
    # 7 tensors instead of 3.
    assert found.more_bytes == 4 * TENSOR == 4194304
    assert found.evidence == (
        Evidence("kernel", 31, "base"),
        Evidence("kernel", 41, "candidate"),
        Evidence("kernel", 42, "candidate"),
    )


def test_two_that_became_one_are_a_fusion_gained() -> None:
    (found,) = fusions(SPLIT, [FUSED])
    assert (found.change, found.base, found.candidate) == (
        "gained",
        (SPLIT[0].name, SPLIT[1].name),
        (FUSED.name,),
    )
    assert found.more_bytes == -4 * TENSOR


def named(*names: str, **changes: object) -> list[KernelUse]:
    return [triton(name, None, f"{name} {place} {changes}", **changes) for place, name in enumerate(names)]


def test_the_last_piece_of_a_reduction_may_name_all_that_it_is_computed_from() -> None:
    # What Inductor generates for a norm over rows under `max_fusion_size = 1`, instead of one kernel.
    whole = named("triton_per_fused_add_div_mean_mul_pow_sigmoid_sqrt_sub_0", form="persistent_reduction")
    sums = named(
        "triton_per_fused_mean_mul_sigmoid_0",
        "triton_per_fused_mean_mul_pow_sigmoid_sub_1",
        form="persistent_reduction",
    )
    last = named("triton_poi_fused_add_div_mean_mul_pow_sigmoid_sqrt_sub_2")
    (found,) = fusions(whole, [*sums, *last])
    assert (found.change, len(found.base), len(found.candidate)) == ("lost", 1, 3)
    (found,) = fusions([*sums, *last], whole)
    assert (found.change, len(found.base), len(found.candidate)) == ("gained", 3, 1)
    # Nothing was split where the one kernel only reduces in another way, beside a piece that both sides have.
    looped = named("triton_red_fused_add_div_mean_mul_pow_sigmoid_sqrt_sub_0", form="reduction")
    assert fusions([*whole, *sums[:1]], [*looped, *sums[:1]]) == ()


def test_bytes_that_one_kernel_does_not_tell_are_not_guessed() -> None:
    (found,) = fusions([FUSED], [SPLIT[0], triton(SPLIT[1].name, None)])
    assert found.change == "lost" and found.more_bytes is None


@pytest.mark.parametrize(
    ("base", "candidate"),
    [
        # The same body under other names, and other bodies of the same operators.
        ([FUSED], [FUSED]),
        ([triton("triton_poi_fused_add_0", 3, "a")], [triton("triton_poi_fused_add_0", 3, "b")]),
        ([triton("triton_red_fused_sum_0", 3, "a")], [triton("triton_per_fused_sum_0", 3, "b")]),
        # A piece is missing: `sub` went elsewhere.
        ([FUSED], named("triton_poi_fused_add_silu_0", "triton_poi_fused_mul_1")),
        # Something more is computed.
        ([FUSED], named("triton_poi_fused_add_silu_0", "triton_poi_fused_mul_sub_tanh_1")),
        # Two and two: which became which is not known.
        (
            named("triton_poi_fused_add_0", "triton_poi_fused_mul_sub_1"),
            named("triton_poi_fused_add_mul_0", "triton_poi_fused_sub_1"),
        ),
        # Another pass of the graph.
        ([FUSED], named(SPLIT[0].name, SPLIT[1].name, origin="backward")),
        # Library calls name no operators that were fused.
        ([EXTERN], [EXTERN, EXTERN]),
        ([], list(SPLIT)),
    ],
)
def test_what_is_no_merge_and_no_split(base: list[KernelUse], candidate: list[KernelUse]) -> None:
    assert fusions(base, candidate) == ()
    assert fusions(candidate, base) == ()


def test_each_of_two_equal_layers_lost_its_own() -> None:
    twice = [triton(FUSED.name, 3, f"body {place}", id=place) for place in (1, 2)]
    pieces = [triton(one.name, 3, f"body {one.name} {place}") for place in (1, 2) for one in SPLIT]
    found = fusions(twice, pieces)
    assert [one.change for one in found] == ["lost", "lost"]
    assert all(len(one.candidate) == 2 for one in found)


def test_a_piece_that_computes_an_operator_again_belongs_to_its_whole() -> None:
    pieces = named("triton_poi_fused_add_silu_0", "triton_poi_fused_mul_sub_1", "triton_poi_fused_add_2")
    (found,) = fusions([FUSED], pieces)
    assert found.candidate == tuple(one.name for one in pieces)


def test_a_reduction_in_two_stages_has_two_kernels_of_one_name() -> None:
    stages = named("triton_red_fused_sum_0", "triton_per_fused_sum_1")
    (found,) = fusions([triton("triton_red_fused_sum_0", 1, "one stage")], stages)
    assert (found.change, len(found.base), len(found.candidate)) == ("lost", 1, 2)


def test_graphs_that_are_numbered_otherwise_are_compared_by_their_pass() -> None:
    moved = [triton(one.name, 3, one.source_hash, graph="1/0") for one in SPLIT]
    (found,) = fusions([FUSED], moved)
    assert found.change == "lost"


def test_kernels_of_two_graphs_are_never_pieces_of_one() -> None:
    other = triton("triton_poi_fused_exp_0", 2, graph="1/0")
    pieces = [SPLIT[0], triton(SPLIT[1].name, 3, graph="1/0")]
    assert fusions([FUSED, other], [*pieces, other]) == ()


def test_a_kernel_whose_name_has_an_operator_more_is_changed_and_not_another() -> None:
    """As 2.14 names a kernel of a rotary embedding without the sine and cosine that 2.13 had in it."""
    old = triton("triton_poi_fused_add_cat_cos_mul_neg_sin_slice_transpose_unsqueeze_view_4", 3, "old")
    new = triton("triton_poi_fused_add_cat_mul_neg_slice_transpose_unsqueeze_view_6", 3, "new")
    (found,) = kernel_changes([old], [new])
    assert (found.change, found.name) == ("changed", new.name)
    # Another form, or another pass, is another kernel; so is a half of it.
    for other in (
        triton(new.name, 3, "new", form="reduction"),
        triton(new.name, 3, "new", origin="backward"),
    ):
        assert [one.change for one in kernel_changes([old], [other])] == ["added", "removed"]
    assert alike([FUSED], SPLIT) == []


def test_the_likest_are_paired_first() -> None:
    first, second = named("triton_poi_fused_a_b_c_d_0", "triton_poi_fused_a_b_c_d_e_1")
    nearer, farther = named("triton_poi_fused_a_b_c_d_e_f_2", "triton_poi_fused_a_b_c_x_d_3")
    # 5 of 6 words are shared with the second, 4 of 5 with the first.
    assert alike([first, second], [nearer, farther]) == [(second, nearer), (first, farther)]
