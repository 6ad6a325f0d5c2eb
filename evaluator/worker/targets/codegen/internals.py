"""What this target leans on inside torch and Triton: the one list, so that a version that moved something is told.

None of it is a public interface. A name that is not where it should be makes the target ``unsupported`` in that
torch; nothing is patched in half.
"""

from __future__ import annotations

import importlib
from functools import reduce
from typing import Any, Final

import torch

# module and attribute -> what it is needed for.
INTERNALS: Final[dict[str, str]] = {
    "torch._inductor.compile_fx:compile_fx": "the compiler's entry, which takes the inner compiler",
    "torch._inductor.compile_fx:compile_fx_inner": "lowering and code generation of one graph",
    "torch._inductor.fx_passes.post_grad:lazy_init": "patterns, registered before the card is there",
    "torch._inductor.fx_passes.joint_graph:lazy_init": "patterns, registered once for all walks",
    "torch._inductor.runtime.triton_compat:triton_key": "a hash of Triton's source, taken once for all processes",
    "torch._inductor.codecache:torch_key": "a hash of torch's own source, taken once for all builds",
    "torch._inductor.config:patch": "settings for one graph",
    "torch._functorch.config:patch": "AOTAutograd's cache, off",
    "torch._inductor.async_compile:AsyncCompile.triton": "where generated kernels are handed over",
    "torch._inductor.codegen.triton:TritonScheduling.define_kernel": "a kernel with its estimate of bytes",
    "torch._inductor.codegen.triton:TritonKernel.estimate_kernel_num_bytes": "the estimate",
    "torch._inductor.codecache:PyCodeCache.load": "a generated kernel as a module",
    "torch._inductor.codecache:CacheBase.get_system": "a cached description of the device",
    "torch._inductor.runtime.hints:DeviceProperties.create": "cached properties of the device",
    "torch._inductor.runtime.triton_helpers:set_driver_to_gpu": "Triton's driver, of which there is none",
    "torch._inductor.runtime.triton_heuristics:CachingAutotuner._precompile_config": "how a kernel is built",
    "torch._inductor.inductor_prims:lookup_seed": "random numbers, whose shapes are computed on the device",
    "torch._dynamo.device_interface:CudaInterface": "what Inductor asks of a device",
    "torch._dynamo.device_interface:device_interfaces": "the registry of devices",
    "torch._dynamo.device_interface:get_interface_for_device": "which fills the registry",
    "torch._subclasses.fake_tensor:FakeTensor": "tensors of the card without data",
    "torch._subclasses.fake_tensor:in_kernel_invocation_manager": "making them",
    "torch._higher_order_ops.triton_kernel_wrap:kernel_side_table": "a workload's own Triton kernels",
    "torch._prims_common:clone_preserve_strides": "what one that can't be run here leaves",
    "torch.cuda:is_available": "the device's answers",
    "torch.cuda:device_count": "the device's answers",
    "torch.cuda:current_device": "the device's answers",
    "torch.cuda:get_device_properties": "the device's answers",
    "torch.cuda:get_device_capability": "the device's answers",
    "torch.cuda:is_bf16_supported": "the device's answers",
    "torch.cuda:get_rng_state": "the device's answers",
    "torch.cuda:set_rng_state": "the device's answers",
    "torch.cuda:synchronize": "the device's answers",
    "torch.cuda:is_current_stream_capturing": "the device's answers",
    "torch.cuda:_exchange_device": "the device's answers",
    "torch.cuda:_maybe_exchange_device": "the device's answers",
    "torch.ops.aten:_scaled_dot_product_flash_attention.default": "attention as the card's dispatcher picks it",
    "torch.ops.aten:_scaled_dot_product_efficient_attention.default": "attention as the dispatcher picks it",
    "torch.ops.aten:_scaled_dot_product_cudnn_attention.default": "attention as the dispatcher picks it",
    "torch.ops.aten:_scaled_dot_product_attention_math.default": "attention as the dispatcher picks it",
    "torch._C:_get_sdp_priority_order": "the order in which a program has them asked",
    "torch.ops.aten:scaled_dot_product_attention.default.py_kernels": "where that decision is put in",
    "torch.ops.aten:rms_norm.default.py_kernels": "where the card's operator of a norm is put in",
    "torch.ops.aten:_fused_rms_norm.default": "the card's operator of a norm",
    "torch.ops.aten:_fused_rms_norm_backward.default": "its backward",
    "torch._inductor.decomposition:select_decomp_table": "what Inductor makes of both",
    "torch.autograd.function:_SingleLevelFunction": "the operator with its backward",
    "torch._functorch.autograd_function:enable_single_level_autograd_function": "and calling it under torch.func",
    "torch.fx.experimental.proxy_tensor:set_original_aten_op": "after which operators a kernel is called",
    "torch._prims_common:suggest_memory_format": "which norms are the operator",
    "torch.ops.aten:lstm_cell.default.py_kernels": "where a cell is refused",
    "torch.ops.aten:gru_cell.default.py_kernels": "where a cell is refused",
    "torch._inductor.select_algorithm:autotune_select_algorithm": "its cache describes the device",
    "torch._inductor.fx_passes.reinplace:_inplace_generalized_scatter": "shapes of writes into views",
    "torch._inductor.graph:GraphLowering.constant_name": "constants of a graph",
    "torch._inductor.graph:GraphLowering.allocate_non_dup_const_name": "constants of a graph",
    "torch.utils._triton:has_triton": "whether Dynamo captures Triton kernels",
    "torch.amp.autocast_mode:_enter_autocast": "how Dynamo's graph says that values are cast",
    "torch._guards:CompileContext.current_compile_id": "which graph a kernel belongs to",
    "triton.runtime.jit:JITFunction.run": "a workload's own Triton kernels",
    "triton.runtime.autotuner:Autotuner.run": "a workload's own Triton kernels",
    "triton.backends.nvidia.compiler:get_ptxas_version": "which ptxas builds for a card",
    "torch._inductor.runtime.compile_tasks:_set_triton_ptxas_path": "torch's own ptxas, where its build has one",
    "triton:compile": "Triton's compiler",
    "triton.runtime.driver:driver._active": "Triton's driver, of which there is none",
    "triton.backends.compiler:GPUTarget": "what Triton compiles for",
}


def get(place: str) -> Any:
    """What the list names; raises ImportError or AttributeError where this torch lacks it."""
    module, _, path = place.partition(":")
    if module == "torch.ops.aten":
        return reduce(getattr, path.split("."), torch.ops.aten)
    return reduce(getattr, path.split("."), importlib.import_module(module))


def unsupported() -> str | None:
    """Why this torch can't be used for the target, by what of the list it lacks; None if it can."""
    lacking = missing()
    return f"unsupported on torch {torch.__version__}: {', '.join(lacking)} is not there" if lacking else None


def get_module(name: str) -> Any:
    """A module that places of the list are in."""
    return importlib.import_module(name)


def missing() -> list[str]:
    """The places of the list that are not in this torch (or its Triton), in its order."""
    lacking = []
    for place in INTERNALS:
        try:
            get(place)
        except (ImportError, AttributeError):
            lacking.append(place.replace(":", "."))
    return lacking
