"""What every walk and build on this target needs once, done in the server so that its children inherit it."""

from __future__ import annotations

import importlib
import sys
from typing import Final

import torch

from evaluator.worker.channel import Record
from evaluator.worker.targets.codegen import decompositions, internals

# What a first graph and a first build import besides the compiler's own modules: seen the same in torch 2.12 to 2.14. A
# version that lacks one does without.
_MODULES: Final = (
    "evaluator.worker.probes.build",
    "evaluator.worker.probes.walk",
    "evaluator.worker.targets.codegen.compiling",
    "evaluator.worker.targets.codegen.walking",
    "sympy.combinatorics",
    "sympy.physics.units",
    "sympy.tensor.tensor",
    "torch._dynamo.backends.cudagraphs",
    "torch._dynamo.backends.distributed",
    "torch._dynamo.backends.onnxrt",
    "torch._dynamo.backends.tensorrt",
    "torch._dynamo.backends.torchxla",
    "torch._dynamo.backends.tvm",
    "torch._dynamo.dce_extra_outputs",
    "torch._dynamo.repro.after_dynamo",
    "torch._export.db.logging",
    "torch._export.passes._node_metadata_hook",
    "torch._functorch._activation_checkpointing.remat_using_tags_for_fwd_loss_bwd_graph_pass",
    "torch._functorch._aot_autograd.subclass_codegen",
    "torch._higher_order_ops.passes.inline_invoke_subgraph",
    "torch._inductor.async_compile",
    "torch._inductor.bounds",
    "torch._inductor.choices",
    "torch._inductor.codegen.cpp_wrapper_cpu_array_ref",
    "torch._inductor.codegen.cpp_wrapper_gpu",
    "torch._inductor.codegen.cpp_wrapper_mps",
    "torch._inductor.codegen.cpu_device_op_overrides",
    "torch._inductor.codegen.cuda.device_op_overrides",
    "torch._inductor.codegen.cuda_combined_scheduling",
    "torch._inductor.codegen.halide",
    "torch._inductor.codegen.memory_planning",
    "torch._inductor.codegen.mps",
    "torch._inductor.codegen.mps_device_op_overrides",
    "torch._inductor.codegen.mtia.device_op_overrides",
    "torch._inductor.codegen.pallas",
    "torch._inductor.codegen.python_wrapper_mtia",
    "torch._inductor.codegen.segmented_tree",
    "torch._inductor.codegen.wrapper_fxir",
    "torch._inductor.codegen.xpu.device_op_overrides",
    "torch._inductor.codegen.xpu.xpu_combined_scheduling",
    "torch._inductor.extern_node_serializer",
    "torch._inductor.fx_passes.apply_gumbel_max_trick",
    "torch._inductor.fx_passes.efficient_conv_bn_eval",
    "torch._inductor.hooks",
    "torch._inductor.tiling_utils",
    "torch._subclasses.schema_check_mode",
    "torch.distributed.tensor.experimental",
    "torch.export._trace",
    "torch.fx.experimental.validator",
    "triton.compiler.code_generator",
    "triton.runtime.autotuner",
    "workloads.catalog",
)


def prepare() -> Record:
    """Import, register Inductor's patterns and hash the sources of torch and Triton: a result record, ``unsupported`` with
    what is missing.

    Starts no thread and makes no pool of them: one does not outlive a fork.
    """
    reason = internals.unsupported()
    if reason is not None:
        return {"kind": "result", "status": "unsupported", "reason": reason}
    for name in _MODULES:
        try:
            importlib.import_module(name)
        except ImportError:
            continue  # the walk that needs it imports it
    if "tqdm" in sys.modules:
        # It shows a bar that nobody sees, and watches it from a thread.
        sys.modules["tqdm"].tqdm.monitor_interval = 0
    # Setting a number of threads here would make a pool that is broken in every child (torch asserts that it is whole).
    internals.get("torch._inductor.fx_passes.post_grad:lazy_init")()
    internals.get("torch._inductor.fx_passes.joint_graph:lazy_init")(torch.device("cpu"))
    # Each kernel that has several configurations asks for both.
    internals.get("torch._inductor.runtime.triton_compat:triton_key")()
    internals.get("torch._inductor.codecache:torch_key")()
    decompositions.find()
    return {"kind": "result", "status": "ok", "reason": None}
