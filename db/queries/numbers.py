"""The numbers of an evaluation's document: metrics, the rounds behind them, and the benchmark block."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from sqlalchemy import RowMapping

from db import summaries
from db.compiling import Compiling
from evaluator.worker.protocol import METRICS

Document = dict[str, Any]
Row = RowMapping
Samples = Mapping[int, Sequence[Row]]

_INTERVAL: Final = ("lo", "hi")
_UNSET: Final = "unset"
# The times that a benchmark is read by; processor time is not one.
_BENCHMARK_METRICS: Final = ("wall_ms", "host_ms", "stream_ms")


def _reading(probe: Row, sample: Row) -> summaries.Reading:
    return summaries.Reading(
        probe["replica"],
        probe["attempt"],
        probe["cache"],
        probe["status"],
        sample["metric"],
        sample["value"],
        tuple(sample["flags"] or ()),
    )


def _all(probes: Sequence[Row], samples: Samples) -> Iterator[tuple[Row, Row]]:
    for probe in sorted(probes, key=lambda one: one["id"]):
        for sample in samples.get(probe["id"], ()):
            yield probe, sample


def metrics(probes: Sequence[Row], samples: Samples, stored: Sequence[Row]) -> Document:
    """Each metric that has a sample: unit, median of the replicas' values, and the samples behind it.

    A failed measurement stands among the samples as null; a void round, and what a warm-cache process tells
    beside its one number, stand only in :func:`timing`. A metric without a number has a null median.
    """
    known = {row["metric"]: dict(row) for row in stored}
    if not known:
        # Not finished: what finishing would store.
        readings = [_reading(probe, sample) for probe, sample in _all(probes, samples)]
        known = {one.metric: vars(one) for one in summaries.summarise(readings)}
    found: Document = {}
    for probe, sample in _all(probes, samples):
        metric = sample["metric"]
        entry = found.setdefault(metric, _metric(metric, known.get(metric)))
        if sample["value"] is None or _reading(probe, sample).counts:
            entry["samples"].append(sample["value"])
    return found


def _metric(metric: str, summary: Mapping[str, Any] | None) -> Document:
    entry: Document = {
        "unit": METRICS[metric][0] if metric in METRICS else None,
        "median": summary["median"] if summary else None,
        "samples": [],
    }
    if summary is not None:
        bounded = summary["lo"] is not None
        entry["interval"] = [summary[name] for name in _INTERVAL] if bounded else None
        for name in ("replicas", "replica_numbers", "replica_medians", "eager_medians", "flags"):
            entry[name] = summary[name]
    return entry


def timing(probes: Sequence[Row], samples: Samples) -> Document:
    """``protocol``: how times were taken, of each process that took any; ``rounds``: every sample of every metric."""
    rounds: Document = {}
    for probe, sample in _all(probes, samples):
        place = {"replica": probe["replica"], "cache": probe["cache"], "attempt": probe["attempt"]}
        value = {"round": sample["round"], "value": sample["value"], "flags": sample["flags"] or []}
        rounds.setdefault(sample["metric"], []).append({**place, **value})
    protocols = [
        {"replica": probe["replica"], "attempt": probe["attempt"], **probe["timing_protocol"]}
        for probe in probes
        if probe["timing_protocol"]
    ]
    return {"protocol": protocols[0] if protocols else None, "protocols": protocols, "rounds": rounds}


def benchmark(row: Row, probes: Sequence[Row], samples: Samples, stored: Sequence[Row]) -> Document | None:
    """What a reader needs to repeat a timing; None where none was taken. What is not known is null.

    ``shape`` and ``strides`` have one list an input tensor, ``dtype`` one word where all inputs agree.
    ``precision`` is what the variant asks for in float32 products, else the workload, else what was in force.
    """
    protocol = timing(probes, samples)["protocol"]
    if protocol is None:
        return None
    fields, inputs = row["fields"], protocol.get("inputs") or []
    dtypes = [one.get("dtype") for one in inputs]
    in_force = protocol.get("precision") or {}
    variables = fields.get("variables")
    times = {
        metric: entry
        for metric, entry in metrics(probes, samples, stored).items()
        if metric.partition(".")[2] in _BENCHMARK_METRICS and entry["median"] is not None
    }
    return {
        "torch": fields.get("torch"),
        "built_cuda": fields.get("built_cuda"),
        "driver": fields.get("driver"),
        "gpu": fields.get("gpu"),
        "capability": fields.get("capability"),
        "dtype": dtypes[0] if len(set(dtypes)) == 1 else dtypes or None,
        "shape": [one.get("shape") for one in inputs] or None,
        "strides": [one.get("stride") for one in inputs] or None,
        "precision": Compiling.stored(row["options"]).precision or row["precision"] or in_force.get("matmul"),
        "precision_in_force": protocol.get("precision"),
        "CUDA_LAUNCH_BLOCKING": None if variables is None else variables.get("CUDA_LAUNCH_BLOCKING", _UNSET),
        "warmup": protocol.get("warmup"),
        "repeats": protocol.get("repeats"),
        "rounds": protocol.get("rounds"),
        "samples": {metric: entry["samples"] for metric, entry in times.items()},
        "median_of_batch_means": {metric: entry["median"] for metric, entry in times.items()},
    }
