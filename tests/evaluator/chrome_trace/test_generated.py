"""Kernels that were generated against those that were launched, by hand."""

from __future__ import annotations

from evaluator.chrome_trace.generated import Generated, Launched, hold, per_call

POINTWISE = Generated("triton_poi_fused_add_0", "triton", "pointwise")
REDUCTION = Generated("triton_red_fused_sum_1", "triton", "reduction")
TEMPLATE = Generated("triton_tem_fused_mm_2", "template", "template")
LIBRARY = Generated("extern_kernels.mm", "extern")
HOST = Generated("cpp_fused_add_0", "cpp")
GEMM = Launched("ampere_sgemm_128x64_tn", 5, 0.9)
FILL = Launched("void at::native::vectorized_elementwise_kernel<4, F>(int)", 5, 0.1)


def ran(one: Generated, launches: int = 5, ms: float = 0.5) -> Launched:
    return Launched(one.name, launches, ms)


def test_both_never_and_others_are_told_apart() -> None:
    held = hold(
        [POINTWISE, REDUCTION, LIBRARY, TEMPLATE], [GEMM, ran(POINTWISE), FILL, ran(TEMPLATE, ms=0.7)]
    )
    assert [(name, one.launches) for name, one in held.both] == [(TEMPLATE.name, 5), (POINTWISE.name, 5)]
    assert held.never == (REDUCTION.name,)
    assert held.others == ((GEMM, "cuBLAS"), (FILL, "aten"))


def test_what_runs_on_the_host_or_under_a_librarys_names_is_not_missed() -> None:
    held = hold([HOST, LIBRARY], [GEMM])
    assert held.never == ()
    assert held.both == ()


def test_a_kernel_of_another_bucket_may_serve_this_one() -> None:
    dynamic = Generated("triton_poi_fused_add_9", "triton", "pointwise")
    held = hold([POINTWISE], [ran(dynamic)], elsewhere=[dynamic, REDUCTION])
    assert [name for name, _ in held.both] == [dynamic.name]
    # Its own is missed; another bucket's that did not run here is not.
    assert held.never == (POINTWISE.name,)
    assert held.others == ()


def test_a_kernel_of_the_workloads_own_is_launched_under_its_functions_name() -> None:
    user = Generated("add_kernel_0", "triton", "user")
    held = hold([user], [Launched("add_kernel", 3, 0.2)])
    assert [(name, one.name) for name, one in held.both] == [("add_kernel_0", "add_kernel")]
    assert (held.never, held.others) == ((), ())


def test_a_generated_name_keeps_its_number() -> None:
    # Only a function of the workload's own loses it: this one is another kernel.
    held = hold(
        [Generated("triton_poi_fused_add_1", "triton", "pointwise")],
        [Launched("triton_poi_fused_add", 1, 0.1)],
    )
    assert held.never == ("triton_poi_fused_add_1",)
    assert len(held.others) == 1


def test_of_a_trace_that_may_lack_some_nothing_is_said_to_be_missing() -> None:
    held = hold([POINTWISE, REDUCTION], [ran(POINTWISE)], whole=False)
    assert held.never is None
    assert [name for name, _ in held.both] == [POINTWISE.name]


def test_launches_a_call() -> None:
    assert per_call(20, 5) == 4.0
    assert per_call(0, 5) == 0.0
    assert per_call(None, 5) is None
    assert per_call(20, None) is None
