"""What is short of a kernel's name, and where it is from: names as traces of real programs have them."""

from __future__ import annotations

import pytest

from evaluator.chrome_trace.names import origin, short

ELEMENTWISE = (
    "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, std::array<char*, 3ul> >"
    "(int, at::native::CUDAFunctor_add<float>, std::array<char*, 3ul>)"
)
SOFTMAX = (
    "void (anonymous namespace)::softmax_warp_forward<float, float, float, 8, true, false>"
    "(float*, float const*, int, int, int, bool const*, int, bool)"
)
NATIVE = (
    "void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<float, float, false>"
    "(int, float, float const*, float const*, float const*, float*, float*, float*)"
)
FLASH = "void pytorch_flash::flash_fwd_kernel<Flash_fwd_kernel_traits<64, 128, 128, 4> >(pytorch_flash::Flash_fwd_params)"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("triton_poi_fused_add_mul_silu_sub_0", "triton_poi_fused_add_mul_silu_sub_0"),
        (ELEMENTWISE, "vectorized_elementwise_kernel<CUDAFunctor_add>"),
        (
            "void at::native::vectorized_elementwise_kernel<4, at::native::AUnaryFunctor<float, float, float, "
            "at::native::binary_internal::MulFunctor<float> >, std::array<char*, 2ul> >(int)",
            "vectorized_elementwise_kernel<AUnaryFunctor, MulFunctor>",
        ),
        (
            "void at::native::elementwise_kernel<128, 2, at::native::gpu_kernel_impl_nocast<at::native::"
            "(anonymous namespace)::silu_kernel(at::TensorIteratorBase&)::{lambda()#1}>(at::TensorIteratorBase&)>(int)",
            "elementwise_kernel<gpu_kernel_impl_nocast, silu_kernel, TensorIteratorBase>",
        ),
        ("void k<c10::BFloat16, int>(c10::BFloat16*)", "k"),
        (SOFTMAX, "softmax_warp_forward"),
        (NATIVE, "vectorized_layer_norm_kernel"),
        (FLASH, "pytorch_flash::flash_fwd_kernel"),
        ("ampere_sgemm_128x64_tn", "ampere_sgemm_128x64_tn"),
        # What can't be taken apart stays whole.
        ("Memcpy HtoD (Pinned -> Device)", "Memcpy HtoD (Pinned -> Device)"),
        ("void unbalanced<int(float)", "void unbalanced<int(float)"),
        ("_ZN2at6native29vectorized_elementwise_kernelEv", "_ZN2at6native29vectorized_elementwise_kernelEv"),
        ("", ""),
    ],
)
def test_a_name_without_its_templates(name: str, expected: str) -> None:
    assert short(name) == expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("triton_red_fused_native_layer_norm_0", "Triton"),
        (ELEMENTWISE, "aten"),
        (NATIVE, "aten"),
        (FLASH, "attention"),
        (
            "fmha_cutlassF_f32_aligned_64x64_rf_sm80(PyTorchMemEffAttention::AttentionKernel<float>::Params)",
            "attention",
        ),
        ("ampere_sgemm_128x64_tn", "cuBLAS"),
        ("nvjet_hsh_128x256_64x4_1x2_h_bz_coopA_NTT", "cuBLAS"),
        (
            "void cublasLt::splitKreduce_kernel<32, 16, int, float>(cublasLt::cublasSplitKParams<float>)",
            "cuBLAS",
        ),
        ("sm80_xmma_gemm_f32f32_tf32f32_f32_tn_n_tilesize128x128x16_stage4", "cuBLAS"),
        ("sm80_xmma_fprop_implicit_gemm_tf32f32_tf32f32_f32_nhwckrsc_nchw_tilesize128x128x16", "cuDNN"),
        ("cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob_3_64x128x64", "cuDNN"),
        ("void cutlass::Kernel2<cutlass_80_tensorop_s1688gemm_128x64_32x3_tn_align4>(Params)", "CUTLASS"),
        ("void cub::DeviceReduceKernel<Policy, float*>(float*)", "CUB, Thrust"),
        # A name of somebody's own says nothing.
        ("my_kernel", None),
        ("softmax_warp_forward", None),
    ],
)
def test_where_a_kernel_is_from(name: str, expected: str | None) -> None:
    assert origin(name) == expected
