"""A workload's own Triton kernels on a machine without their card: recognised by Dynamo, run by Triton's interpreter."""

from __future__ import annotations

import contextlib
import importlib.util
from collections.abc import Callable, Iterator
from typing import Any

from evaluator.worker.errors import Unsupported
from evaluator.worker.targets.codegen import internals
from evaluator.worker.targets.codegen.patching import patched


@contextlib.contextmanager
def recognised() -> Iterator[None]:
    """Inside, Dynamo captures calls of Triton kernels, as it does where Triton has a device."""
    module = internals.get_module("torch.utils._triton")

    def has_triton() -> bool:
        return True

    # Modules that took the function before go on asking it, and it remembers.
    has_triton.cache_clear = module.has_triton.cache_clear  # type: ignore[attr-defined]
    with patched(module, "has_triton", has_triton):
        yield


def replaced(node: Any) -> Callable[..., Any] | None:
    """What runs in place of a graph's node that launches a kernel of the workload; None for other nodes."""
    wrappers = internals.get_module("torch._higher_order_ops.triton_kernel_wrap")
    target = node.target
    if target not in (wrappers.triton_kernel_wrapper_functional, wrappers.triton_kernel_wrapper_mutation):
        return None

    def launched(_: Any, **arguments: Any) -> Any:
        with _interpreted():
            try:
                return target(**arguments)
            except Exception as error:
                reason = "a Triton kernel of the workload's own does not run in Triton's interpreter"
                raise Unsupported(f"{reason}: {type(error).__name__}: {error}".splitlines()[0]) from error

    return launched


@contextlib.contextmanager
def _interpreted() -> Iterator[None]:
    """Inside, a launch runs in Triton's interpreter, on CPU tensors; an autotuned kernel in its first configuration."""
    if importlib.util.find_spec("numpy") is None:
        raise Unsupported(
            "a Triton kernel of the workload's own runs here in Triton's interpreter, which needs numpy"
        )
    interpreter = internals.get("triton.runtime.interpreter:InterpretedFunction")
    compiled = internals.get("triton.runtime.jit:JITFunction")
    tuned = internals.get("triton.runtime.autotuner:Autotuner")

    def run(kernel: Any, *args: Any, grid: Any, warmup: bool, **kwargs: Any) -> Any:
        return interpreter(kernel.fn).run(*args, grid=grid, warmup=warmup, **kwargs)

    def call(kernel: Any, *args: Any, **kwargs: Any) -> Any:
        return interpreter(kernel.fn)(*args, **kwargs)

    def run_first(kernel: Any, *args: Any, grid: Any, warmup: bool, **kwargs: Any) -> Any:
        chosen = kernel.configs[0].all_kwargs() if kernel.configs else {}
        return kernel.fn.run(*args, grid=grid, warmup=warmup, **{**kwargs, **chosen})

    with patched(compiled, "run", run), patched(compiled, "__call__", call), patched(tuned, "run", run_first):
        yield
