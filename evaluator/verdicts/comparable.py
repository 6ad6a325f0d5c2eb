"""Whether a time or a figure of memory can be compared between two evaluations, and why not."""

from __future__ import annotations

import statistics

from evaluator.verdicts import times
from evaluator.verdicts.policy import DEVICE_MEMORY, DIAGNOSTIC_MEMORY
from evaluator.verdicts.sides import Side
from evaluator.verdicts.words import FAILED


def why_not(metric: str, base: Side, candidate: Side, different_builds: bool) -> str | None:
    """The reason why this metric can't be compared between these two; None where it can."""
    sides = (base, candidate)
    failed = [side for side in sides if side.status in FAILED]
    if failed:
        return "both_failed" if len(failed) == 2 else "one_side_failed"
    if base.machine != candidate.machine:
        return "different_machine"
    if different_builds and metric in DIAGNOSTIC_MEMORY:
        return "different_builds"
    series = [side.series.get(metric) for side in sides]
    if any(one is not None and "nothing_compiled" in one.flags for one in series):
        return "nothing_compiled"
    if metric.startswith("compiled."):
        # Its own process said what ran: such a time is none of compiled code.
        facts = [side.facts or {} for side in sides]
        if any(one.get("nothing_compiled") for one in facts):
            return "nothing_compiled"
        eager = [one.get("ran_eager") for one in facts]
        # Partly eager on both sides is one kind of code, and how much of it is eager shows in its time alone.
        if eager != ["some", "some"] and any(one in ("some", "all") for one in eager):
            return "ran_eager"
    for side, one in zip(sides, series, strict=True):
        if not times.measured(one):
            return "not_comparable" if side.status == "not_comparable" else "not_measured"
    return None


def took_none(side: Side, metric: str) -> bool:
    """Whether a figure of memory was measured and is 0 in every replica, as of a call that allocates nothing."""
    series = side.series.get(metric)
    return metric in DEVICE_MEMORY and series is not None and bool(series.values) and not any(series.values)


def median(side: Side, metric: str) -> float | None:
    """The median of a metric's replica values, None where the side did not measure it."""
    series = side.series.get(metric)
    return statistics.median(series.values) if series is not None and times.measured(series) else None
