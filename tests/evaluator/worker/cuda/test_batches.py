"""Three intervals of a batch on a device whose times are known, worked out by hand."""

from __future__ import annotations

import pytest

from evaluator.worker.targets.cuda.batches import DeviceTimer, Watched
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


def test_a_flush_before_each_call_is_not_timed() -> None:
    gpu = Gpu()
    calls = [lambda device_us=device_us: gpu.launch(2, device_us) for device_us in (100, 140)]
    # The flush keeps the stream busy, so that each call is there before its turn comes.
    assert us(timer(gpu).each(calls, lambda: gpu.launch(2, 700))) == 120


@pytest.mark.parametrize(
    ("host_us", "device_us", "idle"),
    # 12 calls: a device that is quicker has done each before the next comes; a slower one never.
    [(100, 10, 12), (10, 100, 0)],
)
def test_calls_after_which_the_device_had_nothing_to_do(host_us: float, device_us: float, idle: int) -> None:
    gpu = Gpu()

    def call() -> None:
        gpu.launch(host_us / 2, device_us / 2)
        gpu.launch(host_us / 2, device_us / 2)
        # The query itself takes a while, in which the last small kernel ends.
        gpu.now += 10 * US

    found, seconds = timer(gpu).watch([call] * 12)
    assert found == idle
    assert [us(one) for one in seconds] == [host_us + 10] * 12
    assert Watched(found, seconds).host_bound is bool(idle)


def test_a_full_queue_shows_in_what_a_submission_takes() -> None:
    def watched(room: int | None) -> Watched:
        gpu = Gpu(room=room)
        return Watched(*timer(gpu).watch([lambda: gpu.launch(1, 5)] * 400))

    # With room for 100 the host soon goes at the device's pace, 5 a call and not 1.
    assert us(watched(100).submissions[-1]) == 5
    assert watched(100).queue_full
    assert not watched(None).queue_full


@pytest.mark.parametrize(
    ("launching", "calls", "idle", "full"),
    [(10, 50, 0, False), (10, 51, 0, True), (501, 1, 0, True), (10, 51, 51, False), (None, 51, 0, False)],
)
def test_more_than_500_launches_fill_a_queue_that_does_not_empty(
    launching: int | None, calls: int, idle: int, full: bool
) -> None:
    assert Watched(idle, (1e-5,) * calls, launching).queue_full is full


def test_one_idle_moment_in_many_is_no_gap_worth_a_flag() -> None:
    assert not Watched(1, (1e-5,) * 50).host_bound
    assert Watched(5, (1e-5,) * 50).host_bound
    assert Watched(1, (1e-5,)).host_bound
