"""The stages of an upgrade: evaluate both sides in turns, rerun what looks worse, climb the ladder of what is.

Every stage is a run of its own in the database, the later ones children of the first. What is still to be done
follows from what is there, so an upgrade that was interrupted goes on by doing the same again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise, takewhile
from typing import Final

from db.queries import comparison, lineage
from db.queries.runs import find_run
from db.session import Reads, reading, reading_if_there
from evaluator import running
from evaluator.budget import Choice
from evaluator.control.run_records import Settings
from evaluator.errors import NothingSelected
from evaluator.resume import resumable
from evaluator.verdicts import whole
from evaluator.verdicts.findings import Verdicts
from evaluator.verdicts.policy import Policy
from evaluator.verdicts.sides import CellName, Pair
from evaluator.verdicts.words import BAD

# Replicas of the second stage: at 99% and with the margin, 3,000 comparisons had no false regression left.
RERUN_REPLICAS: Final = 8
# Exact facts repeat; one more process tells a fact from a fluke.
EXACT_REPLICAS: Final = 1
LADDER_REPLICAS: Final = 5
LADDER: Final = ("eager", "aot_eager")


class Interrupted(Exception):
    """The user ended a stage; the argument is the run that holds it."""


@dataclass(frozen=True)
class Stages:
    """What follows the first stage. ``say`` gets a line before each stage."""

    database: str
    confirm: bool = True
    explain: bool = True
    policy: Policy = field(default_factory=Policy)
    say: Callable[[str], None] = lambda line: None

    def begin(self, settings: Settings) -> list[Verdicts]:
        """Run the first stage and what follows from it; the verdict of each step. Raises Interrupted."""
        if running.record(settings, self.database).interrupted:
            raise Interrupted(settings.run)
        return self.go_on(settings)

    def go_on(self, settings: Settings) -> list[Verdicts]:
        """Do what is left of an upgrade whose first stage has these settings; the verdict of each step."""
        for run in [settings.run, *self._children(settings.run)]:
            self._finish(run, settings.run)
        verdicts = self.judge(settings.run)
        if self.confirm:
            verdicts = self._rerun(settings, verdicts)
        if self.explain:
            verdicts = self._climb(settings, verdicts)
        return verdicts

    def judge(self, run: str) -> list[Verdicts]:
        """The verdict of each step from one environment of the run to the next, as the database has it now."""
        with reading(self.database) as reads:
            return [verdicts for _, verdicts in judged(reads, run, self.policy)]

    def _rerun(self, settings: Settings, verdicts: Sequence[Verdicts]) -> list[Verdicts]:
        for step, one in enumerate(verdicts):
            candidates = whole.candidates(one)
            for what, cells, replicas in (
                ("exact differences", candidates.exact, EXACT_REPLICAS),
                ("times", candidates.times, RERUN_REPLICAS),
            ):
                if cells:
                    self.say(f"rerunning {_count(cells)} to confirm {what}, {replicas} replica(s) a side")
                    self._child(settings, step, "confirm", cells, replicas)
        return self.judge(settings.run)

    def _climb(self, settings: Settings, verdicts: Sequence[Verdicts]) -> list[Verdicts]:
        for step, one in enumerate(verdicts):
            with reading(self.database) as reads:
                pairs, _ = judged(reads, settings.run, self.policy)[step]
            done = {pair.cell for pair in pairs if pair.rungs}
            for times in (False, True):
                cells = [
                    cell
                    for cell in whole.explainable(one)
                    if cell not in done and _in_time(one, cell) is times
                ]
                if cells:
                    self.say(
                        f"finding the layer that moved in {_count(cells)}: {' and '.join(LADDER)} of the same"
                    )
                    replicas = LADDER_REPLICAS if times else EXACT_REPLICAS
                    try:
                        self._child(settings, step, "explain", cells, replicas, LADDER)
                    except NothingSelected:
                        self.say("there is no rung below: they are compiled by one of these backends already")
        return self.judge(settings.run)

    def _child(
        self,
        settings: Settings,
        step: int,
        purpose: str,
        cells: Sequence[CellName],
        replicas: int,
        rungs: tuple[str, ...] = (),
    ) -> None:
        """A run of the workloads of these cells under the two interpreters of a step."""
        only = tuple(dict.fromkeys((cell.workload, cell.variant) for cell in cells))
        child = settings.child(purpose, only, settings.interpreters[step : step + 2], replicas, rungs)
        if running.record(child, self.database).interrupted:
            raise Interrupted(settings.run)

    def _children(self, run: str) -> list[str]:
        with reading(self.database) as reads:
            return lineage.children(reads, run)

    def _finish(self, run: str, root: str) -> None:
        with reading(self.database) as reads:
            if lineage.is_finished(reads, run):
                return
        settings, earlier = resumable(self.database, run)
        if running.resume(settings, earlier, self.database).interrupted:
            raise Interrupted(root)


def judged(reads: Reads, run: str, policy: Policy) -> list[tuple[tuple[Pair, ...], Verdicts]]:
    """Pairs and verdict of each step from one environment of a run to the next, in the order they were given."""
    places = [place for *_, place in comparison.environment_of_run(reads, find_run(reads, run))]
    found = []
    for base, candidate in pairwise(places):
        sides = comparison.resolve(reads, f"{run}@{base}", f"{run}@{candidate}")
        loaded = comparison.load(reads, *sides)
        found.append((loaded.pairs, whole.compare(loaded.base, loaded.candidate, loaded.pairs, policy)))
    return found


def first_bad(verdicts: Sequence[Verdicts]) -> Verdicts | None:
    """The first step with confirmed regressions, whatever its answer is; None where no step has one."""
    return next((one for one in verdicts if one.excepted), None)


def last_line(verdicts: Sequence[Verdicts]) -> str:
    """What several steps come to: the first bad version, and the steps before it of which too little is known."""
    bad = first_bad(verdicts)
    before = takewhile(lambda one: one is not bad, verdicts)
    unknown = [f"{one.base} to {one.candidate}" for one in before if one.answer == "Not enough evidence"]
    said = f"first bad version: {bad.candidate}" if bad else "no step has a confirmed regression"
    if not unknown:
        return said
    return f"{said}; not enough evidence{' before it' if bad else ''}, from {' and from '.join(unknown)}"


def _in_time(verdicts: Verdicts, cell: CellName) -> bool:
    """Whether a time of this cell regressed, so that the ladder needs replicas."""
    return any(
        finding.kind == "time" and finding.gating and finding.verdict in BAD
        for one in verdicts.cells
        if one.cell == cell
        for finding in one.findings
    )


def within_choice(settings: Settings, choice: Choice, note: str) -> Settings:
    """The settings cut down to what a budget leaves; the note goes with the run."""
    selection = settings.selection
    return replace(
        settings,
        selection=replace(
            selection, only=choice.only, max_buckets=1 if choice.one_bucket else selection.max_buckets
        ),
        extra={"upgrade": {**settings.extra["upgrade"], "notes": [note]}},
    )


def told_before(database: str, torches: Sequence[str | None]) -> frozenset[str]:
    """Workloads that were not simply unchanged in the last upgrade between these torch versions; none without one."""
    with reading_if_there(database) as reads:
        run = None if reads is None else lineage.last_upgrade(reads, torches)
        steps = judged(reads, run, Policy()) if reads is not None and run else []
    return frozenset(
        cell.cell.workload
        for _, one in steps
        for cell in one.cells
        if cell.verdict not in ("unchanged", "changed")
    )


def _count(cells: Sequence[CellName]) -> str:
    return f"{len(cells)} cell" + ("s" if len(cells) != 1 else "")
