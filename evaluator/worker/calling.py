"""How a workload is built, given its inputs and called: the one place, so that every probe calls alike.

The conventions: a seed before each build and before each making of inputs; gradients off unless the workload
trains or asks for them; the grad mode that inputs() may have switched put back before the next inputs(); a
training call is forward and backward, with gradients cleared before.
"""

from __future__ import annotations

import contextlib
import copy
import random
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import torch

from evaluator.worker.owned import owned_tensors
from evaluator.worker.precision import lost, set_precision
from evaluator.worker.targets.cuda import graphs, losing
from evaluator.worker.trees import flatten

if TYPE_CHECKING:
    from workloads.registry import Bucket, Target, Workload

# Cotangents are drawn from the eighths in [-1, 1] without 0: each is exact in every float dtype down to
# float8, so a float64 reference receives the very same numbers as a bfloat16 run.
_COTANGENT_STEPS: Final = 8

_NUMPY_SEED_LIMIT: Final = 2**32


class WorkloadError(Exception):
    """A workload's build() or inputs() returned what can't be used; the message says what to return."""


@dataclass(frozen=True)
class Outcome:
    """What one call left: the output tree as returned, the arguments as they are now, and for a training call
    the (output path, cotangent) pairs that backward began with (None: a scalar loss, cotangent 1)."""

    output: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    cotangents: tuple[tuple[str, torch.Tensor | None], ...] = ()


def seed_all(seed: int) -> None:
    """Seed torch's generators (every device), Python's, and numpy's legacy one if numpy is loaded."""
    torch.manual_seed(seed)
    random.seed(seed)
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        numpy.random.seed(seed % _NUMPY_SEED_LIMIT)


def build(workload: Workload, target: Target, seed: int, precision: str | None = None) -> Any:
    """A fresh module or callable of the workload, seeded, under a float32 precision if one is asked for.

    Raises WorkloadError if build() returns nothing callable or takes another precision, Unsupported where this torch
    can't have the one asked for, or what build() raises.
    """
    torch.set_grad_enabled(True)
    if precision is not None:
        set_precision(precision)
    seed_all(seed)
    with losing.watched():
        built = workload.build(target)
    if precision is not None and (other := lost(precision)):
        raise WorkloadError(
            f"build() changed the float32 precision, which is to be {precision!r} here: it now reads {other}; leave it "
            "to the variant, or to precision="
        )
    if built is None:
        raise WorkloadError("build() returned nothing; return the module or function to evaluate")
    if not callable(built):
        raise WorkloadError(
            f"build() returned a {type(built).__name__}, which can't be called; return a module or function"
        )
    return built


