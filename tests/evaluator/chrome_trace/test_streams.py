"""Streams beside each other: overlap, and work that could not overlap, on traces made by hand."""

from __future__ import annotations

from evaluator.chrome_trace.streams import Overlap, Serialised, default_stream
from tests.evaluator.chrome_trace.made import (
    BATCH,
    counted,
    kernel,
    launch,
    operator,
    recorded,
    region,
)


def test_overlap_between_streams_is_measured() -> None:
    # The copy [30, 70] beside [20, 50] and [60, 90]: 20 + 10 of its 40.
    assert counted(*BATCH).overlaps == (Overlap(7, 13, 30, 0.75),)
    assert counted(*BATCH).serialised is None


def test_all_in_one_stream_is_named() -> None:
    made = (region("batch", 0, 9), launch(1, 1, 2), launch(2, 2, 3), kernel(1, 5, 6), kernel(2, 6, 7))
    assert counted(*made).serialised == Serialised(7, "alone", True)
    other = [
        {**one, "args": {**one["args"], "stream": 20}} if one["cat"] == "kernel" else one for one in made
    ]
    assert counted(*other).serialised == Serialised(20, "alone", False)
    unknown = [one for one in made if one["cat"] != "cuda_runtime"]
    assert counted(*unknown, named=None).serialised == Serialised(7, "alone", None)


def test_taking_turns_with_the_default_stream_is_named() -> None:
    made = [region("batch", 0, 50)]
    for number, stream in enumerate((20, 7, 21, 7)):
        at = 10 * number + 5
        made += [launch(number + 1, at - 4, at - 3), kernel(number + 1, at, at + 10, stream=stream)]
    assert counted(*made).serialised == Serialised(7, "never_beside", True, (20, 21))
    beside = [*made, launch(9, 2, 3), kernel(9, 16, 20, stream=22)]
    assert counted(*beside).serialised is None


def test_the_default_streams_number_depends_on_the_runtime() -> None:
    assert default_stream(recorded(launch(1, 1, 2))) == 7
    assert default_stream(recorded(launch(1, 1, 2, name="hipLaunchKernel"))) == 0
    assert default_stream(recorded(operator("aten::mm", 1, 2))) is None
