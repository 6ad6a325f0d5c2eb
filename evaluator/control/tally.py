"""Evaluations' documents from a stream of records, for a run that wrote a file and has no database to ask."""

from __future__ import annotations

import statistics
from collections.abc import Iterable
from typing import Any

from evaluator.worker.protocol import METRICS

Record = dict[str, Any]


def tally(records: Iterable[Record]) -> list[Record]:
    """For each evaluation: its cell, torch version, status, facts, accuracy, and each metric's median.

    A metric's median is that of its replicas' values, a replica's value the median of its rounds.
    """
    torch: dict[str, str] = {}
    found: dict[str, Record] = {}
    values: dict[tuple[str, str], dict[str, list[float]]] = {}
    flags: dict[tuple[str, str], set[str]] = {}
    for record in records:
        kind = record["type"]
        if kind == "environment":
            torch[record["hash"]] = record["fields"].get("torch", "")
        elif kind == "evaluation":
            cell = {key: record[key] for key in ("workload", "bucket", "variant", "target")}
            environment = {"hash": record["environment"], "torch": torch.get(record["environment"])}
            found[record["uuid"]] = {**cell, "environment": environment, "status": None, "metrics": {}}
        elif kind == "evaluation_finished":
            found[record["evaluation"]] |= {"status": record["status"], "reason": record.get("reason")}
        elif kind == "probe":
            evaluation = found[record["evaluation"]]
            if record["probe"] == "walk":
                evaluation.setdefault("facts", record.get("facts") or {})
            if record.get("accuracy"):
                evaluation["accuracy"] = record["accuracy"]
            for sample in record.get("samples") or ():
                if sample.get("value") is not None:
                    flags.setdefault((record["evaluation"], sample["metric"]), set()).update(
                        sample.get("flags") or ()
                    )
                    replicas = values.setdefault((record["evaluation"], sample["metric"]), {})
                    replicas.setdefault(str(record["replica"]), []).append(float(sample["value"]))
    for (uuid, metric), replicas in values.items():
        median = statistics.median(statistics.median(numbers) for numbers in replicas.values())
        unit = METRICS[metric][0] if metric in METRICS else None
        found[uuid]["metrics"][metric] = {
            "unit": unit,
            "median": median,
            "flags": sorted(flags[uuid, metric]),
        }
    return list(found.values())