def make_inputs(
    workload: Workload, bucket: Bucket, target: Target, seed: int
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Fresh (args, kwargs) for one call; always the same values for the same seed.

    The grad mode is on before inputs(); inputs() may switch it, and `call` then runs in the mode it left. Raises
    WorkloadError if inputs() returns anything but (args, kwargs), or what inputs() raises.
    """
    torch.set_grad_enabled(True)
    seed_all(seed)
    with losing.watched():
        made = workload.inputs(copy.deepcopy(bucket.params), target)
    if not isinstance(made, tuple) or len(made) != 2:
        raise WorkloadError("inputs() must return a pair (args, kwargs), for example (x,), {}")
    args, kwargs = made
    if not isinstance(args, (tuple, list)) or not isinstance(kwargs, dict):
        raise WorkloadError(
            f"inputs() must return a tuple of arguments and a dict of keyword arguments, "
            f"not {type(args).__name__} and {type(kwargs).__name__}"
        )
    return tuple(args), dict(kwargs)


def keeps_gradients(workload: Workload) -> bool:
    """Whether a call runs in the ambient grad mode (training, or the workload asks for it) and not under no_grad."""
    return bool(workload.training or workload.grad)


def grad_mode(workload: Workload) -> contextlib.AbstractContextManager[Any]:
    """The context a call of the workload runs in; enter it once around a loop to keep it out of a timed region."""
    return contextlib.nullcontext() if keeps_gradients(workload) else torch.no_grad()


@contextlib.contextmanager
def restored_grad_mode() -> Iterator[None]:
    """Puts the process's grad mode back on exit, whatever the workload did to it."""
    before = torch.is_grad_enabled()
    try:
        yield
    finally:
        torch.set_grad_enabled(before)


def call(
    workload: Workload,
    fn: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    *,
    seed: int = 0,
    target: Target | None = None,
    trainable: Iterable[torch.Tensor] | None = None,
    cotangents: tuple[tuple[str, torch.Tensor | None], ...] | None = None,
) -> Outcome:
    """One call of `fn` (eager or compiled) as the workload asks: for training, backward included.

    `trainable` (from `trainable_tensors`) and `cotangents` (from an earlier outcome of the same bucket) may be
    handed in, so that a timed call neither searches for parameters nor allocates. With a CUDA `target` a new
    CUDA graph step is marked before and the device is waited for after. Raises what the workload raises; an error that
    costs the process its device ends a probe's process.
    """
    begin_step(target)
    if workload.training:
        clear_gradients(trainable_tensors(fn, args, kwargs) if trainable is None else trainable)
    with losing.watched():
        with grad_mode(workload):
            output = fn(*args, **kwargs)
            used = backward(output, seed=seed, cotangents=cotangents) if workload.training else ()
        synchronize(target)
    return Outcome(output, args, kwargs, used)


def trainable_tensors(
    fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> list[torch.Tensor]:
    """What backward leaves a ``.grad`` on: the parameters `fn` holds, each once, and input leaves that ask for it."""
    held = [*owned_tensors(fn).parameters.values()]
    given = [*flatten(args).tensors(), *flatten(kwargs).tensors()]
    held += [tensor for _, tensor in given if tensor.requires_grad and tensor.is_leaf]
    return list({id(tensor): tensor for tensor in held}.values())


def clear_gradients(trainable: Iterable[torch.Tensor]) -> None:
    """Set every ``.grad`` to None, as ``zero_grad(set_to_none=True)`` does."""
    for tensor in trainable:
        tensor.grad = None


def backward(
    output: Any,
    *,
    seed: int = 0,
    cotangents: tuple[tuple[str, torch.Tensor | None], ...] | None = None,
) -> tuple[tuple[str, torch.Tensor | None], ...]:
    """Run backward from an output tree and return the (path, cotangent) pairs it began with.

    A scalar loss is taken as it is: where the tree has real scalars that need a gradient, only these, each with
    cotangent 1. Otherwise every float output, each with seeded random cotangents (a sum would not do: the sum
    of a softmax has no gradient). Raises RuntimeError if no output needs a gradient.
    """
    roots = {
        path: tensor
        for path, tensor in flatten(output).tensors()
        if tensor.requires_grad and (tensor.is_floating_point() or tensor.is_complex())
    }
    if not roots:
        raise RuntimeError("the workload trains, but no output of its forward needs a gradient")
    if cotangents is None or [path for path, _ in cotangents] != list(_chosen(roots)):
        cotangents = tuple(
            (path, None if _is_scalar(tensor) else random_cotangent(tensor, seed + index))
            for index, (path, tensor) in enumerate(_chosen(roots).items())
        )
    torch.autograd.backward([roots[path] for path, _ in cotangents], [given for _, given in cotangents])
    return cotangents


def random_cotangent(tensor: torch.Tensor, seed: int) -> torch.Tensor:
    """A cotangent of the tensor's shape, dtype and device: seeded eighths in [-1, 1] without 0, each exact in
    every float dtype; drawn from a generator of its own on the CPU, so the workload's generators stay put."""
    generator = torch.Generator().manual_seed(seed)
    shape = (*tensor.shape, 2) if tensor.is_complex() else tuple(tensor.shape)
    steps = torch.randint(1, _COTANGENT_STEPS + 1, shape, generator=generator, dtype=torch.float64)
    signs = torch.randint(0, 2, shape, generator=generator, dtype=torch.float64) * 2 - 1
    drawn = steps * signs / _COTANGENT_STEPS
    if tensor.is_complex():
        drawn = torch.view_as_complex(drawn)
    return drawn.to(device=tensor.device, dtype=tensor.dtype)


def uses_cuda_graphs(options: Mapping[str, Any], target: Target) -> bool:
    """Whether these arguments of torch.compile make it record CUDA graphs on this target, which it replays later."""
    return graphs.asks_for_graphs(options) and target.device.startswith("cuda")


def begin_step(target: Target | None) -> None:
    """Mark a new CUDA graph step, so that a compiled call may reuse the last call's outputs; nothing on CPU."""
    if target is not None and target.device.startswith("cuda"):
        torch.compiler.cudagraph_mark_step_begin()


def synchronize(target: Target | None) -> None:
    """Wait until the target's device is done; nothing on CPU, whose calls return when done."""
    if target is not None and target.device.startswith("cuda"):
        torch.cuda.synchronize()


def _chosen(roots: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    scalars = {path: tensor for path, tensor in roots.items() if _is_scalar(tensor)}
    return scalars or roots


def _is_scalar(tensor: torch.Tensor) -> bool:
    return tensor.dim() == 0 and not tensor.is_complex()
