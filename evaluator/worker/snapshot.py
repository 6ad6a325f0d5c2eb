"""What one call left behind, copied at once: outputs, written inputs, module state, gradients.

Copies are taken before the next call, which may overwrite an output that aliases an input or a buffer that a
CUDA graph owns.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch

from evaluator.worker.aliasing import find_aliases
from evaluator.worker.calling import Outcome
from evaluator.worker.file_state import FileState
from evaluator.worker.owned import Owned, owned_tensors
from evaluator.worker.trees import Leaf, flatten, is_array
from evaluator.worker.values import Value, copy_leaf, plain, same_elements, same_value


@dataclass(frozen=True)
class Snapshot:
    """What a call left. ``outputs`` are always compared; ``inputs`` (as they are after the call), ``state``
    (what `Owned` and the file's own state hold, by name) and ``gradients`` as far as one side changed them.

    ``aliases`` are pairs (output leaf, what shares its memory: an input, a parameter, or an earlier output);
    ``changed`` are the paths of inputs and state that the call wrote; ``generators`` those random generators
    that moved in the call, and ``generators_after`` the states of all after it; ``orders`` are the keys of mappings in the
    output, by path.
    """

    structure: str
    outputs: dict[str, Value]
    inputs: dict[str, Value]
    state: dict[str, Value]
    gradients: dict[str, Value]
    aliases: tuple[tuple[str, str], ...]
    changed: frozenset[str]
    generators: tuple[str, ...]
    generators_after: Mapping[str, Any] = field(default_factory=dict)
    orders: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def mutates(self) -> list[str]:
        """The inputs the call wrote."""
        return [path for path in self.inputs if path in self.changed]


@dataclass(frozen=True)
class Before:
    """Inputs and generators as they stood before a call."""

    inputs: dict[str, Value]
    versions: dict[str, int]
    generators: dict[str, Any]


class Watch:
    """Takes the snapshots of one pass over one built workload, and keeps its state's last known values.

    ``besides`` is the state of its own file, if it has any.
    """

    def __init__(self, fn: Any, besides: FileState | None = None) -> None:
        self._fn = fn
        self._besides = besides
        self._state = {path: copy_leaf(leaf) for path, leaf in _state_leaves(self._owned()).items()}

    def _owned(self) -> Owned:
        return owned_tensors(self._fn, () if self._besides is None else self._besides.named())

    def before(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Before:
        """To be taken right before the call."""
        leaves = _input_leaves(args, kwargs)
        return Before(
            {path: copy_leaf(leaf) for path, leaf in leaves.items()},
            _versions(leaves.values()),
            generator_states(),
        )

    def after(self, before: Before, outcome: Outcome) -> Snapshot:
        """To be taken right after the call; copies everything it keeps."""
        drawn = generator_states()
        tree = flatten(outcome.output)
        leaves = _input_leaves(outcome.args, outcome.kwargs)
        inputs = {path: copy_leaf(leaf) for path, leaf in leaves.items()}
        versions = _versions(leaves.values())
        changed = {
            path
            for path in inputs.keys() | before.inputs.keys()
            if path not in inputs
            or path not in before.inputs
            or versions.get(path) != before.versions.get(path)
            or not same_value(before.inputs[path], inputs[path])
        }
        owned = self._owned()
        changed |= self._refresh(owned)
        return Snapshot(
            structure=tree.structure,
            outputs={leaf.path: copy_leaf(leaf) for leaf in tree.leaves},
            inputs=inputs,
            state=dict(self._state),
            gradients=_gradients(owned, leaves),
            aliases=find_aliases(tree, leaves, owned),
            changed=frozenset(changed),
            generators=moved(before.generators, drawn),
            generators_after=drawn,
            orders=tree.orders,
        )

    def _refresh(self, owned: Owned) -> set[str]:
        """Copies the state that changed; unchanged state keeps its old copy, so that calls share the memory."""
        leaves = _state_leaves(owned)
        changed = set(self._state.keys() - leaves.keys())
        for path in changed:
            del self._state[path]
        for path, leaf in leaves.items():
            known = self._state.get(path)
            if known is None or not _unchanged(known, leaf):
                self._state[path] = copy_leaf(leaf)
                changed.add(path)
        return changed


def generator_states() -> dict[str, Any]:
    """The state of each random generator a workload may draw from: torch's CPU one and, where initialised, the
    current CUDA device's, numpy's legacy one if numpy is loaded, and Python's."""
    states: dict[str, Any] = {"torch": torch.get_rng_state(), "python": random.getstate()}
    if torch.cuda.is_initialized():
        states["torch.cuda"] = torch.cuda.get_rng_state()
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        name, keys, *rest = numpy.random.get_state()
        states["numpy"] = (name, keys.tobytes(), *rest)
    return states


def _input_leaves(args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Leaf]:
    """Input leaves by path. Of an object of torch's or Python's own only tensors and arrays count: it may keep
    counters and caches that are nobody's result."""
    found = {}
    for tree in (flatten(args, "args"), flatten(kwargs, "kwargs")):
        for leaf in tree.leaves:
            inside = any(leaf.path.startswith(f"{path}.") for path in tree.libraries)
            if leaf.kind in ("tensor", "array") or not inside:
                found[leaf.path] = leaf
    return found


def _state_leaves(owned: Owned) -> dict[str, Leaf]:
    named = {**owned.parameters, **owned.buffers}
    trees = (flatten(tensor, f"state.{name}") for name, tensor in named.items())
    values = {
        f"state.{name}": Leaf(f"state.{name}", "array" if is_array(value) else "scalar", value)
        for name, value in owned.values.items()
    }
    return {**values, **{leaf.path: leaf for tree in trees for leaf in tree.leaves}}


def _versions(leaves: Iterable[Leaf]) -> dict[str, int]:
    """How often each input tensor was written in place; inference tensors keep no count."""
    return {
        leaf.path: leaf.value._version
        for leaf in leaves
        if leaf.kind == "tensor" and not leaf.value.is_inference()
    }


def _unchanged(known: Value, leaf: Leaf) -> bool:
    if leaf.kind == known.kind == "scalar" and leaf.value is known.value:
        return True
    if leaf.kind != "tensor" or known.kind != "tensor":
        return same_value(known, copy_leaf(leaf))
    dense = plain(leaf.value)
    same_form = known.shape == tuple(dense.shape) and known.dtype == str(dense.dtype).removeprefix("torch.")
    return same_form and same_elements(known.value, dense.to("cpu"))


def _gradients(owned: Owned, inputs: dict[str, Leaf]) -> dict[str, Value]:
    """The gradients there are, by path: of parameters (each once, by its first name) and of input leaves."""
    found: dict[str, Value] = {}
    holders = [(name, tensor) for name, tensor in owned.parameters.items()]
    holders += [
        (path, leaf.value)
        for path, leaf in inputs.items()
        if leaf.kind == "tensor" and leaf.value.requires_grad and leaf.value.is_leaf
    ]
    seen: set[int] = set()
    for name, tensor in holders:
        if id(tensor) not in seen and tensor.grad is not None:
            seen.add(id(tensor))
            for leaf in flatten(tensor.grad, f"grad.{name}").leaves:
                found[leaf.path] = copy_leaf(leaf)
    return found


def moved(before: Mapping[str, Any], after: Mapping[str, Any]) -> tuple[str, ...]:
    """The generators whose two states differ, of those in both."""

    def same(one: Any, other: Any) -> bool:
        return torch.equal(one, other) if isinstance(one, torch.Tensor) else bool(one == other)

    return tuple(name for name, state in before.items() if name in after and not same(state, after[name]))
