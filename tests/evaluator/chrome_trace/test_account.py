"""What a region cost, on traces made by hand whose numbers can be read off the drawing in ``made``."""

from __future__ import annotations

import pytest

from evaluator.chrome_trace.account import account
from evaluator.chrome_trace.kernels import Total, totals
from evaluator.chrome_trace.launches import match
from evaluator.chrome_trace.streams import Overlap
from tests.evaluator.chrome_trace.made import (
    BATCH,
    Event,
    copy,
    counted,
    device,
    event,
    kernel,
    launch,
    operator,
    recorded,
    region,
)


def test_launches_are_matched_by_correlation() -> None:
    found = match(recorded(*BATCH))
    assert [(one.call.correlation, [work.name for work in one.work]) for one in found.matched] == [
        (1, ["gemm"]),
        (2, ["Memcpy HtoD (Pinned -> Device)"]),
        (3, ["relu"]),
        (4, ["relu"]),
    ]
    assert [one.delay for one in found.matched] == [10, 14, 39, 5]
    assert not found.orphans


def test_one_call_may_launch_a_whole_graph() -> None:
    found = match(
        recorded(
            launch(9, 1, 2, name="cudaGraphLaunch"), kernel(9, 5, 6, name="b"), kernel(9, 3, 4, name="a")
        )
    )
    assert [[work.name for work in one.work] for one in found.matched] == [["a", "b"]]


def test_work_without_a_call_is_an_orphan() -> None:
    found = match(recorded(launch(1, 1, 2), kernel(1, 3, 4), kernel(2, 5, 6), kernel(0, 7, 8)))
    assert [one.start for one in found.orphans] == [5, 7]


def test_a_correlation_given_twice_is_counted() -> None:
    found = match(recorded(launch(1, 4, 5), launch(1, 1, 6, name="cuLaunchKernel"), kernel(1, 7, 8)))
    assert found.repeated == 1
    assert found.matched[0].call.name == "cuLaunchKernel"


def test_three_intervals_of_a_batch() -> None:
    found = counted(*BATCH)
    # Submission ends with the last launch at 99; the device works from 20 to 130; the host knows at 135.
    assert (found.host, found.stream, found.wall) == ((5, 99), (20, 130), (5, 135))
    assert found.first_kernel == 15


def test_copies_are_no_kernels() -> None:
    assert counted(*BATCH).counts == {"kernel": 3, "copy": 1, "set": 0}
    zero = device("gpu_memset", "Memset (Device)", 6, 131, 132, 7)
    assert counted(*BATCH, launch(6, 100, 101), zero).counts == {"kernel": 3, "copy": 1, "set": 1}


def test_gaps_and_whose_they_are() -> None:
    found = counted(*BATCH)
    # Together the streams are busy from 20 to 90 and from 100 to 130; the launch of the last kernel returned at 99.
    assert [(gap.start, gap.end, gap.cause) for gap in found.gaps] == [(90, 100, "host")]
    assert (found.busy, found.idle("host"), found.idle("device")) == (100, 10, 0)
    early = [launch(4, 80, 85) if one == launch(4, 95, 99) else one for one in BATCH]
    assert [gap.cause for gap in counted(*early).gaps] == ["device"]


def test_a_gap_before_work_of_an_unknown_call_has_no_cause() -> None:
    lost = [one for one in BATCH if one != launch(4, 95, 99)]
    found = counted(*lost, named=None)
    assert [(gap.start, gap.cause) for gap in found.gaps] == [(90, None)]
    assert found.orphans == 1


def test_other_work_on_the_device_is_no_gap() -> None:
    # Something that is not of the region fills the hole.
    found = counted(*BATCH, launch(8, 1, 2), kernel(8, 85, 105, stream=20))
    assert not found.gaps
    assert found.counts == {"kernel": 3, "copy": 1, "set": 0}


def test_idle_time_before_and_after_a_region_is_not_its_own() -> None:
    around = (launch(8, 1, 2), kernel(8, 3, 10), launch(9, 131, 132), kernel(9, 150, 160))
    assert [gap.start for gap in counted(*BATCH, *around).gaps] == [90]
    assert [gap.start for gap in counted(*BATCH, *around, named=None).gaps] == [10, 90, 130]


def chain(*gaps: float, prepared: bool) -> list[Event]:
    """Kernels of 100 µs with these gaps between; launched long before, or just in time."""
    made, at = [region("batch", 0, 10)], 20.0
    for number, gap in enumerate((0, *gaps)):
        at += gap
        begun = 1 + number if prepared else max(1.0, at - 3)
        made += [launch(number + 1, begun, begun + 1), kernel(number + 1, at, at + 100)]
        at += 100
    return [region("batch", 0, at), *made[1:]]


def test_host_bound_is_a_device_that_waits_for_the_host() -> None:
    # 60 of 360 µs, 30 of 330, and the same gaps with everything launched before.
    assert counted(*chain(30, 30, prepared=False)).bound == "host"
    assert counted(*chain(15, 15, prepared=False)).bound == "device"
    assert counted(*chain(30, 30, prepared=True)).bound == "device"


def test_bound_is_unknown_of_one_kernel_or_of_lost_launches() -> None:
    assert counted(*chain(prepared=False)).bound is None
    lost = [one for one in chain(60, 60, prepared=False) if one["cat"] != "cuda_runtime"]
    assert counted(*lost, named=None).bound is None


