"""One graph of AOTAutograd as one of the card's: a copy whose tensors lie there, lowered by Inductor, never run."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import torch

from evaluator.worker.errors import Unsupported, chain
from evaluator.worker.targets.codegen import internals
from evaluator.worker.targets.codegen.card import Card
from evaluator.worker.targets.codegen.device import present, without_cuda
from evaluator.worker.targets.codegen.host import on_cpu
from evaluator.worker.targets.codegen.patching import patched
from evaluator.worker.targets.codegen.twins import CARD, on_card
from evaluator.worker.targets.codegen.user_kernels import NotRun

# Operators that only a CPU has; AOTAutograd traced them since the data lies on one.
_CPU_LIBRARIES: Final = frozenset({"mkldnn", "mkldnn_prepacked", "mkl", "onednn", "quantized"})
_CPU_SIGNS: Final = ("_for_cpu", "mkldnn", "onednn", "_cpu_")

# Each graph is generated afresh, so that its kernels are seen. Padding decides by timing products on the device.
# With several threads Inductor starts processes that build kernels; none is built while a graph is lowered.
_SETTINGS: Final = {
    "fx_graph_cache": False,
    "fx_graph_remote_cache": False,
    "shape_padding": False,
    "compile_threads": 1,
}


@dataclass(frozen=True)
class Generated:
    """A kernel that Inductor generated: its final name, the graph it belongs to (``0/1``), whether that is
    a backward, and the bytes that one launch reads and writes by Inductor's estimate (None: it has none)."""

    name: str
    graph: str | None
    backward: bool
    bytes_moved: int | None


class _NeverLaunched:
    """Stands in the generated module where the kernel would be."""

    def __init__(self, name: str) -> None:
        self._name = name

    def run(self, *_: Any, **__: Any) -> None:
        raise AssertionError(
            f"{self._name} was generated for a card that is not there, and can't be launched"
        )


def inner_compiler(card: Card, note: Callable[[Generated], None], not_run: NotRun) -> Callable[..., Any]:
    """The inner compiler of ``compile_fx``: generates the card's code, and gives a callable for the CPU.

    ``note`` hears each Triton kernel that Inductor fuses, ``not_run`` each launch of a workload's own that could not be
    run on the CPU. The callable raises Unsupported for a graph that holds what only a CPU has.
    """

    def retarget(graph_module: Any, example_inputs: Sequence[Any], **how: Any) -> Callable[..., Any]:
        _refuse_the_cpus_own(graph_module)
        copy = _copy(graph_module)
        inputs = on_card(list(example_inputs))
        lower = internals.get("torch._inductor.compile_fx:compile_fx_inner")
        backward = bool(how.get("is_backward"))
        with present(card), settings(), _kernels(note, backward):
            _lowered(lower, copy, inputs, how)
        return _boxed(on_cpu(graph_module, not_run))

    return retarget


def _lowered(lower: Callable[..., Any], copy: Any, inputs: list[Any], how: dict[str, Any]) -> None:
    try:
        lower(copy, inputs, **how)
    except Exception as error:
        if any(without_cuda(link) for link in chain(error)):
            reason = f"this build of torch has no CUDA, and can't lower the graph without it: {error}"
            raise Unsupported(reason.splitlines()[0]) from error
        raise


def _refuse_the_cpus_own(graph_module: Any) -> None:
    for module in graph_module.modules():
        for node in module.graph.nodes if isinstance(module, torch.fx.GraphModule) else ():
            name = getattr(node.target, "_name", "") if node.op == "call_function" else ""
            library, _, operator = name.partition("::")
            if library in _CPU_LIBRARIES or any(sign in operator for sign in _CPU_SIGNS):
                raise Unsupported(
                    f"{name} is the CPU's own operator: what the card would run is not known here"
                )


def _copy(graph_module: Any) -> Any:
    """The module with its graph's tensors and devices moved to the card, and its submodules likewise.

    Only the values that nodes are said to have are exchanged: a deep copy of fake tensors fails.
    """
    graph = torch.fx.Graph()
    copies: dict[Any, Any] = {}
    output = graph.graph_copy(graph_module.graph, copies)
    last = graph.output(output)
    copies[next(iter(reversed(graph_module.graph.nodes)))] = last
    constants = _constants(graph_module.graph)
    for node, copy in copies.items():
        if node in constants:
            copy.meta = dict(node.meta)
            continue
        # Where a region is compiled by itself, its inputs are taken from the second of these.
        moved_values = {
            name: on_card(node.meta[name]) for name in ("val", "eager_input_vals") if name in node.meta
        }
        copy.meta = {**node.meta, **moved_values}
        # Devices among the arguments.
        copy.args = torch.fx.node.map_aggregate(copy.args, on_card)
        copy.kwargs = torch.fx.node.map_aggregate(copy.kwargs, on_card)
    for node in constants:
        _put_on_card(graph, copies[node], {copies[one] for one in constants})
    moved = torch.fx.GraphModule(graph_module, graph)
    moved.meta = dict(graph_module.meta)
    for node in graph.find_nodes(op="get_attr"):
        held = getattr(graph_module, node.target, None)
        if isinstance(held, torch.fx.GraphModule):
            setattr(moved, node.target, _copy(held))
    return moved


