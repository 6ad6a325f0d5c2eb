"""What comes out of a file: torch's own traces, and files that are cut off, broken, huge or something else."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from evaluator.chrome_trace import events
from evaluator.chrome_trace.events import ChromeTraceError, read_events
from evaluator.chrome_trace.recording import read_recording
from tests.evaluator.chrome_trace.made import BATCH, kernel, launch, operator, written

RECORDS = """
import json, sys, torch
from torch.profiler import ProfilerActivity, profile, record_function
x = torch.randn(8, 8)
with profile(activities=[ProfilerActivity.CPU]) as recorded:
    with record_function("batch"):
        for _ in range(3):
            (x @ x).relu()
recorded.export_chrome_trace(sys.argv[1])
print(json.dumps([[one.name, one.is_user_annotation] for one in recorded.events()]))
"""


@pytest.mark.parametrize("ending", ["json", "json.gz"])
def test_a_trace_of_this_torch_has_the_operators_that_its_profiler_lists(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"trace.{ending}"
    done = subprocess.run(
        [sys.executable, "-c", RECORDS, str(path)], capture_output=True, text=True, check=True
    )
    listed = json.loads(done.stdout.splitlines()[-1])
    found = read_recording(path.read_bytes())
    assert sorted(one.name for one in found.operators) == sorted(name for name, named in listed if not named)
    assert [one.name for one in found.regions] == ["batch"]
    assert len([one for one in found.operators if one.name == "aten::mm"]) == 3
    (batch,) = found.regions
    assert all(batch.start <= one.start <= one.end <= batch.end for one in found.operators)
    # Nothing ran on a device, and nothing was wrong with the file.
    assert (found.calls, found.work, found.devices) == ((), (), ())
    assert (found.damaged, found.truncated) == (0, False)


def test_lanes_are_told_apart_and_in_order() -> None:
    found = read_recording(written(*reversed(BATCH)))
    assert [one.name for one in found.operators] == ["aten::mm", "aten::relu"]
    assert [one.correlation for one in found.calls] == [1, 2, 3, 4, 5]
    assert [(one.kind, one.stream, one.start, one.end) for one in found.work] == [
        ("kernel", 7, 20, 50),
        ("copy", 13, 30, 70),
        ("kernel", 7, 60, 90),
        ("kernel", 7, 100, 130),
    ]
    assert found.devices == (0,)


def test_what_the_profiler_says_of_a_kernel_is_kept_and_absent_is_none() -> None:
    more = {"registers per thread": 64, "est. achieved occupancy %": 37}
    full, bare = read_recording(written(kernel(1, 0, 1, **more), kernel(2, 2, 3))).work
    assert (full.registers, full.occupancy, full.bytes) == (64, 37, None)
    assert (bare.registers, bare.occupancy) == (None, None)


def test_categories_in_capitals_are_the_same() -> None:
    made = [{**kernel(1, 5, 6), "cat": "Kernel"}, {**launch(1, 1, 2), "cat": "Cuda_Runtime"}]
    found = read_recording(written(*made))
    assert len(found.work) == len(found.calls) == 1


def test_other_kinds_of_events_are_counted() -> None:
    more: list[dict[str, Any]] = [
        {"ph": "M", "name": "process_name", "pid": 1, "args": {"name": "python"}},
        {"ph": "s", "id": 1, "cat": "ac2g", "ts": 1, "name": "ac2g"},
        {"ph": "i", "name": "Iteration Start", "ts": 1},
        {"ph": "B", "cat": "cpu_op", "name": "begun", "ts": 1},
        {"ph": "X", "cat": "python_function", "name": "f", "ts": 1, "dur": 1},
        {"ph": "X", "name": "of no category", "ts": 1, "dur": 1},
        {},
    ]
    found = read_recording(written(operator("aten::mm", 1, 2), *more))
    assert found.others == {
        "ph M": 1,
        "ph s": 1,
        "ph i": 1,
        "ph B": 1,
        "ph None": 1,
        "python_function": 1,
        "no category": 1,
    }
    assert len(found.operators) == 1


@pytest.mark.parametrize(
    "broken",
    [
        {"dur": -3},
        {"dur": None},
        {"dur": "5"},
        {"ts": None},
        {"ts": float("nan")},
        {"ts": float("inf")},
        {"ts": True},
    ],
)
def test_an_event_without_times_is_damaged_and_never_of_no_length(broken: dict[str, Any]) -> None:
    found = read_recording(written({**kernel(1, 5, 6), **broken}, kernel(2, 7, 8)))
    assert [one.correlation for one in found.work] == [2]
    assert found.damaged == 1


def test_missing_arguments_are_unknown() -> None:
    made = kernel(1, 5, 6)
    found = read_recording(written({**made, "args": None, "pid": "x", "tid": "y", "name": 7}))
    (work,) = found.work
    assert (work.device, work.stream, work.correlation, work.name) == (None, None, None, "(no name)")
    # A device's row in the trace is its number, and a stream's row the stream's.
    placed = {**made, "args": {}}
    assert [(one.device, one.stream) for one in read_recording(written(placed)).work] == [(0, 7)]


def test_correlation_0_is_none() -> None:
    assert read_recording(written(kernel(0, 5, 6))).work[0].correlation is None


WHOLE = written(*BATCH)


@pytest.mark.parametrize("share", [0.2, 0.5, 0.8, 0.97])
def test_a_file_that_was_cut_off_gives_what_is_whole(share: float) -> None:
    cut = WHOLE[: int(len(WHOLE) * share)]
    found = read_events(cut)
    # By hand: an event is whole where its line's end is there.
    body = cut.split(b'"traceEvents": [\n')[1]
    whole = [line for line in body.split(b"\n") if line.rstrip(b",").endswith(b"}}")]
    assert found.truncated
    assert found.events == [json.loads(line.rstrip(b",")) for line in whole]


def test_a_gzip_that_was_cut_off_gives_what_is_whole() -> None:
    packed = gzip.compress(written(*[operator(f"op{n}", n, n + 1) for n in range(3000)]))
    assert len(read_events(packed).events) == 3000
    found = read_events(packed[: len(packed) // 2])
    assert found.truncated
    assert 0 < len(found.events) < 3000
    assert [one["name"] for one in found.events] == [f"op{n}" for n in range(len(found.events))]


def test_a_cut_gzip_whose_text_is_whole_says_so_too() -> None:
    assert read_events(gzip.compress(WHOLE)[:-6]).truncated


def test_several_gzip_members_are_one_file() -> None:
    half = len(WHOLE) // 2
    assert read_events(gzip.compress(WHOLE[:half]) + gzip.compress(WHOLE[half:])) == read_events(WHOLE)


def test_a_broken_event_is_left_out_and_counted() -> None:
    lines = WHOLE.split(b"\n")
    lines[4] = b'{"ph":"X","cat":"kernel" "name":"no comma"},'
    lines[6] = b'{"ph":"X","cat":"kernel","name":"a "quoted" name"},'
    found = read_events(b"\n".join(lines))
    assert (len(found.events), found.damaged, found.truncated) == (len(BATCH) - 2, 2, False)


def test_the_other_exporters_events_over_several_lines_are_salvaged_too() -> None:
    text = json.dumps({"traceEvents": list(BATCH)}, indent=2).replace('"cat": "cpu_op"', '"cat": cpu_op', 1)
    found = read_events(text.encode())
    assert (len(found.events), found.damaged) == (len(BATCH) - 1, 1)


def test_a_bare_list_is_a_trace() -> None:
    bare = json.dumps([*BATCH, 3, None]).encode()
    assert (len(read_events(bare).events), read_events(bare).damaged) == (len(BATCH), 2)
    assert read_events(b"  " + bare[:-1]).truncated
    assert len(read_events(b"  " + bare[:-1]).events) == len(BATCH)
    assert read_events(b"[]") == read_events(b'{"traceEvents": []}')


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"not json",
        b"{}",
        b'{"traceEvents": 3}',
        b"3",
        b"null",
        b'"traceEvents"',
        b"\x1f\x8bnot gzip",
        b"\xff\xfe",
    ],
)
def test_what_is_no_trace_is_refused_in_a_sentence(raw: bytes) -> None:
    with pytest.raises(ChromeTraceError, match=r"no Chrome trace|damaged gzip"):
        read_events(raw)


def test_deep_nesting_is_damage() -> None:
    deep = (
        b'{"traceEvents": [\n'
        + b'{"a":' * 100_000
        + b"\n"
        + json.dumps(operator("op", 1, 2)).encode()
        + b"]}"
    )
    found = read_events(deep)
    assert len(found.events) == 1
    assert found.damaged == 1


def test_a_bomb_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events, "MOST_BYTES", 1 << 20)
    for raw in (gzip.compress(b" " * (2 << 20)), b" " * (2 << 20)):
        with pytest.raises(ChromeTraceError, match="more than 1 MB"):
            read_events(raw)


def test_many_events_and_many_blank_lines_are_read_in_one_pass() -> None:
    many = [operator(f"op{n}", n, n + 1) for n in range(50_000)]
    cut = written(*many)[:-40] + b"\n" * 200_000
    found = read_events(cut)
    assert len(found.events) == 49_999
