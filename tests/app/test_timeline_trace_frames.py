"""What Timeline draws of recorded traces, without a page: pictures, tables and sentences."""

from __future__ import annotations

import re

import pytest

from app.timeline import chart, trace_frames, trace_words
from app.timeline.picture import KINDS, Picture
from evaluator.chrome_trace.account import account
from evaluator.chrome_trace.launches import match
from evaluator.chrome_trace.recording import Span, read_recording
from tests.app.drawn import valid
from tests.app.timelines import long
from tests.evaluator.chrome_trace.made import BATCH, event, kernel, launch, operator, region, written


def bars(picture: Picture) -> list[tuple[str, float, float, str]]:
    rows = picture.bars.itertuples()
    return [(picture.lanes[one.lane], one.start, one.end, one.kind) for one in rows]


RECORDING = read_recording(written(*BATCH))


def test_a_trace_has_a_lane_for_each_part() -> None:
    found = account(RECORDING, RECORDING.regions[0], 0)
    picture, left_out = trace_frames.picture(RECORDING, found, RECORDING.regions[0])
    assert picture.lanes == (
        "host region",
        "stream interval",
        "batch wall",
        "host: operators",
        "host: runtime",
        "device: stream 7",
        "device: stream 13",
    )
    assert left_out == 0
    assert picture.ends == (0, 130)
    # A line down from each launch, and along to the start of its work.
    assert len(picture.links) == 8
    assert [one["name"] for one in valid(chart.timeline(picture, zoom=True))["params"]] == ["zoom"]


def test_what_is_not_known_has_no_bar() -> None:
    recording = read_recording(written(*(one for one in BATCH if one["name"] != "cudaDeviceSynchronize")))
    found = account(recording, recording.regions[0], 0)
    picture, _ = trace_frames.picture(recording, found, recording.regions[0])
    assert [lane for lane, *_, kind in bars(picture) if kind == "interval"] == [
        "host region",
        "stream interval",
    ]
    assert found is not None
    assert ("Batch wall", "–", "not known: no wait for it is recorded") in trace_words.cards(found)


def test_only_outermost_operators_are_drawn() -> None:
    spans = [
        Span("outer", 0, 10, ("1", "1")),
        Span("inner", 2, 8, ("1", "1")),
        Span("next", 10, 12, ("1", "1")),
    ]
    assert [one.name for one in trace_frames.outermost(spans)] == ["outer", "next"]


def test_threads_have_lanes_of_their_own_up_to_a_number() -> None:
    made = [{**operator("aten::mul", n, n + 1), "tid": n} for n in range(7)]
    made += [{**operator("aten::add", 20, 21), "tid": 5}]
    recording = read_recording(written(*made))
    picture, left_out = trace_frames.picture(recording, None, None)
    assert left_out == 7 - trace_frames.MOST_THREADS
    assert picture.lanes[0] == "host 1: operators"
    # The busiest thread comes first.
    assert [one for one in bars(picture) if one[0] == "host 1: operators"] == [
        ("host 1: operators", 5, 6, "operator"),
        ("host 1: operators", 20, 21, "operator"),
    ]


@pytest.mark.parametrize("most", [50, 400, 5_000])
def test_a_long_trace_is_merged_and_nothing_is_left_out(most: int) -> None:
    pieces = 3_000
    recording = read_recording(written(*long(pieces)))
    found = account(recording, recording.regions[0], 0)
    picture, _ = trace_frames.picture(recording, found, recording.regions[0], most)
    assert picture.marks <= most
    counted: dict[str, int] = {}
    for one in picture.bars.itertuples():
        several = re.match(r"([\d,]+) pieces", one.label)
        counted[one.kind] = counted.get(one.kind, 0) + (int(several[1].replace(",", "")) if several else 1)
    # The two intervals that are known, and an operator, a call and a kernel each.
    assert counted == {"interval": 2, "operator": pieces, "call": pieces, "kernel": pieces}
    assert all(one.end >= one.start for one in picture.bars.itertuples())
    assert picture.bars["end"].max() <= picture.ends[1]


def test_the_table_of_work_has_calls_gaps_and_causes() -> None:
    found = account(RECORDING, RECORDING.regions[0], 0)
    assert found is not None
    table = trace_frames.work(found, 5)
    assert list(table["name"]) == ["gemm", "Memcpy HtoD (Pinned -> Device)", "relu", "relu"]
    assert list(table["start"]) == [15, 25, 55, 95]
    assert list(table["delay"]) == [10, 14, 39, 5]
    # The one gap is before the last one: from 90 to 100, and the host was late.
    assert [None if one is None or one != one else one for one in table["gap"]] == [None, None, None, 10]
    assert table["cause"].tolist()[-1] == "host"


def test_work_of_an_unknown_call_has_an_unknown_cause() -> None:
    recording = read_recording(written(*(one for one in BATCH if one != launch(4, 95, 99))))
    found = account(recording, None, 0)
    assert found is not None
    assert trace_frames.work(found, 0)["cause"].tolist()[-1] == "unknown"
    assert [one.sentence for one in trace_words.sentences(found)][-1].startswith(
        "1 piece of work on the device has no call in the trace"
    )


def test_units_of_short_and_long_times() -> None:
    assert [trace_words.micros(one) for one in (None, 0.0, 3.25, 9_999, 12_345)] == [
        "–",
        "0 µs",
        "3.25 µs",
        "9,999 µs",
        "12.3 ms",
    ]


def test_what_of_a_file_could_not_be_used_is_said() -> None:
    raw = written(*BATCH, {"ph": "X", "cat": "kernel", "dur": 1}, launch(1, 50, 51))
    recording = read_recording(raw[: raw.rindex(b"]")])
    assert trace_words.reservations(recording, match(recording)) == [
        "The file has no end: what was written until then is shown.",
        "Left out, since it could not be read: 1 event.",
        "Carried by several calls, of which the first has the work: 1 correlation id.",
    ]


def test_every_kind_of_work_has_a_colour() -> None:
    made = (
        region("batch", 0, 9),
        launch(1, 1, 2, name="cudaMemsetAsync"),
        {**kernel(1, 5, 6), "cat": "gpu_memset"},
        event("cuda_runtime", "cudaDeviceSynchronize", 3, 8),
    )
    recording = read_recording(written(*made))
    picture, _ = trace_frames.picture(
        recording, account(recording, recording.regions[0], 0), recording.regions[0]
    )
    assert set(picture.bars["kind"]) == {"interval", "call", "set"} <= set(KINDS)
    spec = valid(chart.timeline(picture))
    colors = next(layer["encoding"]["color"] for layer in spec["layer"] if "color" in layer["encoding"])
    assert len(colors["scale"]["domain"]) == len(colors["scale"]["range"]) == 3
