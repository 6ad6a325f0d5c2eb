"""Any value a workload takes or returns, as a flat list of named leaves and a description of its structure.

``torch.utils._pytree`` alone will not do: it sees a dataclass it was not told of as one leaf, drops what a
registered type keeps beside its children, and forgets type names. Here a type name counts: a list is no tuple.
"""

from __future__ import annotations

import dataclasses
import enum
import sys
from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from typing import Any, Final

import torch
from torch.utils import _pytree as torch_pytree
from torch.utils._python_dispatch import is_traceable_wrapper_subclass

ROOT: Final = "out"

# Deeper than any model's output; what nests further is cut with a leaf that says so.
MAX_DEPTH: Final = 40

_SCALARS: Final = (type(None), bool, int, float, complex, str, bytes, enum.Enum)
_CONSTANTS: Final = (
    torch.Size,
    torch.dtype,
    torch.device,
    torch.layout,
    torch.memory_format,
    type,
    range,
    slice,
)


@dataclasses.dataclass(frozen=True)
class Opaque:
    """A leaf whose inside can't be compared: its type's name and why it was not opened."""

    type_name: str
    reason: str


@dataclasses.dataclass(frozen=True)
class Leaf:
    """One leaf: ``path`` as in ``out.logits[0]``, ``kind`` and the value.

    ``kind`` is tensor, array (numpy array or scalar), scalar (a plain Python value, or a torch.Size, dtype and
    the like) or opaque. ``value`` is what stood there, for an opaque leaf too; ``opaque`` says why it is one.
    """

    path: str
    kind: str
    value: Any
    opaque: Opaque | None = None


@dataclasses.dataclass(frozen=True)
class Tree:
    """Leaves in order, and the structure as text: equal text means the same nesting, keys and type names.

    ``opened`` are the paths of objects that no registry knows and whose attributes were read.
    """

    leaves: tuple[Leaf, ...]
    structure: str
    opened: tuple[str, ...] = ()

    def tensors(self) -> list[tuple[str, torch.Tensor]]:
        """Path and tensor of each tensor leaf."""
        return [(leaf.path, leaf.value) for leaf in self.leaves if leaf.kind == "tensor"]


def flatten(value: Any, root: str = ROOT) -> Tree:
    """Every leaf of `value` by path, depth first, mappings in their own order.

    Opens tuples, lists, mappings, sets of plain values, named tuples, dataclasses (registered or not), Hugging
    Face style outputs (a mapping that is a dataclass), what was registered with torch's pytree, wrapper tensor
    subclasses, sparse COO tensors, and other objects whose attributes hold tensors. A cycle, a quantised or
    otherwise sparse tensor, or an object without tensors is one opaque leaf with its reason.
    """
    walk = _Walk()
    structure = walk.visit(value, root, frozenset(), 0)
    return Tree(tuple(walk.leaves), structure, tuple(walk.opened.values()))


def type_name(value: Any) -> str:
    """The type's dotted name; the short name for Tensor, Parameter, built-in types and single-file modules.

    A workload's own file is loaded under a made-up module name, so a class outside a package is named alone.
    """
    cls = type(value)
    if cls in (torch.Tensor, torch.nn.Parameter):
        return cls.__name__
    named = "." in cls.__module__ or cls.__module__ in ("torch", "numpy")
    return f"{cls.__module__}.{cls.__qualname__}" if named else cls.__qualname__


def is_array(value: Any) -> bool:
    """Whether `value` is a numpy array or scalar; never imports numpy."""
    numpy = sys.modules.get("numpy")
    return numpy is not None and isinstance(value, (numpy.ndarray, numpy.generic))


def unreadable_reason(tensor: torch.Tensor) -> str | None:
    """Why a tensor's elements can't be copied and compared as dense ones, or None if they can."""
    if tensor.is_nested:
        return "a nested tensor is not compared element by element"
    if tensor.layout != torch.strided:
        return f"a {str(tensor.layout).removeprefix('torch.')} tensor is not compared element by element"
    if tensor.is_quantized:
        return "a quantised tensor is not compared element by element"
    if tensor.is_meta:
        return "a meta tensor has no values"
    return None


