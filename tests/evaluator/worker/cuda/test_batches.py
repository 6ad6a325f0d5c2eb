"""Three intervals of a batch on a device whose times are known, worked out by hand."""

from __future__ import annotations

import pytest

from evaluator.worker.targets.cuda.batches import DeviceTimer, Watched, drained
from tests.evaluator.worker.cuda.gpu import US, Gpu


def timer(gpu: Gpu) -> DeviceTimer:
    return DeviceTimer(gpu, clock=gpu.clock, cpu_clock=gpu.clock)


def us(seconds: float | None) -> float:
    assert seconds is not None
    return round(seconds / US, 3)


def test_a_device_that_has_work_ahead_goes_on_after_the_host() -> None:
    gpu = Gpu()
    found = timer(gpu).batch(lambda: [gpu.launch(10, 100) for _ in range(10)] and None)
    # Ten submissions of 10; the device begins after the first and works 10 x 100.
    assert (us(found.host_s), us(found.stream_s), us(found.wall_s)) == (100, 1010, 1010)
    assert found.flags == ()


def test_a_device_that_waits_for_the_host_is_done_soon_after_it() -> None:
    gpu = Gpu()
    found = timer(gpu).batch(lambda: [gpu.launch(100, 10) for _ in range(10)] and None)
    # The stream's interval is mostly gaps: 10 x 10 of work in 1010.
    assert (us(found.host_s), us(found.stream_s), us(found.wall_s)) == (1000, 1010, 1010)


def test_what_was_left_before_is_no_part_of_it() -> None:
    gpu = Gpu()
    one = timer(gpu)
    gpu.launch(1, 5000)
    found = one.batch(lambda: gpu.launch(10, 100))
    assert (us(found.host_s), us(found.stream_s), us(found.wall_s)) == (10, 110, 110)


def test_the_end_waits_for_declared_streams_alone() -> None:
    def work(gpu: Gpu) -> None:
        gpu.launch(10, 50)
        gpu.launch(10, 500, stream="side")

    alone, joined = Gpu(), Gpu()
    assert us(timer(alone).batch(lambda: work(alone)).stream_s) == 60
    # The side stream begins at 20 and works 500.
    assert us(timer(joined).batch(lambda: work(joined), ["side"]).stream_s) == 520


def test_an_undeclared_stream_does_not_reach_into_the_next_batch() -> None:
    gpu = Gpu()
    one = timer(gpu)
    one.batch(lambda: gpu.launch(10, 500, stream="side"))
    assert us(one.batch(lambda: gpu.launch(10, 50, stream="side"), ["side"]).stream_s) == 60


def test_memory_taken_from_the_driver_is_flagged() -> None:
    gpu = Gpu()

    def work() -> None:
        gpu.launch(10, 100)
        gpu.taken += 1

    one = timer(gpu)
    assert one.batch(work).flags == ("new_segments",)
    assert one.batch(lambda: gpu.launch(10, 100)).flags == ()


def test_wall_holds_what_an_undeclared_stream_does() -> None:
    gpu = Gpu()
    found = timer(gpu).batch(lambda: [gpu.launch(10, 5000, stream="side") for _ in range(2)] and None)
    # The second is submitted at 20, begins when the first is done, at 10 + 5000, and works 5000.
    assert us(found.wall_s) == 10010


def test_a_flush_before_each_call_is_not_timed() -> None:
    gpu = Gpu()
    calls = [lambda device_us=device_us: gpu.launch(2, device_us) for device_us in (100, 140)]
    found = timer(gpu).each(calls, lambda: gpu.launch(2, 700))
    # The flush keeps the stream busy, so that each call is there before its turn comes: 100 and 140, without the flushes.
    assert us(found.stream_s) == 240
    assert found.flags == ()


def test_a_call_that_outlasts_its_flush_on_the_host_is_said_to_have_gaps() -> None:
    gpu = Gpu()
    found = timer(gpu).each([lambda: gpu.launch(1000, 100)] * 20, lambda: gpu.launch(2, 60))
    # Each flush begins where the call before it is not done yet, 98 later than submitted, the first one at once. It is over
    # 60 later, and the call 1100 after the flush was submitted: 1100 - 60 for the first, 1100 - 158 for the others.
    assert us(found.stream_s) == 1040 + 19 * 942
    assert found.flags == ("host_bound",)


@pytest.mark.parametrize(
    ("host_us", "device_us", "bound"),
    # A device that is slower by a tenth or more has work ahead of it in the end: 50 x (d - h) + h against 50 x d + h.
    [(100, 10, True), (10, 100, False), (100, 100, True), (100, 115, False)],
)
def test_a_device_that_is_done_with_the_host_waited_for_it(
    host_us: float, device_us: float, bound: bool
) -> None:
    gpu = Gpu()
    found = timer(gpu).batch(lambda: [gpu.launch(host_us, device_us) for _ in range(50)] and None)
    assert found.host_s is not None
    assert drained(found.host_s, found.wall_s) is bound


def test_a_host_that_waits_within_each_call_leaves_gaps() -> None:
    gpu = Gpu()

    def call() -> None:
        gpu.launch(10, 200)
        gpu.synchronize()
        gpu.launch(10, 5)

    found = timer(gpu).batch(lambda: [call() for _ in range(20)] and None)
    assert found.host_s is not None
    assert drained(found.host_s, found.wall_s)


def test_declared_side_streams_that_are_busy_are_no_gaps() -> None:
    gpu = Gpu()
    work = lambda: [gpu.launch(10, 100, stream="side") for _ in range(20)] and None  # noqa: E731
    found = timer(gpu).batch(work, ["side"])
    assert found.host_s is not None
    assert not drained(found.host_s, found.wall_s)


def test_a_full_queue_shows_in_what_a_submission_takes() -> None:
    def watched(room: int | None) -> Watched:
        gpu = Gpu(room=room)
        seconds = timer(gpu).watch([lambda: gpu.launch(1, 5)] * 400)
        return Watched(host_s=1.0, wall_s=2.0, submissions=seconds)

    # With room for 100 the host soon goes at the device's pace, 5 a call and not 1.
    assert us(watched(100).submissions[-1]) == 5
    assert watched(100).queue_full
    assert not watched(None).queue_full


@pytest.mark.parametrize(
    ("launching", "calls", "wall_s", "full"),
    [
        (10, 50, 2.0, False),
        (10, 51, 2.0, True),
        (501, 1, 2.0, True),
        (10, 51, 1.05, False),
        (None, 51, 2.0, False),
    ],
)
def test_more_than_500_launches_fill_a_queue_that_does_not_empty(
    launching: int | None, calls: int, wall_s: float, full: bool
) -> None:
    assert Watched(1.0, wall_s, (1e-5,) * calls, launching).queue_full is full


def test_half_way_through_an_untimed_batch_the_device_is_looked_at() -> None:
    gpu = Gpu()
    seen: list[bool] = []

    def look() -> None:
        gpu.now += 500 * US
        seen.append(gpu.busy())

    seconds = timer(gpu).watch([lambda: gpu.launch(10, 1000)] * 10, look)
    assert seen == [True]
    # What looking takes is no part of a call.
    assert [us(one) for one in seconds] == [10] * 10
