"""Events of Chrome traces as torch's profiler writes them, made by hand: times in µs."""

from __future__ import annotations

import json
from typing import Any

from evaluator.chrome_trace.account import Account, account
from evaluator.chrome_trace.recording import Recording, read_recording

Event = dict[str, Any]
PROCESS, THREAD = 4100, 4100


def event(category: str, name: str, start: float, end: float, **arguments: Any) -> Event:
    return {
        "ph": "X",
        "cat": category,
        "name": name,
        "pid": PROCESS,
        "tid": THREAD,
        "ts": start,
        "dur": end - start,
        "args": arguments,
    }


def operator(name: str, start: float, end: float) -> Event:
    return event("cpu_op", name, start, end)


def region(name: str, start: float, end: float) -> Event:
    return event("user_annotation", name, start, end)


def launch(correlation: int, start: float, end: float, name: str = "cudaLaunchKernel") -> Event:
    return event("cuda_runtime", name, start, end, correlation=correlation, cbid=211)


def kernel(
    correlation: int, start: float, end: float, *, stream: int = 7, name: str = "k", **more: Any
) -> Event:
    return device("kernel", name, correlation, start, end, stream, **more)


def copy(correlation: int, start: float, end: float, *, stream: int = 7, bytes: int = 4096) -> Event:
    return device(
        "gpu_memcpy", "Memcpy HtoD (Pinned -> Device)", correlation, start, end, stream, bytes=bytes
    )


def device(
    category: str, name: str, correlation: int, start: float, end: float, stream: int, **more: Any
) -> Event:
    made = event(
        category, name, start, end, device=0, context=1, stream=stream, correlation=correlation, **more
    )
    return {**made, "pid": 0, "tid": stream}


def written(*events: Event) -> bytes:
    """The file of these events, one a line, as the exporter that streams writes them."""
    lines = ",\n".join(json.dumps(one, separators=(",", ":")) for one in events)
    return f'{{"schemaVersion": 1,\n"traceEvents": [\n{lines}\n],\n"traceName": "made.json"}}'.encode()


# One batch on two streams. The device: k1 [20, 50] and k2 [60, 90] on stream 7, a copy [30, 70] on stream 13, and k3 [100, 130]
# on stream 7, launched at [95, 99]; the host then waits for the device until 135.
BATCH = (
    region("batch", 5, 110),
    operator("aten::mm", 8, 30),
    launch(1, 10, 15),
    launch(2, 16, 20, name="cudaMemcpyAsync"),
    launch(3, 21, 26),
    operator("aten::relu", 92, 100),
    launch(4, 95, 99),
    event("cuda_runtime", "cudaDeviceSynchronize", 112, 135, correlation=5),
    kernel(1, 20, 50, name="gemm"),
    copy(2, 30, 70, stream=13),
    kernel(3, 60, 90, name="relu"),
    kernel(4, 100, 130, name="relu"),
)


def recorded(*events: Event) -> Recording:
    return read_recording(written(*events))


def counted(*events: Event, named: str | None = "batch") -> Account:
    recording = recorded(*events)
    regions = [one for one in recording.regions if one.name == named]
    found = account(recording, regions[0] if regions else None, 0)
    assert found is not None
    return found
