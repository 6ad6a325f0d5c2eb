"""The same computation in float64: parameters, buffers and inputs cast up, and every dtype asked for on the way.

Casting the module and its inputs is not enough: under autocast, after ``x.float()`` or with a
``dtype=torch.float32`` inside, such a run would round where eager does and be called exact. `InFloat64` watches
every operator and asks for float64 wherever a narrower float is asked for.
"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

import torch
from torch._ops import HigherOrderOperator
from torch.overrides import TorchFunctionMode
from torch.utils import _pytree as torch_pytree
from torch.utils._python_dispatch import TorchDispatchMode, is_traceable_wrapper_subclass

from evaluator.worker.closeness import coarser
from evaluator.worker.owned import owned_tensors
from evaluator.worker.snapshot import Snapshot
from evaluator.worker.trees import Leaf, Tree, flatten, is_array

_WIDER: Final[dict[torch.dtype, torch.dtype]] = {
    torch.float16: torch.float64,
    torch.bfloat16: torch.float64,
    torch.float32: torch.float64,
    torch.complex32: torch.complex128,
    torch.complex64: torch.complex128,
}


class ReferenceUnavailable(Exception):
    """The workload can't be run in float64; the message says why."""


class Coarsest:
    """The coarsest float dtype that a computation asked for so far."""

    def __init__(self) -> None:
        self.dtype = "float64"

    def saw(self, dtype: torch.dtype) -> None:
        """Note one more dtype; one that is no float is none of its business."""
        if dtype in _WIDER:
            self.dtype = coarser(self.dtype, str(dtype).removeprefix("torch."))


class InFloat64(TorchDispatchMode):
    """Runs every operator in float64: dtypes asked for are widened, and so are narrower float arguments that the
    operator only reads.

    An operator over functions (`torch.cond`, flex attention) is given its wide tensors as they are, since it declares
    no arguments: what its functions narrow makes a result that is not wide, which is noticed afterwards."""

    supports_higher_order_operators = True

    def __init__(self, coarsest: Coarsest) -> None:
        super().__init__()
        self._coarsest = coarsest

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """One operator call, its schema's written and aliased arguments left alone."""
        if isinstance(func, HigherOrderOperator):
            return func(*args, **(kwargs or {}))
        arguments = func._schema.arguments
        positional = arguments[: len(args)]
        wide = tuple(
            self._argument(declared, value) for declared, value in zip(positional, args, strict=True)
        )
        by_name = {declared.name: declared for declared in arguments}
        named = {name: self._argument(by_name[name], value) for name, value in (kwargs or {}).items()}
        return func(*wide, **named)

    def _argument(self, declared: Any, value: Any) -> Any:
        if isinstance(value, torch.dtype):
            self._coarsest.saw(value)
            return _WIDER.get(value, value)
        if declared.alias_info is not None:
            # A view of a cast copy would be a view of something else, and a write to it would be lost.
            return value
        return torch_pytree.tree_map_only(torch.Tensor, _widened, value)


class SeesAutocast(TorchFunctionMode):
    """Notes the dtype of an enabled autocast, which leaves float64 alone and so is not asked for below."""

    def __init__(self, coarsest: Coarsest, device: str) -> None:
        super().__init__()
        self._coarsest = coarsest
        self._device = device

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """One call of torch's Python interface, unchanged."""
        if torch.is_autocast_enabled(self._device):
            self._coarsest.saw(torch.get_autocast_dtype(self._device))
        return func(*args, **(kwargs or {}))


@contextmanager
def float64_arithmetic(device: str) -> Iterator[Coarsest]:
    """Inside, operators compute in float64, and a float tensor made without a dtype is float64; gives the
    coarsest dtype that the same calls would have computed in otherwise.

    Nothing is compiled inside: eager's `torch.cond` and flex attention compile themselves, and one that did so under
    these modes would raise, and leave Dynamo unable to compile it in this process ever after.
    """
    default, coarsest = torch.get_default_dtype(), Coarsest()
    torch.set_default_dtype(torch.float64)
    try:
        with (
            torch.compiler.set_stance("force_eager"),
            SeesAutocast(coarsest, torch.device(device).type),
            InFloat64(coarsest),
        ):
            yield coarsest
    finally:
        torch.set_default_dtype(default)


