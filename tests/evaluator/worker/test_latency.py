"""A request is timed from host input to host output, one at a time, and nothing else is called a latency."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest
import torch

from evaluator.worker import latency
from evaluator.worker.calling import WorkloadError
from evaluator.worker.intervals import HostTimer
from evaluator.worker.rounds import Rounds
from evaluator.worker.session import ProbeSession
from evaluator.worker.sides import Side
from evaluator.worker.walked import CompileCount
from workloads.records import Bucket, Place, Target, Variant, Workload

CPU = Target("cpu", "cpu")
BUCKET = Bucket.of({"n": 4})


def session(request: Any) -> ProbeSession:
    workload = Workload(
        name="served",
        stands_for="",
        build=lambda target: torch.nn.Identity(),
        inputs=lambda params, target: ((torch.arange(float(params["n"]), device=target.device),), {}),
        buckets=(BUCKET,),
        place=Place("here", __file__, 1),
        request=request,
    )
    return ProbeSession(
        probe="walk",
        workload=workload,
        variant=Variant("default", {}),
        target=CPU,
        buckets=(BUCKET,),
        seed=0,
        request={},
        emit=lambda record: None,
    )


def measured(request: Any, count: Any = None) -> list[Any]:
    one = session(request)
    sides = [Side(one, BUCKET, mode, one.build()) for mode in ("eager", "compiled")]
    counted = cast(CompileCount, count or SimpleNamespace(total=0))
    return list(latency.measure(one, BUCKET, sides, Rounds(HostTimer(), counted, 1, mutates=False)))


def test_each_request_is_a_sample_of_its_side_in_turns() -> None:
    served: list[float] = []

    def request(fn: Any, args: Any, kwargs: Any, target: Any) -> Any:
        assert (target, args[0].device.type, torch.is_grad_enabled()) == (CPU, "cpu", False)
        served.append(float(fn(*args, **kwargs).sum()))
        return served[-1]

    samples = measured(request)
    # 0 + 1 + 2 + 3; three of each side to warm up, then twenty that count.
    assert served == [6.0] * 46
    assert [s["metric"] for s in samples].count("eager.latency_ms") == 20
    assert [(s["metric"].split(".")[0], s["round"]) for s in samples[:4]] == [
        ("eager", 0),
        ("compiled", 0),
        ("compiled", 1),
        ("eager", 1),
    ]
    assert all(s["value"] > 0 and s["flags"] == [] for s in samples)


def test_without_a_request_there_is_no_latency() -> None:
    assert measured(None) == []


def test_one_that_compiles_has_no_value() -> None:
    count = SimpleNamespace(total=0)

    def request(fn: Any, args: Any, kwargs: Any, target: Any) -> Any:
        count.total += 1
        return fn(*args)

    assert {(s["value"], *s["flags"]) for s in measured(request, count)} == {(None, "compiled_in_region")}


def test_an_output_that_stays_on_the_device_is_refused() -> None:
    with pytest.raises(WorkloadError, match="must return its output on the host"):
        measured(lambda fn, args, kwargs, target: {"y": torch.empty(1, device="meta")})
