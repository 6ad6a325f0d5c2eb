"""What ran in a batch, of traces whose times were drawn by hand."""

from __future__ import annotations

import pytest

from evaluator.chrome_trace.observed import Observed, Operator, observe
from tests.evaluator.chrome_trace.made import (
    BATCH,
    Event,
    event,
    kernel,
    launch,
    operator,
    recorded,
    region,
)


def seen(*events: Event, on_device: bool = True) -> Observed:
    return observe(recorded(*events), "batch", on_device)


def test_kernels_and_copies_are_counted_apart_with_their_times() -> None:
    found = seen(*BATCH)
    assert found.work is not None
    # Read off the drawing in made.py: relu runs [60, 90] and [100, 130], gemm [20, 50], the copy [30, 70].
    assert [(one.kind, one.name, one.launches, one.time) for one in found.work] == [
        ("kernel", "relu", 2, 60.0),
        ("copy", "Memcpy HtoD (Pinned -> Device)", 1, 40.0),
        ("kernel", "gemm", 1, 30.0),
    ]
    assert (found.reason, found.devices, found.regions) == (None, 1, ())


def test_what_the_batch_cost_is_in_milliseconds() -> None:
    batch = seen(*BATCH).batch
    # From the region's start at 5 to the last launch's return at 99; 20 to 130; 5 to the wait's return at 135.
    assert {name: batch[name] for name in ("host_ms", "stream_ms", "wall_ms", "first_kernel_ms")} == {
        "host_ms": pytest.approx(0.094),
        "stream_ms": pytest.approx(0.110),
        "wall_ms": pytest.approx(0.130),
        "first_kernel_ms": pytest.approx(0.015),
    }
    # Something runs from 20 to 90 and from 100 to 130; in between the last launch had not returned.
    assert batch["busy_ms"] == pytest.approx(0.100)
    assert (batch["idle_host_ms"], batch["idle_device_ms"], batch["gaps"]) == (pytest.approx(0.010), 0.0, 1)
    # 10 of 110 are less than a tenth.
    assert batch["bound"] == "device"
    assert (batch["kernels"], batch["copies"], batch["sets"], batch["streams"]) == (3, 1, 0, 2)
    assert (batch["lost"], batch["orphans"]) == (0, 0)


def test_one_operator_is_not_one_kernel() -> None:
    # aten::mm [8, 30] launches gemm, a copy and relu, of which two are kernels; aten::relu [92, 100] launches one.
    assert seen(*BATCH).operators == (
        Operator("aten::mm", 1, 0.022, 2),
        Operator("aten::relu", 1, 0.008, 1),
    )


def test_operators_inside_each_other_have_the_launch_each_and_the_time_once() -> None:
    found = seen(
        region("batch", 0, 100),
        operator("aten::linear", 10, 50),
        operator("aten::t", 12, 20),
        operator("aten::addmm", 22, 45),
        launch(1, 30, 32),
        kernel(1, 35, 60),
        # One that calls itself, and one that launches nothing.
        operator("aten::to", 60, 80),
        operator("aten::to", 62, 70),
        launch(2, 64, 66),
        kernel(2, 66, 67),
        # Before the batch.
        operator("aten::linear", -20, -10),
    )
    assert {one.name: (one.calls, one.host_ms, one.kernels) for one in found.operators} == {
        "aten::linear": (1, 0.040, 1),
        "aten::t": (1, 0.008, 0),
        "aten::addmm": (1, pytest.approx(0.023), 1),
        "aten::to": (2, 0.020, 1),
    }


def test_a_backward_pass_on_another_thread_belongs_to_the_batch() -> None:
    there = {"tid": 4177}
    found = seen(
        region("batch", 0, 100),
        operator("MmBackward0", 40, 60) | there,
        launch(7, 45, 47) | there,
        kernel(7, 50, 70, name="dgrad"),
        # Something else of that thread, when nothing of ours is open.
        launch(8, 70, 72) | there,
        kernel(8, 75, 80, name="other"),
    )
    assert found.operators == (Operator("MmBackward0", 1, 0.020, 1),)
    assert found.work is not None
    assert {one.name for one in found.work} == {"dgrad", "other"}


def test_compiled_regions_that_ran_are_named() -> None:
    found = seen(
        *BATCH, operator("Torch-Compiled Region: 1/0", 6, 90), operator("Torch-Compiled Region: 0/2", 7, 8)
    )
    assert found.regions == ("0/2", "1/0")


def test_on_a_cpu_nothing_is_launched_and_nothing_is_zero() -> None:
    found = seen(region("batch", 0, 100), operator("aten::mm", 10, 20), on_device=False)
    assert found.work is None
    assert found.batch == {}
    assert found.reason == "nothing is launched on this target: the host does the work itself"
    assert found.operators == (Operator("aten::mm", 1, 0.010, None),)


def test_a_device_of_which_the_profiler_saw_nothing_is_unknown() -> None:
    found = seen(region("batch", 0, 100), operator("aten::mm", 10, 20), launch(1, 12, 14))
    assert found.work is None
    assert found.reason == "the trace has no work of a device: the profiler saw none of it"
    assert found.operators[0].kernels is None


def test_work_that_nothing_in_the_trace_launched_is_not_the_batchs() -> None:
    found = seen(region("batch", 0, 100), kernel(99, 20, 30))
    assert found.work is None
    assert found.reason == "no work in the trace is known to belong to the batch"


def test_lost_work_leaves_the_counts_and_takes_what_they_do_not_say() -> None:
    batch = seen(*BATCH, launch(50, 101, 104)).batch
    assert (batch["kernels"], batch["lost"]) == (3, 1)
    unknown = ("stream_ms", "busy_ms", "idle_host_ms", "idle_device_ms", "gaps", "bound")
    assert [batch[name] for name in unknown] == [None] * len(unknown)


def test_work_outside_of_the_batch_is_not_counted() -> None:
    after = (region("later", 200, 300), launch(60, 210, 212), kernel(60, 215, 230, name="later"))
    found = seen(*BATCH, *after)
    assert found.work is not None
    assert "later" not in {one.name for one in found.work}


def test_a_trace_without_the_region_says_so() -> None:
    found = seen(operator("aten::mm", 10, 20), launch(1, 12, 14), kernel(1, 15, 20))
    assert (found.work, found.operators, found.reason) == (None, (), "the trace has no region batch")


def test_of_two_devices_the_one_that_did_more_counts_and_both_are_told() -> None:
    other = event("kernel", "small", 40, 41, device=1, stream=7, correlation=3)
    found = seen(*BATCH[:-2], other, BATCH[-1])
    assert found.devices == 2
    assert found.account is not None
    assert found.account.device == 0