@contextmanager
def widened_state(fn: Any, besides: Iterable[tuple[str, Any]] = ()) -> Iterator[None]:
    """Inside, every tensor that a freshly built module or callable holds is wide, and every one that is ``besides``
    held in its file.

    The cast is in place: the tensor objects stay, so ties, and an optimizer's hold on its parameters, do too.
    What was there is put back, since a build that hands out tensors it keeps is not fresh, and the compiled run
    must not meet a float64 one. Raises ReferenceUnavailable where two tensors share memory, which a cast ends.
    """
    owned = owned_tensors(fn, besides)
    tensors = {**owned.parameters, **owned.buffers}
    _refuse_shared(list(tensors.items()))
    for name, tensor in tensors.items():
        reason = _uncastable(tensor)
        if reason is not None:
            raise ReferenceUnavailable(f"{name}: {reason}")
    narrow = [(tensor, tensor.data, tensor.grad) for tensor in tensors.values() if tensor.dtype in _WIDER]
    try:
        for tensor, data, _ in narrow:
            _set(tensor, data.to(_WIDER[data.dtype]), None)
        yield
    finally:
        for tensor, data, grad in narrow:
            _set(tensor, data, grad)


def cast_inputs(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Freshly made inputs with every float leaf widened; an object that occurs twice stays one object.

    Raises ReferenceUnavailable for what a cast would turn into another program: inputs that share memory, an
    object that holds tensors, a gradient history.
    """
    trees = (flatten(args, "args"), flatten(kwargs, "kwargs"))
    leaves = [leaf for tree in trees for leaf in tree.leaves]
    opened = [path for tree in trees for path in tree.opened if _holds_tensors(path, tree)]
    if opened:
        raise ReferenceUnavailable(
            f"{opened[0]} is an object that holds tensors, and is not known to be castable"
        )
    for leaf in leaves:
        _refuse_uncastable(leaf)
    _refuse_shared([(leaf.path, leaf.value) for leaf in leaves if leaf.kind == "tensor"])
    memo: dict[int, Any] = {}
    return tuple(_cast(one, memo) for one in args), {name: _cast(one, memo) for name, one in kwargs.items()}


def not_float64(eager: Snapshot, reference: Snapshot) -> str | None:
    """Why the float64 run's outputs are no reference: another structure, or a float that is not float64."""
    if eager.structure != reference.structure:
        return "the float64 run returns another structure"
    for path, value in reference.outputs.items():
        if isinstance(value.value, torch.Tensor) and value.value.dtype in _WIDER:
            return f"the float64 run's {path} is {value.dtype}: part of it does not follow its inputs' dtype"
    return None


def coarsest_dtype(
    fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any], besides: Iterable[tuple[str, Any]] = ()
) -> str:
    """The coarsest float dtype among the tensors a workload holds and is given; float64 if it has none."""
    owned, coarsest = owned_tensors(fn, besides), Coarsest()
    given = [*flatten(args).tensors(), *flatten(kwargs).tensors()]
    for tensor in [*owned.parameters.values(), *owned.buffers.values(), *(tensor for _, tensor in given)]:
        coarsest.saw(tensor.dtype)
    return coarsest.dtype


def _set(tensor: torch.Tensor, data: torch.Tensor, grad: torch.Tensor | None) -> None:
    # A gradient of the other dtype would be refused.
    tensor.grad = None
    tensor.data = data
    tensor.grad = grad


