"""A database in which a probe left Chrome traces, made by hand; times are invented."""

from __future__ import annotations

import gzip
from collections.abc import Iterable
from pathlib import Path

from db.store import Store
from evaluator.sink import artifact
from tests.app import seed
from tests.app.records import MadeRun, Record
from tests.evaluator.chrome_trace.made import BATCH, Event, event, kernel, launch, operator, region, written

HOSTILE_KERNEL = "<img src=x onerror=alert(1)> **k** `t` $x$ " + "templated<" * 40

# Two batches: the second one in one stream, launched just in time.
TWO: tuple[Event, ...] = (
    *BATCH,
    region("one stream", 200, 400),
    *(launch(20 + n, 210 + 50 * n, 215 + 50 * n) for n in range(3)),
    *(kernel(20 + n, 220 + 50 * n, 240 + 50 * n, name=HOSTILE_KERNEL) for n in range(3)),
    event("cuda_runtime", "cudaDeviceSynchronize", 330, 345, correlation=40),
)


def long(pieces: int) -> tuple[Event, ...]:
    """A batch of that many kernels in two streams."""
    made: list[Event] = [region("batch", 0, 10 * pieces)]
    for n in range(pieces):
        begun = 10 * n
        made += [operator("aten::mul", begun, begun + 6), launch(n + 1, begun + 1, begun + 3)]
        made.append(kernel(n + 1, begun + 5, begun + 12, stream=7 + n % 2))
    return tuple(made)


def traced(path: Path) -> Path:
    """A run whose first walk left a trace of two batches, and whose second left a damaged one."""
    run = MadeRun("2.14.1+cpu", 0, None, "quick", 1)
    return _write(path, run, [written(*TWO), gzip.compress(written(*BATCH))[:-40]])


def busy(path: Path) -> Path:
    """A run with a trace of far more pieces than are drawn."""
    return _write(path, MadeRun("2.14.1+cpu", 0, None, "quick", 1), [written(*long(20_000))])


def garbled(path: Path) -> Path:
    """A run whose trace is JSON of something else."""
    return _write(path, MadeRun("2.14.1+cpu", 0, None, "quick", 1), [b'{"events": []}'])


def _write(path: Path, run: MadeRun, traces: list[bytes]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    store = Store(str(path))
    store.write_many(list(_with_traces(run.records([seed.POINTWISE]), traces)))
    store.close()
    return path


def _with_traces(records: Iterable[Record], traces: list[bytes]) -> Iterable[Record]:
    """Each of the first walks left one of these."""
    left = list(traces)
    for record in records:
        if record.get("type") == "probe" and record["probe"] == "walk" and left:
            made = artifact("chrome_trace", left.pop(0))
            yield made
            record["artifacts"] = [*record["artifacts"], {"kind": "chrome_trace", "sha256": made["sha256"]}]
        yield record
    assert not left
