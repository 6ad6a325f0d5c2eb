"""What every walk on this target needs once, done in the server so that its children inherit it."""

from __future__ import annotations

import importlib
import sys
from typing import Final

import torch

from evaluator.worker.channel import Record
from evaluator.worker.targets.codegen import decompositions, internals

# What a first graph imports besides the compiler's own modules; a version that lacks one does without.
_MODULES: Final = (
    "torch._dynamo.repro.after_dynamo",
    "torch._export.db.logging",
    "torch.distributed.tensor.experimental",
    "torch.export._trace",
    "torch._inductor.choices",
    "torch._inductor.codegen.cuda_combined_scheduling",
    "torch._inductor.codegen.pallas",
    "torch._inductor.codegen.xpu.xpu_combined_scheduling",
    "torch._inductor.tiling_utils",
    "triton.runtime.autotuner",
)


def prepare() -> Record:
    """Import, register Inductor's patterns and hash its source: a result record, ``unsupported`` with what is missing.

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
    internals.get("torch._inductor.runtime.triton_compat:triton_key")()
    decompositions.find()
    return {"kind": "result", "status": "ok", "reason": None}
