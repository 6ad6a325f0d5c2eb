"""Any value a workload takes or returns, as a flat list of named leaves and a description of its structure.

``torch.utils._pytree`` alone will not do: it sees a dataclass it was not told of as one leaf, drops what a
registered type keeps beside its children, and forgets type names. Here a type name counts: a list is no tuple.
"""

from __future__ import annotations

import dataclasses
import enum
import sys
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from typing import Any, Final

import torch
from torch.utils import _pytree as torch_pytree
from torch.utils._python_dispatch import is_traceable_wrapper_subclass

from evaluator.worker.objects import attributes, of_library, own_attributes
from evaluator.worker.tensor_parts import tensor_parts, unreadable_reason

ROOT: Final = "out"

# Deeper than any model's output; what nests further is cut with a leaf that says so.
MAX_DEPTH: Final = 40

# An object without tensors that holds more plain values than this is a table (a tokenizer's words), no result.
MAX_PLAIN: Final = 200

PLAIN: Final = (type(None), bool, int, float, complex, str, bytes, enum.Enum)
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

    ``opened`` are the paths of objects that no registry knows and whose attributes were read, ``libraries`` of these
    the ones of torch's and Python's own types; ``orders`` the keys of mappings by path, in their order, where it is no
    part of the structure.
    """

    leaves: tuple[Leaf, ...]
    structure: str
    opened: tuple[str, ...] = ()
    libraries: tuple[str, ...] = ()
    orders: Mapping[str, tuple[str, ...]] = dataclasses.field(default_factory=dict)

    def tensors(self) -> list[tuple[str, torch.Tensor]]:
        """Path and tensor of each tensor leaf."""
        return [(leaf.path, leaf.value) for leaf in self.leaves if leaf.kind == "tensor"]


def flatten(value: Any, root: str = ROOT) -> Tree:
    """Every leaf of `value` by path, depth first, mappings in their own order.

    Opens tuples, lists, mappings, sets of plain values, named tuples, dataclasses (registered or not), Hugging
    Face style outputs (a mapping that is a dataclass), what was registered with torch's pytree, with what a subclass
    of these keeps besides; wrapper tensor subclasses, sparse, quantised and nested tensors by their parts; and other
    objects by their attributes and slots, those of Python's and torch's own types only where they hold tensors.
    Anything else is one opaque leaf with its reason. What leads back to where it is inside says so.

    Python calls two dicts equal whatever the order of their keys, and two OrderedDicts only in the same: so the
    structure has the order of these alone, and `Tree.orders` that of the others.
    """
    walk = _Walk()
    structure = walk.visit(value, root, {}, 0)
    return Tree(
        tuple(walk.leaves), structure, tuple(walk.opened.values()), tuple(walk.libraries), walk.orders
    )


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


class _Walk:
    """One traversal: the leaves found so far, the objects opened by their attributes (by id, with path), and the
    orders of keys. ``above`` are the ids of what a value is inside, with their paths."""

    def __init__(self) -> None:
        self.leaves: list[Leaf] = []
        self.opened: dict[int, str] = {}
        self.libraries: list[str] = []
        self.orders: dict[str, tuple[str, ...]] = {}

    def visit(self, value: Any, path: str, above: dict[int, str], depth: int) -> str:
        """Adds the leaves below `value` and returns its structure."""
        kind = _leaf_kind(value)
        if kind is not None:
            return self._leaf(path, kind, value)
        if id(value) in above:
            return self._leaf(path, "scalar", f"the structure contains itself: {above[id(value)]}")
        if depth >= MAX_DEPTH:
            return self._opaque(path, value, f"nested deeper than {MAX_DEPTH} levels")
        children = _children(value)
        if children is None and isinstance(value, torch.Tensor):
            return self._opaque(path, value, unreadable_reason(value) or "a tensor that can't be opened")
        if children is None:
            return self._object(value, path, above, depth)
        return self._branch(value, children, path, above, depth)

    def _branch(
        self, value: Any, children: list[tuple[str, Any]], path: str, above: dict[int, str], depth: int
    ) -> str:
        inside = {**above, id(value): path}
        parts = [f"{key}={self.visit(child, path + key, inside, depth + 1)}" for key, child in children]
        if isinstance(value, Mapping) and not isinstance(value, OrderedDict):
            self.orders[path] = tuple(key for key, _ in children)
            parts.sort()
        return f"{type_name(value)}({', '.join(parts)})"

    def _object(self, value: Any, path: str, above: dict[int, str], depth: int) -> str:
        """An object no registry knows: opened if that tells all it holds or at least tensors, else one leaf."""
        if id(value) in self.opened:
            return self._leaf(path, "scalar", f"the same object as {self.opened[id(value)]}")
        kept, whole = attributes(value)
        before = len(self.leaves), len(self.opened), len(self.orders)
        self.opened[id(value)] = path
        structure = self._branch(value, [(f".{name}", child) for name, child in kept], path, above, depth)
        found = self.leaves[before[0] :]
        library = of_library(type(value))
        if any(leaf.kind in ("tensor", "array") for leaf in found):
            self.libraries += [path] if library else []
            return (
                structure if whole else structure + self._opaque(path, value, "it may hold more than tensors")
            )
        if not whole:
            reason = f"an object of type {type_name(value)} can't be opened"
        elif library:
            reason = f"a library's object without tensors, of type {type_name(value)}"
        elif len(found) > MAX_PLAIN:
            reason = f"it holds {len(found)} plain values"
        else:
            return structure
        del self.leaves[before[0] :]
        self.opened = dict(list(self.opened.items())[: before[1]])
        self.orders = dict(list(self.orders.items())[: before[2]])
        return self._opaque(path, value, reason)

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
    return "scalar" if isinstance(value, (*PLAIN, *_CONSTANTS)) else None


def _children(value: Any) -> list[tuple[str, Any]] | None:
    """(path suffix, child) pairs of a container, or None for what is none."""
    if isinstance(value, torch.Tensor):
        return tensor_parts(value)
    listed = _items(value)
    if listed is None:
        return _registered_children(value)
    if not isinstance(value, (tuple, list, dict, AbstractSet)) and not dataclasses.is_dataclass(value):
        return listed
    # What a subclass of a container, or a dataclass, keeps besides is part of the value.
    known = {key for key, _ in listed}
    return listed + [(f".{name}", child) for name, child in own_attributes(value) if f".{name}" not in known]


def _items(value: Any) -> list[tuple[str, Any]] | None:
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
    return None


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
    return f"[{key!r}]" if isinstance(key, PLAIN) else f"[key {index}]"


def _registered_children(value: Any) -> list[tuple[str, Any]] | None:
    node = torch_pytree.SUPPORTED_NODES.get(type(value))
    if node is None:
        return None
    children, context = node.flatten_fn(value)
    listed = [(f"[{index}]", child) for index, child in enumerate(children)]
    # What a registered type keeps beside its children is part of the value where it is plain.
    return [*listed, (".context", context)] if _is_plain(context) else listed


def _is_plain(value: Any) -> bool:
    if type(value) is dict:
        value = [*value, *value.values()]
    return isinstance(value, PLAIN) or (type(value) in (tuple, list) and all(map(_is_plain, value)))
