"""What the Workload page follows over versions beside times: counts, errors, memory, what compiling pays. Pure.

Frames in and out as ``charts.history`` takes them: points (version, bucket, replica, value), medians (version, bucket,
median, low, high, n, evaluation, note) and those without a value (version, bucket, status, failed, reason, evaluation).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

import pandas as pd

from app import theme
from app.pair.numbers import phase_parts
from app.trends.frames import COMPILED

_POINTS: Final = ("version", "bucket", "replica", "value")
_MEDIANS: Final = ("version", "bucket", "median", "low", "high", "n", "evaluation", "note")
_MISSING: Final = ("version", "bucket", "status", "failed", "reason", "evaluation")
# Compiling that is never won back: measured, and no number.
NEVER: Final = "∞ never"
# What ran eager, or was not compiled, has no speed-up.
_NO_RATIO: Final = "no compiled code ran"


class Frames(NamedTuple):
    """What one panel draws."""

    points: pd.DataFrame
    medians: pd.DataFrame
    missing: pd.DataFrame


def counts(newest: pd.DataFrame, column: str, *, own: bool = False) -> Frames:
    """A count of each evaluation's walk. ``newest``: with ``column``, missing where there is no evidence. Where nothing
    compiled ran a count says nothing; nor does one of what a bucket has of its ``own`` where it runs earlier code."""
    medians, missing = [], []
    for row in newest.to_dict("records"):
        if row["status"] not in COMPILED or row["nothing_compiled"] is True or row["ran_eager"] == "all":
            missing.append(_absent(row, _NO_RATIO if row["status"] in COMPILED else None))
        elif own and row["reused_code"] is True:
            missing.append(_absent(row, "runs code that earlier buckets compiled", status="○ earlier code"))
        elif pd.isna(row[column]):
            missing.append(_absent(row, "no trace of the walk is kept"))
        else:
            medians.append(_median(row, float(row[column])))
    return _framed(medians=medians, missing=missing)


def errors(newest: pd.DataFrame, accuracy: pd.DataFrame, column: str) -> Frames:
    """An error to float64, ``rmse_fp64`` or ``eager_rmse_fp64``. One of exactly 0 has no place on a log axis and is
    marked below it. Results that are wrong are noted."""
    by = accuracy.set_index("evaluation").to_dict("index")
    medians, missing = [], []
    for row in newest.to_dict("records"):
        found = by.get(row["evaluation"])
        value = found[column] if found is not None else None
        if value is None or pd.isna(value):
            missing.append(_absent(row, None if found is None else found["reason"]))
        elif value > 0:
            wrong = found is not None and found["verdict"] == "fail" and column == "rmse_fp64"
            medians.append(_median(row, float(value), note="wrong results" if wrong else None))
        else:
            missing.append(_absent(row, "an error of exactly 0", status="= float64", failed=False))
    return _framed(medians=medians, missing=missing)


def speed_ups(newest: pd.DataFrame, summary: pd.DataFrame, eager: str, compiled: str) -> Frames:
    """Eager over compiled: of every replica as a point, and the median of those."""
    points, medians, missing = [], [], []
    times = _by_evaluation(summary)
    for row in newest.to_dict("records"):
        ratios = _ratios(times.get((row["evaluation"], eager)), times.get((row["evaluation"], compiled)))
        if not ratios or _idle(row):
            missing.append(_absent(row, _NO_RATIO if _idle(row) else None))
            continue
        where = {"version": row["torch"], "bucket": row["bucket"]}
        points += [{**where, "replica": number, "value": ratio} for number, ratio in ratios.items()]
        medians.append(_median(row, float(pd.Series(ratios).median()), n=len(ratios)))
    return _framed(points, medians, missing)


def calls_to_pay_off(newest: pd.DataFrame, summary: pd.DataFrame, eager: str, compiled: str) -> Frames:
    """After how many calls the cold compile is won back: its time over what a call saves, of the medians. Code that is
    no faster than eager never pays off, which is no number: ``NEVER``."""
    wide = summary.pivot(index="evaluation", columns="metric", values="median").to_dict("index")
    medians, missing = [], []
    for row in newest.to_dict("records"):
        found = wide.get(row["evaluation"], {})
        numbers = [found.get(name, math.nan) for name in ("compile.cold_s", eager, compiled)]
        if _idle(row) or not all(pd.notna(one) for one in numbers):
            missing.append(_absent(row, _NO_RATIO if _idle(row) else None))
            continue
        cold_s, eager_ms, compiled_ms = numbers
        if eager_ms <= compiled_ms:
            said = "compiled calls are no faster than eager's"
            missing.append(_absent(row, said, status=NEVER, failed=False))
        else:
            medians.append(_median(row, max(1.0, 1000 * cold_s / (eager_ms - compiled_ms))))
    return _framed(medians=medians, missing=missing)


def calls_said(evaluations: Iterable[int], paid: Frames) -> list[str | None]:
    """``calls_to_pay_off`` of these evaluations as text: ``1,000``, ``never``, or None where it is not known."""
    calls = dict(zip(paid.medians["evaluation"], paid.medians["median"], strict=True))
    never = set(paid.missing.loc[paid.missing["status"] == NEVER, "evaluation"])
    return [
        "never" if one in never else f"{calls[one]:,.0f}" if one in calls else None for one in evaluations
    ]


def phases(newest: pd.DataFrame, summary: pd.DataFrame, bucket: str) -> pd.DataFrame:
    """Where the cold compiles of a bucket went: version, phase (its title), seconds, in the order to stack."""
    rows = []
    for row in newest[newest["bucket"] == bucket].to_dict("records"):
        mine = summary[summary["evaluation"] == row["evaluation"]]
        rows += [
            {"version": row["torch"], "phase": phase, "seconds": part, "evaluation": row["evaluation"]}
            for phase, part in phase_parts(mine)
        ]
    return pd.DataFrame(rows, columns=["version", "phase", "seconds", "evaluation"])


def _by_evaluation(summary: pd.DataFrame) -> dict[tuple[int, str], dict[int, float]]:
    """Replica values by replica number, of each evaluation and metric."""
    return {
        (row["evaluation"], row["metric"]): dict(
            zip(row["replica_numbers"], row["replica_medians"], strict=True)
        )
        for row in summary.to_dict("records")
    }


def _ratios(eager: Mapping[int, float] | None, compiled: Mapping[int, float] | None) -> dict[int, float]:
    both = (eager or {}).keys() & (compiled or {}).keys()
    return {
        number: eager[number] / compiled[number]
        for number in sorted(both)
        if eager and compiled and compiled[number] > 0
    }


def _idle(row: Mapping[Any, Any]) -> bool:
    return row["nothing_compiled"] is True or row["ran_eager"] in ("some", "all")


def _median(row: Mapping[Any, Any], value: float, *, n: int = 1, note: str | None = None) -> dict[str, Any]:
    return {
        "version": row["torch"],
        "bucket": row["bucket"],
        "evaluation": row["evaluation"],
        "median": value,
        "low": None,
        "high": None,
        "n": n,
        "note": note,
    }


def _absent(
    row: Mapping[Any, Any], reason: str | None, *, status: str | None = None, failed: bool | None = None
) -> dict[str, Any]:
    """What has no value: how its evaluation ended, or what is said instead."""
    ended = row["status"] if isinstance(row["status"], str) else "running"
    quiet = ended in theme.NEUTRAL_STATUSES or ended == "ok"
    said = "○ not measured" if ended == "ok" else theme.status_text(ended)
    return {
        "version": row["torch"],
        "bucket": row["bucket"],
        "evaluation": row["evaluation"],
        "status": status or said,
        "failed": not quiet if failed is None else failed,
        "reason": reason or (row["reason"] if isinstance(row["reason"], str) else None),
    }


def _framed(
    points: list[dict[str, Any]] | None = None,
    medians: list[dict[str, Any]] | None = None,
    missing: list[dict[str, Any]] | None = None,
) -> Frames:
    made = [
        pd.DataFrame(rows or [], columns=pd.Index(columns))
        for rows, columns in ((points, _POINTS), (medians, _MEDIANS), (missing, _MISSING))
    ]
    return Frames(*made)
