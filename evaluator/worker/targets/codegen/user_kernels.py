"""A workload's own Triton kernels on a machine without their card: recognised by Dynamo, run by Triton's interpreter.

What the interpreter can't run is not run: no value counts for a card that is not there. What such a kernel would have
written stays as it was, and is said, since a program may go on by what it finds there.
"""

from __future__ import annotations

import contextlib
import importlib.util
import signal
import threading
import types
from collections.abc import Callable, Hashable, Iterator
from typing import Any, Final

import torch

from evaluator.worker.errors import chain
from evaluator.worker.targets.codegen import internals
from evaluator.worker.targets.codegen.patching import patched

# Seconds that one launch may take in the interpreter, which is made for small ones.
LIMIT_S: Final = 10.0
# Operators whose result holds whatever was in memory.
_UNWRITTEN: Final = ("aten::empty", "aten::new_empty")

# Hears the name of a kernel that was not run, and why.
NotRun = Callable[[str, str], None]


class _TooLong(Exception):
    pass


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


def launches(graph: Any) -> bool:
    """Whether a graph launches a kernel of the workload."""
    return any(_is_launch(node) for node in graph.nodes)


def replaced(node: Any, not_run: NotRun) -> Callable[..., Any] | None:
    """What runs in place of a graph's node that launches a kernel of the workload; None for other nodes.

    Where the interpreter can't run it, its results are what it was given, and ``not_run`` is told, at each launch.
    """
    if not _is_launch(node):
        return None
    target = node.target
    found: dict[Hashable, str] = {}

    def launched(_: Any, **arguments: Any) -> Any:
        given = arguments["kwargs"]
        key = tuple(_form(one) for one in given.values())
        if key not in found:
            try:
                with _interpreted(), _limited():
                    return target(**arguments)
            except Exception as error:  # noqa: BLE001 - the kernel's own Python runs, and may raise anything
                found[key] = _why(error)
        not_run(_name(arguments["kernel_idx"]), found[key])
        clone = internals.get("torch._prims_common:clone_preserve_strides")
        return {name: clone(given[name]) for name in arguments.get("tensors_to_clone", ())} or None

    return launched


def written(node: Any) -> Callable[..., Any] | None:
    """What runs in place of a node that gives memory as it was found: zeros, the same each time. None for other nodes.

    For graphs that launch a kernel: one that is not run leaves it so, and the program may read it.
    """
    target = node.target
    if node.op != "call_function" or not getattr(target, "_name", "").startswith(_UNWRITTEN):
        return None

    def zeros(_: Any, *args: Any, **kwargs: Any) -> torch.Tensor:
        made: torch.Tensor = target(*args, **kwargs)
        return made.zero_()

    return zeros


def _is_launch(node: Any) -> bool:
    wrappers = internals.get_module("torch._higher_order_ops.triton_kernel_wrap")
    launching = (wrappers.triton_kernel_wrapper_functional, wrappers.triton_kernel_wrapper_mutation)
    return node.op == "call_function" and node.target in launching


def _form(value: Any) -> Hashable:
    """What tells one launch of a graph from another: how long it takes, and what it does, hang on it."""
    return (tuple(value.shape), value.dtype) if isinstance(value, torch.Tensor) else str(value)


def _name(index: int) -> str:
    table = internals.get("torch._higher_order_ops.triton_kernel_wrap:kernel_side_table")
    kernel = table.get_kernel(index)
    # An autotuned kernel is around the function.
    while not hasattr(kernel, "__name__"):
        kernel = kernel.fn
    return str(kernel.__name__)


def _why(error: Exception) -> str:
    innermost = chain(error)[-1]
    if isinstance(innermost, _TooLong):
        return f"it takes over {LIMIT_S:.0f} s in Triton's interpreter"
    if isinstance(innermost, ModuleNotFoundError) and innermost.name == "numpy":
        return "Triton's interpreter needs numpy, which is not there"
    said = f"{type(innermost).__name__}: {innermost}".splitlines()[0]
    return f"Triton's interpreter does not run it: {said}"


@contextlib.contextmanager
def _limited() -> Iterator[None]:
    """Inside, _TooLong is raised after the limit. A thread besides the main one is not told: it can't be."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def end(signum: int, frame: types.FrameType | None) -> None:
        raise _TooLong

    before = signal.signal(signal.SIGALRM, end)
    left, interval = signal.setitimer(signal.ITIMER_REAL, LIMIT_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, left, interval)
        signal.signal(signal.SIGALRM, before)


@contextlib.contextmanager
def _interpreted() -> Iterator[None]:
    """Inside, a launch runs in Triton's interpreter, on CPU tensors; an autotuned kernel in its first configuration."""
    if importlib.util.find_spec("numpy") is None:
        raise ModuleNotFoundError(name="numpy")
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
