"""What a built workload holds: a module's parameters and buffers, what else modules, objects, containers and closures
keep, and what its own file keeps at its top (`file_state`)."""

from __future__ import annotations

import functools
import types
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import torch

from evaluator.worker.objects import attributes, of_library
from evaluator.worker.trees import PLAIN, is_array

# A callable that closes over a list of modules in a dict is three levels; beyond this nobody looks.
MAX_DEPTH: Final = 6

# A container of more plain values than this is a table (a vocabulary) and no state; looking at it at every call costs.
MAX_PLAIN: Final = 1000

# What every module has of its own: registries and hooks. Its mode is state as any other attribute is.
_MODULE_ATTRIBUTES: Final = frozenset(vars(torch.nn.Module())) - {"training"}

_CONTAINERS: Final = (Mapping, list, tuple, set, frozenset, deque)
_HOLDERS: Final = (types.FunctionType, types.MethodType, functools.partial)
# What torch.compile notes on a module that it was given.
_COMPILERS: Final = ("_is_torch_compile", "_torchdynamo_")


@dataclass
class Owned:
    """What is held by name: tensors, each once whatever number of names it has, ``parameters`` those that may receive
    gradients and ``buffers`` all others (running statistics, optimizer state, tensors in a closure or a cache); and
    plain Python ``values`` and numpy's arrays, under each of their names."""

    parameters: dict[str, torch.Tensor] = field(default_factory=dict)
    buffers: dict[str, torch.Tensor] = field(default_factory=dict)
    values: dict[str, Any] = field(default_factory=dict)


def original(fn: Any) -> Any:
    """The module or callable behind what torch.compile returned; `fn` itself if it is not compiled."""
    for attribute in ("_orig_mod", "_torchdynamo_orig_callable"):
        # ``__dict__`` and not getattr: a module's own __getattr__ may answer to any name.
        if attribute in getattr(fn, "__dict__", {}) or attribute in getattr(fn, "_modules", {}):
            return original(getattr(fn, attribute))
    # A callable that is no function is compiled through a function of Dynamo's that wraps it.
    if isinstance(fn, types.FunctionType) and "_dynamo" in Path(fn.__code__.co_filename).parts:
        wrapped = getattr(fn, "__wrapped__", None)
        return fn if wrapped is None else original(wrapped)
    return fn


def owned_tensors(fn: Any, besides: Iterable[tuple[str, Any]] = ()) -> Owned:
    """What `fn` (compiled or not) holds: its own tensors if it is a module, else those of its ``__self__``, closure,
    ``functools.partial`` arguments, and the optimizers, containers and objects found there; and what is in `besides`,
    pairs of a name and a value. Of Python's and torch's own objects only tensors count."""
    found = Owned()
    seen: set[int] = set()
    roots = [("", original(fn)), *((name, original(value)) for name, value in besides)]
    for root, held in roots:
        for name, value in _search(held, root, seen, 0, True):
            if not isinstance(value, torch.Tensor):
                found.values[name] = value
            elif id(value) not in seen:
                seen.add(id(value))
                kind = found.parameters if value.requires_grad and value.is_leaf else found.buffers
                kind[name] = value
    return found


def _search(value: Any, name: str, seen: set[int], depth: int, plain: bool) -> Iterator[tuple[str, Any]]:
    """Tensors, and if `plain` Python values, below one value."""
    if isinstance(value, torch.Tensor):
        yield name or "tensor", value
        return
    if isinstance(value, PLAIN) or (is_array(value) and not value.dtype.hasobject):
        if plain:
            yield name, value
        return
    if depth > MAX_DEPTH or id(value) in seen:
        return
    seen.add(id(value))
    prefix = f"{name}." if name else ""
    if isinstance(value, torch.nn.Module):
        yield from ((prefix + key, tensor) for key, tensor in value.named_parameters())
        yield from ((prefix + key, tensor) for key, tensor in value.named_buffers())
        parts = _unregistered(value)
    else:
        parts = _parts(value)
        plain = plain and _has_state(value)
    for key, child in parts:
        yield from _search(original(child), prefix + key, seen, depth + 1, plain)


def _has_state(value: Any) -> bool:
    """Whether plain values in it may be state: of Python's and torch's own types only in those made to hold others."""
    if isinstance(value, _CONTAINERS):
        return len(value) <= MAX_PLAIN
    return isinstance(value, _HOLDERS) or not of_library(type(value))


def _parts(value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, types.MethodType):
        yield "self", value.__self__
    elif isinstance(value, types.FunctionType):
        for key, cell in zip(value.__code__.co_freevars, value.__closure__ or (), strict=True):
            try:
                yield key, cell.cell_contents
            except ValueError:  # a variable that was never assigned
                continue
    elif isinstance(value, functools.partial):
        yield "func", value.func
        yield from ((f"args[{index}]", child) for index, child in enumerate(value.args))
        yield from value.keywords.items()
    elif isinstance(value, torch.optim.Optimizer):
        yield from _optimizer_parts(value)
    elif isinstance(value, Mapping):
        yield from ((_key(key, index), child) for index, (key, child) in enumerate(value.items()))
    elif isinstance(value, (list, tuple, deque)):
        yield from ((str(index), child) for index, child in enumerate(value))
    elif isinstance(value, (set, frozenset)):
        if all(isinstance(member, PLAIN) for member in value):
            yield from ((f"{{{index}}}", child) for index, child in enumerate(sorted(value, key=repr)))
    elif not _is_internal(type(value)):
        yield from attributes(value)[0]


def _key(key: Any, index: int) -> str:
    # The text of a key that is an object holds its address, which no two builds share.
    return str(key) if isinstance(key, PLAIN) else f"key {index}"


def _is_internal(cls: type) -> bool:
    """Whether it is one of torch's private types, as what torch.compile returns holds many of."""
    return cls.__module__.startswith("torch._")


def _unregistered(module: torch.nn.Module) -> Iterator[tuple[str, Any]]:
    """What a module and those inside it keep as plain attributes, by path."""
    for path, part in module.named_modules():
        if _is_internal(type(part)):
            continue
        for key, child in vars(part).items():
            if key not in _MODULE_ATTRIBUTES and not key.startswith(_COMPILERS):
                yield f"{path}.{key}" if path else key, child


def _optimizer_parts(optimizer: torch.optim.Optimizer) -> Iterator[tuple[str, Any]]:
    # Settings are left out: Dynamo sets some itself in what it compiles (`capturable`). The state is keyed by parameter;
    # its order follows the parameters, so a position names it in every build.
    parameters = [parameter for group in optimizer.param_groups for parameter in group["params"]]
    for index, parameter in enumerate(parameters):
        yield f"params[{index}]", parameter
        for key, child in optimizer.state.get(parameter, {}).items():
            yield f"state[{index}].{key}", child
