"""The tensors a built workload holds: a module's parameters and buffers, and what a plain callable closes over."""

from __future__ import annotations

import functools
import types
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import torch

# A callable that closes over a list of modules in a dict is three levels; beyond this nobody looks.
MAX_DEPTH: Final = 6

# What every module has of its own: registries and hooks.
_MODULE_ATTRIBUTES: Final = frozenset(vars(torch.nn.Module()))


@dataclass
class Owned:
    """Tensors by name, each once whatever number of names it has: ``parameters`` may receive gradients,
    ``buffers`` are all others (running statistics, optimizer state, tensors in a closure)."""

    parameters: dict[str, torch.Tensor] = field(default_factory=dict)
    buffers: dict[str, torch.Tensor] = field(default_factory=dict)


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


def owned_tensors(fn: Any) -> Owned:
    """What `fn` (compiled or not) holds: its own tensors if it is a module, else those of its ``__self__``, closure,
    ``functools.partial`` arguments, and the optimizers, containers and objects found there."""
    found = Owned()
    seen: set[int] = set()
    for name, tensor in _search(original(fn), "", seen, 0):
        if id(tensor) in seen:
            continue
        seen.add(id(tensor))
        kind = found.parameters if tensor.requires_grad and tensor.is_leaf else found.buffers
        kind[name] = tensor
    return found


def _search(value: Any, name: str, seen: set[int], depth: int) -> Iterator[tuple[str, torch.Tensor]]:
    if isinstance(value, torch.Tensor):
        yield name or "tensor", value
        return
    if depth > MAX_DEPTH or id(value) in seen:
        return
    seen.add(id(value))
    if isinstance(value, torch.nn.Module):
        prefix = f"{name}." if name else ""
        yield from ((prefix + key, tensor) for key, tensor in value.named_parameters())
        yield from ((prefix + key, tensor) for key, tensor in value.named_buffers())
        for key, child in _unregistered(value):
            yield from _search(child, prefix + key, seen, depth + 1)
        return
    for key, child in _parts(value):
        yield from _search(original(child), f"{name}.{key}" if name else key, seen, depth + 1)


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
        yield from ((str(key), child) for key, child in value.items())
    elif isinstance(value, (list, tuple)):
        yield from ((str(index), child) for index, child in enumerate(value))
    elif not isinstance(value, (type, types.ModuleType)) and type(value).__module__ != "builtins":
        yield from ((str(key), child) for key, child in getattr(value, "__dict__", {}).items())


def _unregistered(module: torch.nn.Module) -> Iterator[tuple[str, Any]]:
    """Tensors that a module or one inside it keeps as plain attributes, alone or in a list, tuple or dict."""
    for path, part in module.named_modules():
        for key, child in vars(part).items():
            if key not in _MODULE_ATTRIBUTES and isinstance(child, (torch.Tensor, list, tuple, dict)):
                yield f"{path}.{key}" if path else key, child


def _optimizer_parts(optimizer: torch.optim.Optimizer) -> Iterator[tuple[str, Any]]:
    # The state is keyed by parameter; its order follows the parameters, so a position names it in every build.
    parameters = [parameter for group in optimizer.param_groups for parameter in group["params"]]
    for index, parameter in enumerate(parameters):
        yield f"params[{index}]", parameter
        for key, child in optimizer.state.get(parameter, {}).items():
            yield f"state[{index}].{key}", child
