"""Kernels and library calls in generated modules."""

from __future__ import annotations

from evaluator.trace.kernels import kernels_of, read_module
from evaluator.trace.normalise import body_hash
from tests.evaluator.trace.generated import (
    CPP_BODY,
    TRITON_BODY,
    cpp_definition,
    module,
    triton_definition,
)


def test_cpp_kernels_and_library_calls_are_counted() -> None:
    code = module(
        cpp_definition("cpp_fused_mul_0") + cpp_definition("cpp_fused_sum_1", CPP_BODY.replace("0.5", "2.0")),
        """
buf0 = empty_strided_cpu((64, ), (1, ), torch.float32)
cpp_fused_mul_0(arg0_1, buf0)
extern_kernels.mm(arg0_1, buf0, out=buf1)
extern_kernels.mm(buf0, buf0, out=buf1)
buf2 = torch.ops.aten.complex.default(buf0, buf1)
buf3 = aten.sort.stable(buf2)
buf4 = torch.ops.mkldnn._linear_pointwise.default(buf3)
buf5 = alloc_from_pool(buf4, 0)
buf6 = inductor_ops._reinterpret_tensor(buf4, 0)
cpp_fused_mul_0(buf1, buf0)
cpp_fused_sum_1(buf1, buf0)
assert_size_stride(buf2, (6, ), (1, ), 'torch.ops.aten.complex.default')
""",
    )
    found = {kernel.name: (kernel.kind, kernel.calls) for kernel in kernels_of(code)}
    assert found == {
        "cpp_fused_mul_0": ("cpp", 2),
        "cpp_fused_sum_1": ("cpp", 1),
        "extern_kernels.mm": ("extern", 2),
        "torch.ops.aten.complex.default": ("extern", 1),
        "torch.ops.aten.sort.stable": ("extern", 1),
        "torch.ops.mkldnn._linear_pointwise.default": ("extern", 1),
    }


def test_a_kernel_carries_its_source_and_identity() -> None:
    [kernel] = kernels_of(module(cpp_definition("cpp_fused_mul_0"), "cpp_fused_mul_0(arg0_1, buf1)"))
    assert kernel.source == CPP_BODY
    assert kernel.source_hash == body_hash(CPP_BODY)
    assert kernel.launch_hash is None


def test_a_library_call_has_no_source() -> None:
    [call] = kernels_of(module("", "extern_kernels.addmm(a, b, c, alpha=1, beta=1, out=buf1)"))
    assert (call.source, call.source_hash) == (None, None)


def test_triton_kernels_are_called_by_their_launch() -> None:
    [kernel] = kernels_of(
        module(
            triton_definition("triton_poi_fused_mul_0"),
            """
with torch.cuda._DeviceGuard(0):
    stream0 = get_raw_stream(0)
    triton_poi_fused_mul_0.run(arg0_1, buf1, 262144, stream=stream0)
""",
        )
    )
    assert (kernel.name, kernel.kind, kernel.calls) == ("triton_poi_fused_mul_0", "triton", 1)
    assert kernel.source == TRITON_BODY
    assert kernel.launch_hash is not None


def test_templates_are_told_from_pointwise_kernels() -> None:
    triton = TRITON_BODY.replace("triton_heuristics.pointwise", "triton_heuristics.template")
    cpp = CPP_BODY.replace("auto tmp2", "kernel_micro_gemm<true>(in_ptr0); auto tmp2")
    code = module(
        triton_definition("triton_tem_fused_mm_0", triton)
        + cpp_definition("cpp_fused_addmm_0", cpp)
        + "\ncuda_fused_0 = async_compile.cuda(r'''\n#include <cutlass.h>\nextern \"C\" int k() { }\n''', 'so')\n",
        "pass",
    )
    assert [(kernel.kind, kernel.calls) for kernel in kernels_of(code)] == [("template", 0)] * 3