def test_a_wait_for_one_stream_does_not_prove_that_all_are_done() -> None:
    def ended(name: str, *events: Event) -> tuple[float, float] | None:
        return counted(*events, event("cuda_runtime", name, 112, 140)).wall

    several = [one for one in BATCH if one["name"] != "cudaDeviceSynchronize"]
    single = [
        one for one in several if one["args"].get("stream") != 13 and one["args"].get("correlation") != 2
    ]
    assert ended("cudaStreamSynchronize", *several) is None
    assert ended("cudaDeviceSynchronize", *several) == (5, 140)
    assert ended("cudaStreamSynchronize", *single) == (5, 140)
    assert counted(*single).wall is None
    # A wait covers what was launched before it was called, even if it happens to return later.
    assert counted(*single, event("cuda_runtime", "cudaDeviceSynchronize", 94, 140)).wall is None
    # One that returned before the last work was done waited for something else.
    assert counted(*single, event("cuda_runtime", "cudaStreamSynchronize", 112, 129)).wall is None


def test_work_belongs_to_the_region_its_call_began_in() -> None:
    made = (
        region("first", 0, 10),
        region("second", 10.5, 20),
        launch(1, 5, 6),
        launch(2, 11, 12),
        kernel(1, 30, 40, name="a"),
        kernel(2, 40, 50, name="b"),
    )
    assert [one.name for one in counted(*made, named="first").work] == ["a"]
    assert [one.name for one in counted(*made, named="second").work] == ["b"]
    # A backward pass is launched by another thread of the process, and another process is none of ours.
    backward = {**launch(2, 5, 6), "tid": 9}
    assert [one.name for one in counted(*made[:3], backward, *made[4:], named="first").work] == ["a", "b"]
    foreign = {**launch(2, 5, 6), "pid": 9}
    assert [one.name for one in counted(*made[:3], foreign, *made[4:], named="first").work] == ["a"]


def test_a_region_without_launches_knows_nothing_rather_than_zero() -> None:
    made = (region("batch", 0, 10), kernel(1, 3, 4))
    found = counted(*made)
    assert (found.counts, found.orphans) == (None, 1)
    assert (found.host, found.stream, found.wall, found.first_kernel, found.busy, found.bound) == (None,) * 6
    # With all launches known it did launch nothing.
    quiet = counted(*made[:1], launch(1, 20, 21), kernel(1, 30, 31))
    assert quiet.counts == {"kernel": 0, "copy": 0, "set": 0}


def test_a_launch_whose_work_is_lost_leaves_the_device_unknown() -> None:
    found = counted(*BATCH, launch(30, 101, 103))
    assert found.lost == 1
    assert (found.stream, found.busy, found.bound, found.serialised) == (None, None, None, None)
    # What the host did is known all the same, and it did wait for all of it.
    assert (found.host, found.wall, found.first_kernel) == ((5, 103), (5, 135), 15)
    # Lost outside the region, it is none of the region's.
    assert counted(*BATCH, launch(30, 200, 201)).lost == 0
    # A region of which nothing is left knows no counts.
    assert (
        counted(region("batch", 0, 10), launch(1, 1, 2), launch(2, 20, 21), kernel(2, 30, 31)).counts is None
    )


@pytest.mark.parametrize(
    ("name", "launches"),
    [
        ("cudaLaunchKernel", True),
        ("cudaLaunchKernelExC", True),
        ("cuLaunchKernelEx", True),
        ("cudaGraphLaunch", True),
        ("cudaMemcpyAsync", True),
        ("cudaMemsetAsync", True),
        ("hipExtModuleLaunchKernel", True),
        ("cudaStreamSynchronize", False),
        ("cudaEventRecord", False),
        ("cudaMalloc", False),
        ("cudaOccupancyMaxActiveBlocksPerMultiprocessor", False),
    ],
)
def test_which_calls_launch(name: str, launches: bool) -> None:
    assert [one.name for one in match(recorded(launch(1, 1, 2, name=name))).lost] == [name] * launches


def test_a_trace_without_a_device_has_no_account() -> None:
    recording = recorded(region("batch", 0, 10), operator("aten::mm", 1, 2))
    assert recording.devices == ()
    assert account(recording, recording.regions[0], 0) is None


def test_devices_are_accounted_apart() -> None:
    second = kernel(2, 3, 9)
    second["args"]["device"] = 1
    recording = recorded(launch(1, 1, 2), launch(2, 2, 3), kernel(1, 5, 6), second)
    assert recording.devices == (0, 1)
    assert [account(recording, None, one).stream for one in (0, 1)] == [(5, 6), (3, 9)]  # type: ignore[union-attr]


def test_the_order_in_the_file_does_not_matter() -> None:
    assert counted(*reversed(BATCH)) == counted(*BATCH)


@pytest.mark.parametrize("shift", [1e3, 5e12])
def test_the_clocks_zero_does_not_matter(shift: float) -> None:
    moved = counted(*({**one, "ts": one["ts"] + shift} for one in BATCH))
    assert moved.first_kernel == 15
    assert moved.busy == 100
    assert moved.overlaps == (Overlap(7, 13, 30, 0.75),)


def test_totals_by_name() -> None:
    one = {"registers per thread": 32}
    found = totals(
        recorded(
            kernel(1, 0, 5, name="a", **one),
            kernel(2, 5, 9, name="a", **one),
            kernel(3, 9, 39, name="b", **one),
            kernel(4, 40, 41, name="b", **{"registers per thread": 40}),
            copy(5, 50, 52),
        ).work
    )
    assert found == (
        Total("kernel", "b", 2, 31, None, None),
        Total("kernel", "a", 2, 9, 32, None),
        Total("copy", "Memcpy HtoD (Pinned -> Device)", 1, 2, None, None),
    )