def _widened(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.to(_WIDER[tensor.dtype]) if tensor.dtype in _WIDER else tensor


def _uncastable(tensor: torch.Tensor) -> str | None:
    if is_traceable_wrapper_subclass(tensor) or type(tensor) not in (torch.Tensor, torch.nn.Parameter):
        return f"a {type(tensor).__name__}, a tensor subclass, is not cast"
    if tensor.requires_grad and not tensor.is_leaf:
        return "it carries a gradient history, which a cast would cut"
    if tensor.is_quantized or (tensor.is_floating_point() and tensor.element_size() == 1):
        return f"{tensor.dtype} is not cast"
    return None


def _holds_tensors(path: str, tree: Tree) -> bool:
    inside = [leaf for leaf in tree.leaves if leaf.path.startswith(f"{path}.")]
    return any(leaf.kind in ("tensor", "array") for leaf in inside)


def _refuse_uncastable(leaf: Leaf) -> None:
    reason = None
    if leaf.kind == "tensor":
        reason = _uncastable(leaf.value)
    elif isinstance(leaf.value, torch.Tensor):
        reason = leaf.opaque.reason if leaf.opaque is not None else None
    elif leaf.kind == "opaque":
        held = owned_tensors(leaf.value)
        if held.parameters or held.buffers:
            reason = "an object that holds tensors, and is not known to be castable"
    if reason is not None:
        raise ReferenceUnavailable(f"{leaf.path}: {reason}")


def _refuse_shared(named: list[tuple[str, torch.Tensor]]) -> None:
    """A cast gives each tensor memory of its own, so writes to one would no longer reach the other."""
    first: dict[int, tuple[str, torch.Tensor]] = {}
    for name, tensor in named:
        if tensor.layout != torch.strided or tensor.numel() == 0:
            continue
        known, other = first.setdefault(tensor.untyped_storage().data_ptr(), (name, tensor))
        if other is not tensor:
            raise ReferenceUnavailable(f"{known} and {name} share memory, which a cast to float64 would end")


def _cast(value: Any, memo: dict[int, Any]) -> Any:
    """The value with float tensors and arrays widened; containers are made anew, other objects kept."""
    if id(value) in memo:
        return memo[id(value)]
    memo[id(value)] = made = _cast_fresh(value, memo)
    return made


def _cast_fresh(value: Any, memo: dict[int, Any]) -> Any:
    if isinstance(value, torch.Tensor):
        return _cast_tensor(value)
    if is_array(value):
        numpy = sys.modules["numpy"]
        if value.dtype.kind not in "fc":
            return value
        return value.astype(numpy.complex128 if value.dtype.kind == "c" else numpy.float64)
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(_cast(child, memo) for child in value))
    if type(value) in (list, tuple):
        return type(value)(_cast(child, memo) for child in value)
    if type(value) is dict:
        return {key: _cast(child, memo) for key, child in value.items()}
    if not flatten(value).tensors():
        return value
    return _cast_registered(value, memo)


def _cast_tensor(tensor: torch.Tensor) -> torch.Tensor:
    if tensor.is_quantized:
        raise ReferenceUnavailable(f"{tensor.dtype} is not cast")
    if tensor.dtype not in _WIDER:
        return tensor
    cast = tensor.detach().to(_WIDER[tensor.dtype])
    if isinstance(tensor, torch.nn.Parameter):
        return torch.nn.Parameter(cast, requires_grad=tensor.requires_grad)
    return cast.requires_grad_(tensor.requires_grad)


def _cast_registered(value: Any, memo: dict[int, Any]) -> Any:
    if dataclasses.is_dataclass(value) and not isinstance(value, (type, Mapping)):
        fields = [field.name for field in dataclasses.fields(value) if field.init]
        return dataclasses.replace(value, **{name: _cast(getattr(value, name), memo) for name in fields})
    node = torch_pytree.SUPPORTED_NODES.get(type(value))
    if node is not None:
        children, context = node.flatten_fn(value)
        return node.unflatten_fn([_cast(child, memo) for child in children], context)
    raise ReferenceUnavailable(f"an input of type {type(value).__name__} is not known to be castable")