def _constants(graph: Any) -> list[Any]:
    """Nodes that stand for constants of the graph, and the copies made of them at once: they stay where they are."""
    held = [
        node for node in graph.find_nodes(op="get_attr") if isinstance(node.meta.get("val"), torch.Tensor)
    ]
    lifted = [
        user
        for node in held
        for user in node.users
        if getattr(user.target, "_name", "") in ("aten::lift_fresh_copy", "aten::lift_fresh")
    ]
    return [*held, *lifted]


def _put_on_card(graph: Any, constant: Any, constants: set[Any]) -> None:
    """Have what computes with a constant take it from the card, as a program that makes it there does."""
    users = [user for user in constant.users if user not in constants]
    if not users:
        return
    with graph.inserting_after(constant):
        put = graph.call_function(torch.ops.prims.device_put.default, (constant, CARD))
    put.meta = {**constant.meta, "val": on_card(constant.meta["val"])}
    for user in users:
        user.replace_input_with(constant, put)


@contextlib.contextmanager
def settings() -> Iterator[None]:
    """Inside, Inductor is set as this target needs it."""
    config = internals.get("torch._inductor.config:patch")
    known = vars(internals.get_module("torch._inductor.config"))["_config"]
    with config({name: value for name, value in _SETTINGS.items() if name in known}):
        yield


@contextlib.contextmanager
def _kernels(note: Callable[[Generated], None], backward: bool) -> Iterator[None]:
    """Inside, Triton kernels are taken where Inductor hands them over, with its estimate of what they move."""
    scheduling = internals.get("torch._inductor.codegen.triton:TritonScheduling")
    define = scheduling.define_kernel
    handed = internals.get("torch._inductor.async_compile:AsyncCompile")
    compile_id = str(torch._guards.CompileContext.current_compile_id() or "") or None

    def define_kernel(self: Any, source: str, nodes: Any, kernel: Any, *args: Any, **kwargs: Any) -> str:
        name: str = define(self, source, nodes, kernel, *args, **kwargs)
        note(Generated(name, compile_id, backward, _bytes_moved(kernel)))
        return name

    def triton(self: Any, kernel_name: str, source_code: str, device_str: str = "cuda") -> _NeverLaunched:
        return _NeverLaunched(kernel_name)

    def cpp(*_: Any, **__: Any) -> None:
        raise Unsupported("Inductor generates C++ for a part of the graph that it leaves to the CPU")

    with contextlib.ExitStack() as stack:
        stack.enter_context(patched(scheduling, "define_kernel", define_kernel))
        stack.enter_context(patched(handed, "triton", triton))
        for method in ("cpp", "cpp_pybinding"):
            if hasattr(handed, method):
                stack.enter_context(patched(handed, method, cpp))
        yield


def _bytes_moved(kernel: Any) -> int | None:
    """Inductor's estimate of one launch; of a kernel that does several side by side the sum, as Inductor has it too."""
    parts = [_estimated(part) for part in getattr(kernel, "sub_kernels", None) or (kernel,)]
    return None if None in parts else sum(part or 0 for part in parts)


def _estimated(kernel: Any) -> int | None:
    estimate = getattr(kernel, "estimate_kernel_num_bytes", None)
    if estimate is None:
        return None
    try:
        found = estimate()
    except (AttributeError, NotImplementedError, TypeError, ValueError):
        # Kinds of kernels that Inductor has no estimate for.
        return None
    return None if found is None else int(found)


def _boxed(run: Callable[..., Any]) -> Callable[..., Any]:
    def boxed(args: list[Any]) -> list[Any]:
        given = list(args)
        args.clear()
        out = run(*given)
        return list(out) if isinstance(out, (tuple, list)) else [out]

    boxed._boxed_call = True  # type: ignore[attr-defined]
    return boxed
