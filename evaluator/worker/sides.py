"""The two sides of a timing: eager and compiled, each with what one call of it needs."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import torch

from evaluator.worker import calling
from evaluator.worker.intervals import Interval, Timer
from evaluator.worker.session import ProbeSession

if TYPE_CHECKING:
    from workloads.registry import Bucket

Inputs = tuple[tuple[Any, ...], dict[str, Any]]


class Side:
    """One mode of a bucket: what is called, its inputs, and for training what a step needs besides.

    ``streams``: the side streams that the workload says it works on, in the attribute ``streams`` of what it built.
    """

    def __init__(self, session: ProbeSession, bucket: Bucket, mode: str, fn: Callable[..., Any]) -> None:
        self.mode = mode
        self.fn = fn
        self.streams: Sequence[Any] = tuple(getattr(fn, "streams", None) or ())
        self._session = session
        self._bucket = bucket
        self._marks = calling.uses_cuda_graphs(session.options, session.target)
        self.held = self.fresh()
        self._trainable: list[torch.Tensor] = []
        self._cotangents: Any = None
        if session.workload.training:
            # Found once, outside every clock: which tensors receive gradients, and what backward begins with.
            self._trainable = calling.trainable_tensors(fn, *self.held)
            self._cotangents = calling.call(
                session.workload, fn, *self.fresh(), seed=session.seed, target=session.target
            ).cotangents

    def fresh(self) -> Inputs:
        """New inputs, the same values every time."""
        return self._session.inputs(self._bucket)

    def ready(self) -> contextlib.AbstractContextManager[Any]:
        """The context of its calls, entered once around a batch to stay out of its time."""
        return calling.grad_mode(self._session.workload)

    def batch(self, timer: Timer, inputs: Sequence[Inputs]) -> Interval:
        """What a batch takes, a call for each set of ``inputs``. They are made before, since making some sets the grad
        mode: a call in another mode than the rest is compiled for it, and warms or times other code."""
        with self.ready():
            return timer.batch(partial(self.submit, inputs), self.streams)

    def submit(self, inputs: Sequence[Inputs]) -> None:
        """One call for each set of inputs; on a device they are not done when this returns."""
        fn, trainable, cotangents = self.fn, self._trainable, self._cotangents
        training = self._session.workload.training
        for args, kwargs in inputs:
            if self._marks:
                torch.compiler.cudagraph_mark_step_begin()
            if training:
                calling.clear_gradients(trainable)
                calling.backward(fn(*args, **kwargs), cotangents=cotangents)
            else:
                fn(*args, **kwargs)
