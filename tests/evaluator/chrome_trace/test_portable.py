"""What is kept of a trace, and what of a machine is not."""

from __future__ import annotations

import json
from typing import Any

import pytest

from evaluator.chrome_trace.events import ChromeTraceError
from evaluator.chrome_trace.portable import portable
from evaluator.chrome_trace.recording import read_recording
from tests.evaluator.chrome_trace.made import BATCH, event, launch, written

# As libkineto of 2.12 to 2.14 writes them beside the events.
HEAD = {
    "schemaVersion": 1,
    "deviceProperties": [{"id": 0, "name": "NVIDIA H100", "computeMajor": 9}],
    "trace_id": "C52F13280F40491DAB17B11D23229354",
    "host_name": "build-17.example.org",
    "displayTimeUnit": "ms",
    "baseTimeNanoseconds": 1790857026000000000,
    "distributedInfo": {"backend": "nccl", "rank": 0},
    "ERROR": ["ERROR:2026-11-30 07:06:16 30947:30947 DeviceProperties.cpp:50] failed on build-17"],
    "traceName": "/home/alice/traces/batch.json",
}


def trace(*events: Any) -> bytes:
    return json.dumps({**HEAD, "traceEvents": list(events)}).encode()


def texts(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [text for item in value.values() for text in texts(item)] + list(value)
    if isinstance(value, list):
        return [text for item in value for text in texts(item)]
    return [value] if isinstance(value, str) else []


def test_nothing_of_the_machine_or_its_user_is_kept() -> None:
    kernel_file = "/tmp/torchinductor_alice/ab/cabcdef.py"
    made = event(
        "cpu_op", "triton_poi_fused_0", 1, 2, kernel_file=kernel_file, note=f"in {kernel_file}, ~/x/y.py"
    )
    label = {"ph": "M", "name": "process_name", "pid": 1, "args": {"name": "/home/alice/.venv/bin/python"}}
    kept = json.loads(portable(trace(made, label), "eager.json"))
    assert not [one for one in texts(kept) if "alice" in one or "build-17" in one or "/" in one]
    assert kept["traceEvents"][0]["args"] == {"kernel_file": "cabcdef.py", "note": "in cabcdef.py, y.py"}
    assert kept["traceEvents"][1]["args"]["name"] == "python"
    assert kept["traceName"] == "eager.json"
    assert set(kept) == {
        *("schemaVersion", "deviceProperties", "displayTimeUnit", "baseTimeNanoseconds"),
        *("traceName", "traceEvents"),
    }


def test_the_events_are_those_that_were_there() -> None:
    before, after = written(*BATCH), portable(written(*BATCH), "compiled.json")
    assert read_recording(after) == read_recording(before)
    assert json.loads(after)["traceEvents"] == list(BATCH)


@pytest.mark.parametrize(
    "name",
    [
        "void at::native::vectorized_elementwise_kernel<4, at::native::DivFunctor<float>>(int, float)",
        "aten::div",
        "Memcpy HtoD (Pinned -> Device)",
        "a / b",
        "m/s",
        "## Call CompiledFxGraph fe267o335ktdrc5l ##",
        "https://example.org/a/b",
    ],
)
def test_a_name_with_a_slash_that_is_no_path_stays(name: str) -> None:
    kept = json.loads(portable(trace(launch(1, 0, 1, name=name)), "eager.json"))
    assert kept["traceEvents"][0]["name"] == name


@pytest.mark.parametrize("raw", [b"", b"[1", trace()[:-2], b'{"events": []}', b'{"traceEvents": 3}', b"\xff"])
def test_what_is_no_whole_trace_is_refused(raw: bytes) -> None:
    with pytest.raises(ChromeTraceError):
        portable(raw, "eager.json")
