"""What a workload's own file keeps at its top or in its classes, and its code uses: no build makes it anew.

It is state as what a module holds is, and it is put back before each later build, so that every mode begins with the
same.
"""

from __future__ import annotations

import contextlib
import functools
import types
from collections import deque
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Final

import torch

from evaluator.worker.objects import attributes
from evaluator.worker.trees import PLAIN, is_array

if TYPE_CHECKING:
    from workloads.registry import Workload

# No attribute of a module can have this name.
PREFIX: Final = "global"

_CONTAINERS: Final = (list, tuple, dict, set, frozenset, deque)
_CODE: Final = (
    type,
    types.ModuleType,
    types.FunctionType,
    types.BuiltinFunctionType,
    types.MethodType,
    # How a class keeps its methods and its objects' slots.
    staticmethod,
    classmethod,
    property,
    types.MemberDescriptorType,
    types.GetSetDescriptorType,
    functools.partial,
)

# A place where a name of the file is bound: its name, what binds it, and the key there.
_Place = tuple[str, Any, str]


class FileState:
    """The names of one workload's file that its code uses and that are bound to plain values, tensors, arrays,
    containers, modules, or objects of the file's own classes.

    Only names that functions and classes of that file use, reached from `build` and `inputs`; nothing of other files.
    What is there when this is made, best after the first build, is what `restore` puts back: a build may register
    something once and note so, and what it notes has to stay.
    """

    def __init__(self, workload: Workload) -> None:
        self._module = workload.place.module
        self._places = list(_places([workload.build, workload.inputs], self._module))
        self._undo: list[Callable[[], None]] = []
        seen: set[int] = set()
        for _, holder, key in self._places:
            value = _bound(holder)[key]
            self._undo.append(functools.partial(_bind, holder, key, value))
            self._undo += _kept(value, self._module, seen)

    def named(self) -> Iterator[tuple[str, Any]]:
        """Name and value as they are now."""
        for name, holder, key in self._places:
            bound = _bound(holder)
            if key in bound:
                yield f"{PREFIX}.{name}", bound[key]

    def restore(self) -> None:
        """Put everything back as it was: what the names are bound to, and what is in it."""
        with torch.no_grad():
            for undo in self._undo:
                undo()


def _places(roots: list[Any], module: str) -> Iterator[_Place]:
    """Where names that the code of this module uses are bound to what can change, each place once."""
    waiting, seen = list(roots), set[int]()
    known: set[tuple[int, str]] = set()
    while waiting:
        value = waiting.pop(0)
        if id(value) in seen:
            continue
        seen.add(id(value))
        waiting += _code_behind(value)
        for name, holder, key in _names(value, module):
            held = _bound(holder)[key]
            waiting.append(held if isinstance(held, _CODE) else type(held))
            if _is_state(held, module) and (id(holder), key) not in known:
                known.add((id(holder), key))
                yield name, holder, key


def _names(value: Any, module: str) -> list[_Place]:
    """The names that a function of the module uses at the file's top, or that a class of it binds."""
    if isinstance(value, types.FunctionType) and value.__globals__.get("__name__") == module:
        names = sorted(_used(value.__code__) & value.__globals__.keys())
        return [(name, value.__globals__, name) for name in names]
    if isinstance(value, type) and value.__module__ == module:
        keys = [key for key in vars(value) if not key.startswith("_")]
        return [(f"{value.__name__}.{key}", value, key) for key in keys]
    return []


def _used(code: types.CodeType) -> set[str]:
    inside = [one for one in code.co_consts if isinstance(one, types.CodeType)]
    return set(code.co_names).union(*map(_used, inside))


def _is_state(value: Any, module: str) -> bool:
    if isinstance(value, (*PLAIN, *_CONTAINERS, torch.Tensor, torch.nn.Module)) or is_array(value):
        return True
    return type(value).__module__ == module


def _code_behind(value: Any) -> list[Any]:
    """Functions and classes that one function, class or partial leads to."""
    if isinstance(value, functools.partial):
        return [value.func, *value.args, *value.keywords.values()]
    if isinstance(value, (types.MethodType, staticmethod, classmethod)):
        return [value.__func__]
    if isinstance(value, property):
        return [one for one in (value.fget, value.fset) if one is not None]
    if isinstance(value, type):
        return [*value.__mro__[1:], *(one for one in vars(value).values() if isinstance(one, _CODE))]
    if not isinstance(value, types.FunctionType):
        return [] if isinstance(value, PLAIN) else [type(value)]
    behind = [getattr(value, "__wrapped__", None)]
    for cell in value.__closure__ or ():
        try:
            behind.append(cell.cell_contents)
        except ValueError:  # a variable that was never assigned
            continue
    return behind


def _bound(holder: Any) -> Any:
    return vars(holder) if isinstance(holder, type) else holder


def _bind(holder: Any, key: str, value: Any) -> None:
    if isinstance(holder, type):
        if vars(holder).get(key, holder) is not value:
            setattr(holder, key, value)
    else:
        holder[key] = value


def _kept(value: Any, module: str, seen: set[int]) -> Iterator[Callable[[], None]]:
    """What puts back the insides of a value and of all below it, each once."""
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if id(one) in seen or not _is_state(one, module) or isinstance(one, PLAIN):
            continue
        seen.add(id(one))
        if isinstance(one, torch.Tensor):
            yield from _tensor_kept(one)
        elif is_array(one):
            if one.ndim and one.flags.writeable:
                yield functools.partial(one.__setitem__, ..., one.copy())
        elif isinstance(one, (list, deque)):
            yield functools.partial(_refill, one, one.extend, list(one))
            waiting += one
        elif isinstance(one, (dict, set)):
            yield functools.partial(_refill, one, one.update, one.copy())
            waiting += one.values() if isinstance(one, dict) else ()
        elif isinstance(one, (tuple, frozenset)):
            waiting += one
        if hasattr(one, "__dict__") and not isinstance(one, torch.Tensor):
            yield functools.partial(_refill, vars(one), vars(one).update, dict(vars(one)))
            waiting += vars(one).values()
        elif type(one).__module__ == module:
            slots = dict(attributes(one)[0])
            yield from (functools.partial(setattr, one, name, held) for name, held in slots.items())
            waiting += slots.values()


def _refill(container: Any, fill: Callable[[Any], None], content: Any) -> None:
    container.clear()
    fill(content)


def _tensor_kept(tensor: torch.Tensor) -> Iterator[Callable[[], None]]:
    spread = any(step == 0 and length > 1 for step, length in zip(tensor.stride(), tensor.shape, strict=True))
    # Of an expanded tensor no element can be written alone, and what wraps others is no memory of its own.
    plain = type(tensor) in (torch.Tensor, torch.nn.Parameter) and tensor.layout == torch.strided
    if plain and not spread and not tensor.is_meta:
        grad = tensor.grad if tensor.is_leaf else None
        yield functools.partial(_rewrite, tensor, tensor.detach().clone(), grad)


def _rewrite(tensor: torch.Tensor, content: torch.Tensor, grad: torch.Tensor | None) -> None:
    if tensor.shape == content.shape and tensor.dtype == content.dtype:
        with torch.inference_mode() if tensor.is_inference() else contextlib.nullcontext():
            tensor.copy_(content)
    else:
        tensor.data = content.clone()
    if tensor.is_leaf:
        tensor.grad = grad
