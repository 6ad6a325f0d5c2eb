"""``doctor --selftest``: known delays, breaks and errors through the real controller, and what was measured of them.

The workloads are in ``selftest/``. What is planted is stated there and again here: a change of one without the
other shows as a failure, which is the point.
"""

from __future__ import annotations

import math
import statistics
import tempfile
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from evaluator import machine
from evaluator.control.controller import Controller
from evaluator.control.progress import Progress
from evaluator.control.run_records import Settings
from evaluator.control.scratch import Scratch
from evaluator.control.tally import tally
from evaluator.environments import open_environments
from evaluator.interpreters.planning import Interpreter
from evaluator.selection import Selection
from evaluator.sink import FileSink, read_records
from evaluator.table import MISSING, median_of, number
from evaluator.verdicts.noise import detectable
from evaluator.verdicts.ratio import log_shift

Record = dict[str, Any]
Documents = Mapping[tuple[str, str], Record]

WORKLOADS: Final = machine.REPOSITORY / "evaluator" / "selftest"
STEADY: Final = WORKLOADS / "steady.py"
# What hangs is not planted, so no probe comes near this.
TIME_LIMIT_S: Final = 300.0

# Which of eight replicas belong to the second half: A B B A A B B A, so that a drift meets both alike.
SECOND_HALF: Final = frozenset({1, 2, 5, 6})
NOISE_METRICS: Final = {"compiled.wall_ms": "a warm call", "compile.cold_s": "a cold compile"}


@dataclass(frozen=True)
class Planted:
    """One planted thing: ``found`` reads it from the evaluations, ``right`` judges it (None: it was not measured)."""

    what: str
    planted: str
    found: Callable[[Documents], str | float | None]
    right: Callable[[Any], bool]

    def row(self, documents: Documents) -> tuple[list[str], bool]:
        """The line of the report, and whether it was found as planted."""
        value = self.found(documents)
        good = value is not None and self.right(value)
        shown = number(value) if isinstance(value, (int, float)) else value or MISSING
        return ["ok" if good else "WRONG", self.what, self.planted, shown], good


def _difference(workload: str, metric: str, without: str, with_: str) -> Callable[[Documents], float | None]:
    def found(documents: Documents) -> float | None:
        values = [median_of(documents[workload, bucket], metric) for bucket in (without, with_)]
        return None if values[0] is None or values[1] is None else values[1] - values[0]

    return found


def _metric(workload: str, metric: str) -> Callable[[Documents], float | None]:
    return lambda documents: median_of(documents[workload, "-"], metric)


def _facts(workload: str, buckets: Sequence[str], names: Sequence[str]) -> Callable[[Documents], str]:
    """The sum of each fact over the buckets, as ``2 graph_breaks, 3 graphs``."""

    def found(documents: Documents) -> str:
        facts = [documents[workload, bucket].get("facts") or {} for bucket in buckets]
        return ", ".join(f"{sum(one.get(name) or 0 for one in facts)} {name}" for name in names)

    return found


def _status(workload: str, bucket: str = "-") -> Callable[[Documents], str | None]:
    return lambda documents: documents[workload, bucket].get("status")


def _within(low: float, high: float) -> Callable[[float], bool]:
    return lambda value: low <= value <= high


def _equals(text: str) -> Callable[[str], bool]:
    return lambda value: value == text


_MODES: Final = ("mode=add", "mode=multiply", "mode=subtract")
_SLEEPS: Final = ("sleep_ms=0", "sleep_ms=5")

