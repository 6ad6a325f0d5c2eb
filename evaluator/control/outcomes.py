"""What follows from what probes said: which others are not worth running, and the status a cell ends with. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from evaluator.plan import ProbeKey, Step
from evaluator.worker.protocol import ProbeName, Status, worst

# The process did not live to report: running into the same again costs a whole time limit each time.
ENDED: Final[frozenset[Status]] = frozenset({"crashed", "out_of_memory", "timeout"})
# No measurement came of it. A wrong result, or one that can't be judged, is still measured to the end.
FAILED: Final[frozenset[Status]] = ENDED | {"setup_error", "compile_error", "runtime_error", "unsupported"}

# What later replicas repeat. A failure elsewhere (a float64 reference that takes too long) says nothing of these.
_REPEATED: Final = frozenset({"compile", "walk", "timing"})


# Of probes that end alike, the one whose reason is shown: accuracy tells eager's errors from compiled ones.
_TELLS_BEST: Final[tuple[ProbeName, ...]] = ("compile", "walk", "accuracy", "timing", "memory", "build")


@dataclass(frozen=True)
class Outcome:
    """How one probe of one evaluation ended."""

    status: Status
    reason: str | None = None


Known = Mapping[ProbeKey, Outcome]


def skip_reason(replica: int, step: Step, known: Known) -> str | None:
    """Why a step is not worth running for a bucket with these outcomes so far; None if it is.

    The first replica still walks a bucket whose compile ended its process, for the evidence up to there.
    """
    for (earlier, probe, _), outcome in known.items():
        if earlier < replica and probe in _REPEATED and outcome.status in FAILED:
            return f"not repeated: the {probe} probe of replica {earlier} ended as {outcome.status}"
    cold = known.get((replica, "compile", "cold"))
    walk = known.get((replica, "walk", None))
    if step.cache == "warm":
        return _because(cold, frozenset({*FAILED, "skipped"}), "no warm cache without a cold sample: it")
    if step.cache == "cold_serial":
        return _because(cold, frozenset({*FAILED, "skipped"}), "the cold compile")
    if step.probe == "walk":
        return None if step.traced else _because(cold, ENDED, "the cold compile")
    if step.probe == "build":
        return _because(walk, FAILED, "the walk")
    if step.probe in ("accuracy", "memory", "profile"):
        enough = ENDED if step.probe == "accuracy" else FAILED
        return _because(cold, enough, "the cold compile") or _because(walk, enough, "the walk")
    return None


def _because(outcome: Outcome | None, statuses: frozenset[Status], what: str) -> str | None:
    if outcome is None or outcome.status not in statuses:
        return None
    return f"{what} ended as {outcome.status}"


def verdict(known: Known) -> Outcome:
    """The outcome of the cell: its worst probe's status, with the reason of the probe that can tell it best.

    How a profile ended is said of itself alone: the profiler may upset what runs well without it.
    """
    told = {key: outcome for key, outcome in known.items() if key[1] != "profile"}
    status = worst([outcome.status for outcome in told.values()])
    reasons = [
        (_TELLS_BEST.index(probe), replica, outcome.reason)
        for (replica, probe, _), outcome in told.items()
        if outcome.status == status and outcome.reason
    ]
    return Outcome(status, min(reasons)[2] if reasons else None)
