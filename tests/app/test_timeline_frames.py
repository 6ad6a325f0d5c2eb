"""What Timeline draws, without a page: pictures, tables and sentences of programs."""

from __future__ import annotations

import re
from typing import Any

import pytest

from app.timeline import chart, frames, words
from app.timeline.picture import Picture
from evaluator.ordering.calls import (
    HOST,
    Call,
    Record,
    Run,
    SyncDevice,
    SyncEvent,
    SyncStream,
    Wait,
    WaitStream,
)
from evaluator.ordering.presets import PRESETS
from evaluator.ordering.program import Program
from tests.app.drawn import valid


def modelled(*calls: Call) -> frames.Modelled:
    return frames.modelled(Program(calls))


def bars(picture: Picture) -> list[tuple[str, float, float, str]]:
    rows = picture.bars.itertuples()
    return [(picture.lanes[one.lane], one.start, one.end, one.kind) for one in rows]


@pytest.mark.parametrize("preset", PRESETS, ids=lambda one: one.key)
def test_pictures_of_programs_are_valid_charts(preset: Any) -> None:
    # Altair checks it against Vega-Lite's schema; what is not a number would not be JSON.
    assert valid(chart.timeline(frames.picture(frames.modelled(preset.program))))["layer"]


def test_the_hosts_wait_is_on_the_hosts_lane() -> None:
    found = modelled(
        Run("A", "s1", 6, at=1, writes=("x",)), SyncDevice(at=2), Run("B", HOST, 3, reads=("x",))
    )
    picture = frames.picture(found)
    assert bars(picture) == [("s1", 1, 7, "run"), ("host", 2, 7, "wait"), ("host", 7, 10, "host run")]
    assert [one.sentence for one in frames.sentences(found)] == [
        "`B` is ordered after `A`: by `torch.cuda.synchronize()` (call 2)."
    ]


def test_a_wait_for_nothing_has_no_length_and_no_link() -> None:
    picture = frames.picture(modelled(Wait("s2", "e"), WaitStream("s2", "s1"), Run("B", "s2", 3)))
    assert bars(picture) == [("s2", 0, 3, "run")]
    assert set(picture.links["kind"]) == {"submit"}


def test_what_waits_in_its_stream_is_joined_to_its_call() -> None:
    picture = frames.picture(modelled(Run("A", "s1", 6, at=1), Run("B", "s1", 3, at=2)))
    queued = picture.links[picture.links["kind"] == "queue"]
    # B is submitted at 2 and starts at 7; A at once.
    assert [(one.x, one.x2) for one in queued.itertuples()] == [(2, 7)]


def test_what_is_wrong_comes_first() -> None:
    found = frames.sentences(
        frames.modelled(next(one.program for one in PRESETS if one.key == "three-streams"))
    )
    assert [one.tone for one in found] == ["bad", "good", "good", "good"]


A, B = Run("A", "s1", 6, writes=("x",)), Run("B", "s2", 3, reads=("x",))


@pytest.mark.parametrize(
    ("calls", "ending"),
    [
        (
            (WaitStream("s2", "s1"), A, B),
            "`s2.wait_stream(s1)` (call 1) covers only what was submitted before it.",
        ),
        (
            (Wait("s2", "e"), A, B),
            "`s2.wait_event(e)` (call 1) waits for nothing: the event was not recorded by then.",
        ),
        ((A, B, SyncStream("s1")), "`s1.synchronize()` (call 3) comes after it."),
        ((A, WaitStream("s3", "s1"), B), "`s3.wait_stream(s1)` (call 2) makes another stream wait."),
        ((A, B), "it reads `x`, which `A` writes."),
        ((A, Run("B", "s2", 3, writes=("x",))), "it writes `x`, which `A` writes too."),
        (
            (Run("A", "s1", 6, reads=("x",)), Run("B", "s2", 3, writes=("x",))),
            "it writes `x`, which `A` reads.",
        ),
        ((Run("A", "s1", 6), Run("B", "s2", 3, after=("A",))), "it relies on `A`."),
    ],
)
def test_why_it_is_not_ordered(calls: tuple[Call, ...], ending: str) -> None:
    (sentence,) = [one.sentence for one in frames.sentences(modelled(*calls))]
    assert sentence.startswith("**`B` is NOT ordered after `A`**")
    assert sentence.endswith(ending)


@pytest.mark.parametrize(
    ("calls", "ending"),
    [
        ((A, Run("B", "s1", 3, reads=("x",))), "both are in `s1`, which runs its work in order."),
        (
            (Run("A", HOST, 6, writes=("x",)), Run("B", HOST, 3, reads=("x",))),
            "the host does one after the other.",
        ),
        (
            (Run("A", HOST, 6, writes=("x",)), Run("B", "s2", 3, reads=("x",))),
            "the host was done with it before it made the call.",
        ),
        ((A, Record("e", "s1"), SyncEvent("e"), B), "by `e.synchronize()` (call 3)."),
    ],
)
def test_why_it_is_ordered(calls: tuple[Call, ...], ending: str) -> None:
    (sentence,) = [one.sentence for one in frames.sentences(modelled(*calls))]
    assert sentence == f"`B` is ordered after `A`: {ending}"


def test_calls_are_written_as_torch_has_them() -> None:
    import torch

    methods = {
        words.written(Record("e", "s")): (torch.cuda.Event, "record"),
        words.written(SyncEvent("e")): (torch.cuda.Event, "synchronize"),
        words.written(Wait("s", "e")): (torch.cuda.Stream, "wait_event"),
        words.written(WaitStream("s", "t")): (torch.cuda.Stream, "wait_stream"),
        words.written(SyncStream("s")): (torch.cuda.Stream, "synchronize"),
    }
    for code, (owner, name) in methods.items():
        assert re.fullmatch(rf"\w\.{name}\(\w?\)", code)
        assert callable(getattr(owner, name))


def test_the_table_has_when_each_call_is_made() -> None:
    table = frames.calls(modelled(A, SyncStream("s1"), B))
    assert list(table["code"]) == [
        "with torch.cuda.stream(s1): x = A()",
        "s1.synchronize()",
        "with torch.cuda.stream(s2): B(x)",
    ]
    assert list(table["made"]) == [0, 0, 6]
    assert list(table["past"]) == [0, 6, 6]
    assert list(table["end"].dropna()) == [6, 9]
