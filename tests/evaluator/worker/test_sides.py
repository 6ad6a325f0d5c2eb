"""Every call of a timing runs in the grad mode of the calls that were walked, also where inputs are made for each."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest
import torch

from evaluator.worker.intervals import HostTimer
from evaluator.worker.probes import timing
from evaluator.worker.rounds import DEVICE_PARTS, Qualities, Rounds
from evaluator.worker.session import ProbeSession
from evaluator.worker.sides import Side
from evaluator.worker.walked import CompileCount
from workloads.records import Bucket, Place, Target, Variant, Workload

BUCKET = Bucket.of({"n": 4})
PLAN = {"warmup_calls": 3, "warmup_ms": 0}


def side(modes: list[bool], **asked: Any) -> Side:
    """A side that notes the grad mode of each of its calls in ``modes``."""

    def noted(x: torch.Tensor) -> torch.Tensor:
        modes.append(torch.is_grad_enabled())
        return x.add_(1.0)

    workload = Workload(
        name="noted",
        stands_for="",
        build=lambda target: noted,
        inputs=lambda params, target: ((torch.zeros(params["n"]),), {}),
        buckets=(BUCKET,),
        place=Place("here", __file__, 1),
        **asked,
    )
    session = ProbeSession(
        probe="walk",
        workload=workload,
        variant=Variant("default", {}),
        target=Target("cpu", "cpu"),
        buckets=(BUCKET,),
        seed=0,
        request={},
        emit=lambda record: None,
    )
    return Side(session, BUCKET, "eager", session.build())


@pytest.mark.parametrize(("asked", "mode"), [({}, False), ({"grad": True}, True)])
def test_warm_up_runs_in_the_mode_of_the_rounds(asked: dict[str, Any], mode: bool) -> None:
    modes: list[bool] = []
    timing._warm_up(HostTimer(), side(modes, **asked), PLAN)
    assert modes == [mode] * 3


def test_rounds_on_inputs_of_their_own_run_without_gradients() -> None:
    modes: list[bool] = []
    eager = side(modes)
    rounds = Rounds(HostTimer(), cast(CompileCount, SimpleNamespace(total=0)), 2, mutates=True)
    rounds.warm(eager, 1e-9)
    rounds.measure([eager], 3, {"eager": Qualities(missing=dict.fromkeys(DEVICE_PARTS, "no_device"))})
    assert modes == [False] * 8
