"""What a call of a reproduction script leaves, leaf by leaf, and in what two calls differ.

It stands in the script above `evaluator.worker.repro`, by the same rules; what opens outputs and finds state is the
evaluator's own, which the script carries.
"""

from __future__ import annotations

import math
from typing import Any

import torch

from evaluator.worker.owned import Owned as ReproOwned
from evaluator.worker.trees import flatten as repro_flatten
from evaluator.worker.values import Value as ReproValue
from evaluator.worker.values import copy_leaf as repro_copy
from evaluator.worker.values import same_value as repro_equal

ReproCall = dict[str, ReproValue]


def repro_tensors(value: Any) -> list[torch.Tensor]:
    """Tensors in an output of any kind, in order."""
    return [tensor for _, tensor in repro_flatten(value).tensors()]


def repro_leaves(value: Any, root: str = "out") -> ReproCall:
    """A copy of every leaf by its path; of the whole, its structure."""
    tree = repro_flatten(value, root)
    found = {leaf.path: repro_copy(leaf) for leaf in tree.leaves}
    return {**found, f"{root} (structure)": ReproValue("", "scalar", tree.structure, "structure", "str")}


def repro_state(held: ReproOwned, versions: dict[str, int]) -> ReproCall:
    """A copy of what is held: buffers, plain values, and parameters that were written since they had these versions."""
    written = {
        name: tensor for name, tensor in held.parameters.items() if versions.get(name) != tensor._version
    }
    found: ReproCall = {}
    for name, value in {**held.values, **held.buffers, **written}.items():
        found |= repro_leaves(value, f"state.{name}")
    return found


def repro_gradients(held: ReproOwned, given: list[tuple[str, torch.Tensor]]) -> ReproCall:
    """A copy of the gradients of parameters and inputs."""
    found: ReproCall = {}
    for name, tensor in [*held.parameters.items(), *given]:
        if tensor.is_leaf and tensor.grad is not None:
            found |= repro_leaves(tensor.grad, f"grad.{name}")
    return found


def repro_differences(eager: list[ReproCall], compiled: list[ReproCall]) -> dict[str, str]:
    """Leaves in which a call differs, and how, the first time that one does. Of a float any difference counts."""
    found: dict[str, str] = {}
    for ours, theirs in zip(eager, compiled, strict=False):
        for path in [*ours, *(path for path in theirs if path not in ours)]:
            text = repro_difference(ours.get(path), theirs.get(path))
            if text is not None:
                found.setdefault(path.removesuffix(" (structure)"), text)
    return found


def repro_difference(eager: ReproValue | None, compiled: ReproValue | None) -> str | None:
    """In what one leaf differs; None where it is the same, or can't be told."""
    if eager is None or compiled is None:
        return "only eager has it" if compiled is None else "only the compiled run has it"
    if repro_equal(eager, compiled):
        return None
    for name in ("kind", "dtype", "shape"):
        one, other = getattr(eager, name), getattr(compiled, name)
        if one != other:
            return f"{name} {one} in eager, {other} compiled"
    if not isinstance(eager.value, torch.Tensor):
        return f"{eager.value!r:.200} in eager, {compiled.value!r:.200} compiled"
    if eager.value.is_floating_point() or eager.value.is_complex():
        a, b = repro_numbers(compiled), repro_numbers(eager)
        alike = (a == b) | ((a - b).abs() < math.inf) | ((a != a) & (b != b))
        if not bool(alike.all()):
            return f"NaN or infinity in other places, {int((~alike).sum())} elements"
        return f"largest difference {float((a - b).abs().nan_to_num(0.0, 0.0).max()):.3g}"
    return f"{int((eager.value != compiled.value).sum())} of {eager.value.numel()} elements differ"


def repro_numbers(leaf: ReproValue) -> torch.Tensor:
    """The elements of a float leaf in double precision."""
    held = torch.as_tensor(leaf.value)
    return held.to(torch.complex128 if held.is_complex() else torch.float64)


def repro_is_float(leaf: ReproValue) -> bool:
    if isinstance(leaf.value, torch.Tensor):
        return leaf.value.is_floating_point() or leaf.value.is_complex()
    return isinstance(leaf.value, (float, complex))


def repro_figures(
    eager: list[ReproCall], compiled: list[ReproCall], reference: list[ReproCall] | None
) -> dict[str, float | None]:
    """max_abs and max_rel of compiled to eager, and both sides' worst RMSE to float64, over calls and leaves."""
    found: dict[str, float | None] = {
        "max_abs": None,
        "max_rel": None,
        "rmse_fp64": None,
        "eager_rmse_fp64": None,
    }

    def worse(name: str, value: float) -> None:
        known = found[name]
        found[name] = value if known is None else max(known, value)

    for call, (ours, theirs) in enumerate(zip(compiled, eager, strict=False)):
        exact = reference[call] if reference is not None and call < len(reference) else {}
        for path, one in ours.items():
            other = theirs.get(path)
            if other is None or (one.kind, one.dtype, one.shape) != (other.kind, other.dtype, other.shape):
                continue
            if not repro_is_float(one):
                gap = repro_gap(one, other)
                if gap is not None:
                    worse("max_abs", gap)
                continue
            a, b = repro_numbers(one), repro_numbers(other)
            finite = torch.isfinite(a) & torch.isfinite(b)
            if not bool(finite.any()):
                continue
            difference = (a - b).abs()[finite]
            worse("max_abs", float(difference.max()))
            size = b.abs()[finite]
            if bool((size > 0).any()):
                worse("max_rel", float((difference[size > 0] / size[size > 0]).max()))
            if path in exact and repro_is_float(exact[path]) and exact[path].shape == one.shape:
                right = repro_numbers(exact[path])
                known = finite & torch.isfinite(right)
                if bool(known.any()):
                    worse("rmse_fp64", math.sqrt(float(((a - right).abs()[known] ** 2).mean())))
                    worse("eager_rmse_fp64", math.sqrt(float(((b - right).abs()[known] ** 2).mean())))
    return found


def repro_gap(one: ReproValue, other: ReproValue) -> float | None:
    """The largest difference of two integer tensors, exact; None for what is none."""
    if not isinstance(one.value, torch.Tensor) or one.value.dtype == torch.bool:
        return None
    pairs = zip(one.value.reshape(-1).tolist(), other.value.reshape(-1).tolist(), strict=True)
    return float(max((abs(here - there) for here, there in pairs if here != there), default=0))