def test_a_multi_kernel_names_what_it_picks_from() -> None:
    code = module(
        triton_definition("triton_red_fused_0")
        + triton_definition("triton_per_fused_0")
        + "\nmulti_kernel_0 = async_compile.multi_kernel('multi_kernel_0', [triton_red_fused_0, triton_per_fused_0])\n",
        "multi_kernel_0.run(arg0_1, buf1, stream=stream0)",
    )
    first, second, multi = kernels_of(code)
    assert (first.calls, second.calls, multi.calls) == (0, 0, 1)
    assert multi.choices == ("triton_red_fused_0", "triton_per_fused_0")
    assert (multi.kind, multi.source_hash) == ("triton", None)


def test_a_users_own_kernel_is_a_kernel() -> None:
    own = TRITON_BODY.replace("triton_heuristics.pointwise", "triton_heuristics.user_autotune").replace(
        "triton_poi_fused_mul_0", "my_kernel"
    )
    [kernel] = kernels_of(module(triton_definition("my_kernel_0", own), "my_kernel_0.run(a, stream=stream0)"))
    assert (kernel.name, kernel.kind, kernel.calls) == ("my_kernel_0", "triton", 1)


def test_the_pass_is_read_from_the_module() -> None:
    for aot_id, origin in (
        ("3_forward", "forward"),
        ("0_backward", "backward"),
        ("12_inference", "inference"),
    ):
        assert read_module(module("", "pass", aot_id)).origin == origin
    assert read_module("x = 1").origin is None


def test_a_way_to_define_kernels_that_is_new_is_recorded_with_a_note() -> None:
    found = read_module(module("\nnew_0 = async_compile.tinygpu('new_0', r'''body of code''')\n", "new_0(a)"))
    [kernel] = found.kernels
    assert (kernel.name, kernel.kind, kernel.source, kernel.calls) == ("new_0", "template", "body of code", 1)
    assert found.notes == ("async_compile.tinygpu is not known; its kernels are recorded as templates",)


def test_code_that_does_not_parse_gives_what_can_be_found() -> None:
    code = module(cpp_definition("cpp_fused_mul_0") + triton_definition("triton_poi_fused_mul_0"), "x = = 1")
    found = read_module(code)
    assert [(kernel.name, kernel.kind) for kernel in found.kernels] == [
        ("cpp_fused_mul_0", "cpp"),
        ("triton_poi_fused_mul_0", "triton"),
    ]
    assert found.kernels[0].source_hash == body_hash(CPP_BODY)
    assert found.origin == "inference"
    assert len(found.notes) == 1


def test_a_kernel_without_a_source_is_noted() -> None:
    found = read_module(
        module("\ncpp_fused_0 = async_compile.cpp_pybinding(ARGS, SOURCE)\n", "cpp_fused_0(a)")
    )
    [kernel] = found.kernels
    assert (kernel.name, kernel.source, kernel.calls) == ("cpp_fused_0", None, 1)
    assert found.notes == ("no source found for cpp_fused_0",)


def test_a_cpp_wrapper_is_read_by_its_text() -> None:
    definition = CPP_BODY.replace("kernel(", "cpp_fused_mul_0(")
    code = f"""
cpp_wrapper_src = (
r'''
extern "C"  void  cpp_fused_mul_0(const float* in_ptr0,
                       float* out_ptr0);
void inductor_entry_impl(AtenTensorHandle* input_handles) {{
    AOTI_TORCH_ERROR_CODE_CHECK(aoti_torch_empty_strided(2, sizes, strides, &buf0_handle));
    AOTI_TORCH_ERROR_CODE_CHECK(aoti_torch_cpu_mm_out(buf0, arg0_1, arg1_1));
    cpp_fused_mul_0((const float*)(buf0.data_ptr()), (float*)(buf1.data_ptr()));
}}
{definition}'''
)
"""
    found = read_module(code)
    assert [(kernel.name, kernel.kind, kernel.calls) for kernel in found.kernels] == [
        ("cpp_fused_mul_0", "cpp", 1),
        ("aoti_torch_cpu_mm_out", "extern", 1),
    ]
    assert found.kernels[0].source_hash == body_hash(CPP_BODY)
    assert found.notes == ("a C++ wrapper: kernels and library calls are found by their text",)