# A sleep never ends early; late it may end, by a timer's slack or a busy machine's turn.
PLANTED: Final = (
    Planted("a compiled call sleeps", "5 ms", _difference("slow_call", "compiled.wall_ms", *_SLEEPS), _within(4.9, 7.5)),
    Planted("an eager call sleeps", "5 ms", _difference("slow_call", "eager.wall_ms", *_SLEEPS), _within(4.9, 7.5)),
    Planted(
        "a compile sleeps", "2 s", _difference("slow_compile", "compile.cold_s", "n=8", "n=1024"), _within(1.5, 4)
    ),
    Planted("a call holds memory", "64 MB", _metric("takes_memory", "eager.host_peak_mb"), _within(60, 72)),
    Planted(
        "graph breaks",
        "2 graph_breaks, 3 graphs",
        _facts("breaks", ("-",), ("graph_breaks", "graphs")),
        _equals("2 graph_breaks, 3 graphs"),
    ),
    Planted(
        "recompiles",
        "2 recompiles, 3 graphs",
        _facts("recompiles", _MODES, ("recompiles", "graphs")),
        _equals("2 recompiles, 3 graphs"),
    ),
    Planted("an error when compiled", "runtime_error", _status("raises_compiled"), _equals("runtime_error")),
    Planted("wrong numbers when compiled", "accuracy_failed", _status("wrong_compiled"), _equals("accuracy_failed")),
    Planted("their size", "0.01", lambda d: (d["wrong_compiled", "-"].get("accuracy") or {}).get("max_abs"), _within(0.0099, 0.0101)),
    Planted("a crash", "crashed", _status("crashes", "crash=True"), _equals("crashed")),
    Planted("the bucket after it", "ok", _status("crashes", "crash=False"), _equals("ok")),
)  # fmt: skip


@dataclass(frozen=True)
class Noise:
    """Spread of a metric between replicas of one thing: ``sd`` of the logarithms of the replicas' values, within the
    two halves; ``difference``: the Hodges-Lehmann ratio of the halves, less one, which should be near zero."""

    metric: str
    replicas: int
    sd: float
    difference: float

    def detectable(self, replicas: int) -> float:
        """The least effect found four times in five with this many replicas a side, as a fraction."""
        return detectable(self.sd, replicas)


def noise(metric: str, values: Mapping[int, float]) -> Noise | None:
    """The noise that these values (by replica number) show; None where a half has fewer than two."""
    halves: list[list[float]] = [[], []]
    for replica, value in values.items():
        halves[replica in SECOND_HALF].append(math.log(value))
    if min(len(half) for half in halves) < 2:
        return None
    squares = sum((len(half) - 1) * statistics.variance(half) for half in halves)
    sd = math.sqrt(squares / (sum(len(half) for half in halves) - 2))
    return Noise(metric, len(values), sd, math.expm1(log_shift(*halves)))


def replica_values(records: Sequence[Record], metric: str) -> dict[int, float]:
    """Each replica's value of a metric: the median of its rounds, or its one sample."""
    rounds: dict[int, list[float]] = {}
    for record in records:
        for sample in record.get("samples") or () if record["type"] == "probe" else ():
            if sample["metric"] == metric and sample["value"] is not None:
                rounds.setdefault(record["replica"], []).append(sample["value"])
    return {replica: statistics.median(numbers) for replica, numbers in rounds.items()}


def measure_planted(python: Path) -> list[tuple[list[str], bool]]:
    """Evaluate the planted workloads once; a report line and a judgement for each planted thing."""
    sources = [path for path in sorted(WORKLOADS.glob("[!_]*.py")) if path != STEADY]
    evaluations = tally(_run(python, sources, "quick"))
    documents = {(one["workload"], one["bucket"]): one for one in evaluations}
    return [planted.row(documents) for planted in PLANTED]


def measure_noise(python: Path) -> list[Noise]:
    """Evaluate a steady workload with eight replicas; the noise of each metric that was measured."""
    records = _run(python, [STEADY], "thorough")
    found = [noise(metric, replica_values(records, metric)) for metric in NOISE_METRICS]
    return [one for one in found if one is not None]


def _run(python: Path, sources: Sequence[Path], profile: str) -> list[Record]:
    """One run of the real controller into a records file; its records."""
    settings = Settings(
        run=str(uuid.uuid4()),
        selection=Selection(),
        profile=profile,
        sources=tuple(str(source) for source in sources),
        packs=False,
        interpreters=(Interpreter(python),),
        time_s=TIME_LIMIT_S,
        memory_mb=machine.physical_memory_mb() * machine.DEFAULT_MEMORY_SHARE,
    )
    progress = Progress()
    with tempfile.TemporaryDirectory(prefix="compilewatch-") as folder, Scratch(settings.run) as scratch:
        sink = FileSink(Path(folder) / "selftest.jsonl")
        try:
            summary = Controller(
                settings, open_environments(settings, scratch), scratch, sink, progress
            ).run()
        finally:
            sink.close()
        if summary.interrupted:
            raise KeyboardInterrupt
        return [record for _, record in read_records(sink.path)]
