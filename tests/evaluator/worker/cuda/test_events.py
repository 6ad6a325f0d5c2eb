"""An elapsed time is a number only where both events were recorded in order, on one stream, and the device came to both."""

from __future__ import annotations

import pytest

from evaluator.worker.targets.cuda.events import EventOrderError, EventPair
from tests.evaluator.worker.cuda.gpu import Event, Gpu


def primed(gpu: Gpu) -> EventPair:
    pair = EventPair(gpu.event(), gpu.event())
    pair.prime("main")
    return pair


def test_the_time_of_what_lies_between() -> None:
    gpu = Gpu()
    pair = primed(gpu)
    pair.start("main")
    gpu.launch(5, 40)
    gpu.launch(5, 60)
    pair.end("main")
    pair.wait()
    # The first work begins 5 us after the start's place in the idle stream, and both take 100.
    assert pair.elapsed_s() == pytest.approx(105e-6)


def test_not_before_the_device_came_there() -> None:
    gpu = Gpu()
    pair = primed(gpu)
    pair.start("main")
    gpu.launch(5, 40)
    pair.end("main")
    with pytest.raises(EventOrderError, match="before the device came to both"):
        pair.elapsed_s()
    gpu.synchronize()
    assert pair.elapsed_s() == pytest.approx(45e-6)


def test_not_of_events_made_within_the_interval() -> None:
    gpu = Gpu()
    with pytest.raises(EventOrderError, match="primed"):
        EventPair(gpu.event(), gpu.event()).start("main")


def test_not_reused_before_it_was_read() -> None:
    gpu = Gpu()
    pair = primed(gpu)
    pair.start("main")
    with pytest.raises(EventOrderError, match="read"):
        pair.start("main")
    pair.end("main")
    with pytest.raises(EventOrderError, match="read"):
        pair.start("main")
    gpu.synchronize()
    pair.elapsed_s()
    pair.start("main")


def test_not_read_twice() -> None:
    gpu = Gpu()
    pair = primed(gpu)
    pair.start("main")
    pair.end("main")
    pair.elapsed_s()
    with pytest.raises(EventOrderError, match="read before"):
        pair.elapsed_s()


def test_no_end_without_a_start_and_no_wait_without_an_end() -> None:
    pair = primed(Gpu())
    with pytest.raises(EventOrderError, match="without a start"):
        pair.end("main")
    pair.start("main")
    with pytest.raises(EventOrderError, match="not recorded"):
        pair.wait()
    with pytest.raises(EventOrderError, match="not ended"):
        pair.elapsed_s()


def test_not_across_two_streams() -> None:
    pair = primed(Gpu())
    pair.start("main")
    with pytest.raises(EventOrderError, match="another stream"):
        pair.end("side")


def test_not_backwards() -> None:
    gpu = Gpu()

    class Early(Event):
        def record(self, stream: object) -> None:
            self.at = gpu.now - 1.0

    pair = EventPair(gpu.event(), Early(gpu))
    pair.prime("main")
    pair.start("main")
    pair.end("main")
    with pytest.raises(EventOrderError, match="before the start"):
        pair.elapsed_s()
