"""One request at a time, from its input on the host to its output on the host: the only time called a latency."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import torch

from evaluator.worker import calling
from evaluator.worker.calling import WorkloadError
from evaluator.worker.protocol import Sample
from evaluator.worker.rounds import Rounds, sample, turns
from evaluator.worker.session import ProbeSession
from evaluator.worker.sides import Side
from evaluator.worker.trees import flatten
from workloads.records import Target

if TYPE_CHECKING:
    from workloads.registry import Bucket

METRIC: Final = "latency_ms"
# Requests before those that count, and those that count: each is a sample, so that a reader sees how they spread.
_WARM: Final = 3
_TIMED: Final = 20


def measure(session: ProbeSession, bucket: Bucket, sides: Sequence[Side], rounds: Rounds) -> list[Sample]:
    """A sample a request and side, in turns, qualified as ``rounds`` qualifies a round; none where the workload serves no
    request.

    Raises WorkloadError where ``request`` returned before its output was on the host.
    """
    if session.workload.request is None:
        return []
    host = Target(session.target.name, "cpu")
    samples: list[Sample] = []
    for number, side in turns(sides, range(-_WARM, _TIMED)):
        inputs = calling.make_inputs(session.workload, bucket, host, session.seed)
        with rounds.observed() as flags, side.ready():
            seconds = _serve(session, side, inputs)
        if number >= 0:
            samples.append(sample(f"{side.mode}.{METRIC}", number, seconds * 1e3, flags))
    return samples


def _serve(session: ProbeSession, side: Side, inputs: tuple[tuple[Any, ...], dict[str, Any]]) -> float:
    request = session.workload.request
    assert request is not None
    calling.synchronize(session.target)
    begun = time.perf_counter()
    output = request(side.fn, *inputs, session.target)
    seconds = time.perf_counter() - begun
    tensors = [
        (leaf.path, leaf.value) for leaf in flatten(output).leaves if isinstance(leaf.value, torch.Tensor)
    ]
    elsewhere = [path for path, tensor in tensors if tensor.device.type != "cpu"]
    if elsewhere:
        raise WorkloadError(
            f"request() must return its output on the host, but {elsewhere[0] or 'it'} is still on the device"
        )
    if session.target.device.startswith("cuda") and not torch.cuda.current_stream().query():
        # A copy that does not block returns before its bytes are there.
        raise WorkloadError("request() returned before the device was done: wait for its output's copy")
    return seconds