class _Walk:
    """One traversal: the leaves found so far, and the objects opened by their attributes (by id, with path)."""

    def __init__(self) -> None:
        self.leaves: list[Leaf] = []
        self.opened: dict[int, str] = {}

    def visit(self, value: Any, path: str, above: frozenset[int], depth: int) -> str:
        """Adds the leaves below `value` and returns its structure."""
        kind = _leaf_kind(value)
        if kind is not None:
            return self._leaf(path, kind, value)
        if id(value) in above:
            return self._opaque(path, value, "the structure contains itself")
        if depth >= MAX_DEPTH:
            return self._opaque(path, value, f"nested deeper than {MAX_DEPTH} levels")
        children = _children(value)
        if children is None and isinstance(value, torch.Tensor):
            return self._opaque(path, value, unreadable_reason(value) or "a tensor that can't be opened")
        if children is None:
            return self._object(value, path, above, depth)
        return self._branch(value, children, path, above, depth)

    def _branch(
        self, value: Any, children: list[tuple[str, Any]], path: str, above: frozenset[int], depth: int
    ) -> str:
        inside = above | {id(value)}
        parts = [f"{key}={self.visit(child, path + key, inside, depth + 1)}" for key, child in children]
        return f"{type_name(value)}({', '.join(parts)})"

    def _object(self, value: Any, path: str, above: frozenset[int], depth: int) -> str:
        """An object no registry knows: opened if its attributes hold a tensor somewhere, else one leaf."""
        if id(value) in self.opened:
            return self._leaf(path, "scalar", f"the same object as {self.opened[id(value)]}")
        attributes = _attributes(value)
        before = len(self.leaves)
        if attributes:
            self.opened[id(value)] = path
            structure = self._branch(value, attributes, path, above, depth)
            if any(leaf.kind in ("tensor", "array") for leaf in self.leaves[before:]):
                return structure
            del self.leaves[before:]
            self.opened = {key: where for key, where in self.opened.items() if not where.startswith(path)}
        return self._opaque(path, value, "an object of a type that can't be opened")

    def _leaf(self, path: str, kind: str, value: Any) -> str:
        self.leaves.append(Leaf(path, kind, value))
        return "*"

    def _opaque(self, path: str, value: Any, reason: str) -> str:
        name = type_name(value)
        self.leaves.append(Leaf(path, "opaque", value, Opaque(name, reason)))
        return f"<{name}>"


def _leaf_kind(value: Any) -> str | None:
    if isinstance(value, torch.Tensor):
        # A subclass that holds its values itself is read as a tensor (its type is compared apart); one that
        # wraps other tensors is opened.
        readable = unreadable_reason(value) is None and not is_traceable_wrapper_subclass(value)
        return "tensor" if readable else None
    if is_array(value):
        return None if value.dtype.hasobject else "array"
    return "scalar" if isinstance(value, (*_SCALARS, *_CONSTANTS)) else None


def _children(value: Any) -> list[tuple[str, Any]] | None:
    """(path suffix, child) pairs of a container, or None for what is none."""
    if isinstance(value, torch.Tensor):
        return _tensor_children(value)
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return [(f".{name}", getattr(value, name)) for name in value._fields]
    if dataclasses.is_dataclass(value) and not isinstance(value, torch.nn.Module):
        return list(_dataclass_children(value))
    if isinstance(value, Mapping):
        return [(_key(key, index), child) for index, (key, child) in enumerate(value.items())]
    if isinstance(value, (list, tuple)):
        return [(f"[{index}]", child) for index, child in enumerate(value)]
    if isinstance(value, AbstractSet) and all(_leaf_kind(member) == "scalar" for member in value):
        # Sets have no order of their own; the members' text gives one that two processes share.
        return [(f"{{{index}}}", child) for index, child in enumerate(sorted(value, key=repr))]
    return _registered_children(value)


def _tensor_children(tensor: torch.Tensor) -> list[tuple[str, Any]] | None:
    """The tensors inside a wrapper subclass, or of a sparse COO tensor, whose entries are put in order first."""
    if is_traceable_wrapper_subclass(tensor):
        return [(f".{name}", getattr(tensor, name)) for name in tensor.__tensor_flatten__()[0]]
    if tensor.layout != torch.sparse_coo or tensor.is_meta:
        return None
    with torch.no_grad():
        ordered = tensor.detach().coalesce()
        return [(".indices", ordered.indices()), (".values", ordered.values()), (".shape", tensor.shape)]


def _dataclass_children(value: Any) -> Iterator[tuple[str, Any]]:
    names = [field.name for field in dataclasses.fields(value)]
    for name in names:
        # A field that was never set (``init=False`` without a default) is a missing child, not an error.
        if hasattr(value, name):
            yield f".{name}", getattr(value, name)
    if isinstance(value, Mapping):
        others = [(key, child) for key, child in value.items() if key not in names]
        yield from ((_key(key, index), child) for index, (key, child) in enumerate(others))


def _key(key: Any, index: int) -> str:
    # The text of a key that is a tensor or an object holds values or an address; its position names it.
    return f"[{key!r}]" if isinstance(key, _SCALARS) else f"[key {index}]"


def _registered_children(value: Any) -> list[tuple[str, Any]] | None:
    node = torch_pytree.SUPPORTED_NODES.get(type(value))
    if node is None:
        return None
    children, context = node.flatten_fn(value)
    listed = [(f"[{index}]", child) for index, child in enumerate(children)]
    # What a registered type keeps beside its children is part of the value where it is plain.
    return [*listed, (".context", context)] if isinstance(context, _SCALARS) else listed


def _attributes(value: Any) -> list[tuple[str, Any]]:
    """The attributes of a plain object; none for modules, functions and what keeps none."""
    if isinstance(value, torch.nn.Module) or callable(value):
        return []
    return [(f".{name}", child) for name, child in getattr(value, "__dict__", {}).items()]
