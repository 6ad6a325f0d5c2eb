"""What a night's run is compared with: the night before, a pinned baseline, and its own other interpreters."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Final

from db.queries import comparison, lineage
from db.queries.comparison import Loaded, SideRef
from db.queries.nights import missing_baseline, night_before, nights
from db.queries.run_sides import is_version
from db.queries.runs import evaluation_count, find_run
from db.session import Reads, reading
from evaluator import machine, running
from evaluator.errors import UserError
from evaluator.interpreters.planning import Says
from evaluator.nights.baselines import no_baseline
from evaluator.nights.night import Group
from evaluator.upgrading import Interrupted, Stages
from evaluator.verdicts import whole
from evaluator.verdicts.findings import Verdicts
from evaluator.verdicts.policy import Policy
from evaluator.verdicts.sides import CellName, Pair, Side
from evaluator.verdicts.words import BAD

# A difference of exact facts is confirmed by one fresh process.
RERUN_REPLICAS: Final = 1


@dataclass(frozen=True)
class Comparison:
    """One thing a night was compared with. ``title`` says which two; ``name``: of its report's files.

    ``verdicts`` None: not compared, and ``note`` says why. ``broken``: that is a fault, not a first night.
    """

    title: str
    name: str
    verdicts: Verdicts | None = None
    runs: tuple[int, ...] = ()
    note: str | None = None
    broken: bool = False


@dataclass
class _Across:
    """A comparison of tonight's side with a side of another run, and the fresh evaluations that confirm it."""

    title: str
    name: str
    base: SideRef
    candidate: SideRef
    loaded: Loaded
    fresh: dict[CellName, Side] = field(default_factory=dict)

    def verdicts(self, policy: Policy) -> Verdicts:
        pairs = [_confirmed(pair, self.fresh.get(pair.cell)) for pair in self.loaded.pairs]
        return whole.compare(self.loaded.base, self.loaded.candidate, pairs, policy)

    def judged(self, policy: Policy) -> Comparison:
        return Comparison(self.title, self.name, self.verdicts(policy), (self.base.run, self.candidate.run))


def compare_night(group: Group, database: str, confirm: bool, progress: Says) -> Iterator[Comparison]:
    """Everything a measured group is compared with, as it is done. Raises Interrupted.

    ``confirm``: what looks worse is measured once more. Between tonight's interpreters that is the second stage of an
    upgrade. Of another night only the exact facts of tonight's side can be measured again, its other side is past:
    times across nights stay unconfirmed.
    """
    policy = Policy()
    yield from _same_night(group, database, confirm, policy, progress)
    for place, tested in enumerate(group.tested, 1):
        with reading(database) as reads:
            others = list(_others(reads, group, place, database))
            across = [one for one in others if isinstance(one, _Across)]
            for child in lineage.children(reads, group.settings.run) if confirm else ():
                _add_fresh(reads, across, child)
        owed = {cell for one in across for cell in _owed(one.verdicts(policy)) if cell not in one.fresh}
        if confirm and owed:
            progress.say(
                f"measuring {len(owed)} cell(s) of {tested.name} once more, to confirm exact differences"
            )
            run = _rerun(group, place, owed, database)
            with reading(database) as reads:
                _add_fresh(reads, across, run)
        for one in others:
            yield one.judged(policy) if isinstance(one, _Across) else one


def _add_fresh(reads: Reads, across: Iterable[_Across], run: str) -> None:
    """Take what a later run says of tonight's side, where it measured that side's environment."""
    for one in across:
        for hash_, _, place in comparison.environment_of_run(reads, run):
            if hash_ == one.candidate.hash:
                sides = comparison.resolve(reads, f"{one.base.run}@{one.base.position}", f"{run}@{place}")
                for pair in comparison.load(reads, *sides).pairs:
                    if pair.candidate is not None and pair.candidate.status is not None:
                        one.fresh[pair.cell] = pair.candidate


def _same_night(
    group: Group, database: str, confirm: bool, policy: Policy, progress: Says
) -> Iterator[Comparison]:
    """Tonight's interpreters, each against the one before it in the file: measured in turns, so times count in full."""
    if len(group.tested) < 2:
        return
    stages = Stages(database, confirm, explain=False, policy=policy, say=progress.say)
    steps = stages.go_on(group.settings)
    with reading(database) as reads:
        run = find_run(reads, group.settings.run)
    for (base, candidate), verdicts in zip(pairwise(group.tested), steps, strict=True):
        title, name = (
            f"{base.name} and {candidate.name}, both tonight",
            f"{candidate.name}-against-{base.name}",
        )
        yield Comparison(title, name, verdicts, (run,))


def _others(reads: Reads, group: Group, place: int, database: str) -> Iterator[_Across | Comparison]:
    """The sides of other runs that an interpreter of tonight is compared with, or why there is none."""
    tested, tonight = group.tested[place - 1], f"{group.settings.run}@{place}"
    before = night_before(nights(reads, machine.machine_id()), group.settings.run, tested.name)
    title, name = f"{tested.name}: the night before and tonight", f"{tested.name}-night-before"
    if before is None:
        yield Comparison(title, name, note="no night before on this machine")
    else:
        yield _across(reads, title, name, f"{before[0].uuid}@{before[1]}", tonight)
    if tested.baseline is None or _is_baseline(reads, group, place, tested.baseline):
        return
    title, name = f"{tested.name}: {tested.baseline} and tonight", f"{tested.name}-baseline"
    label = missing_baseline(reads, tested.baseline)
    if label is not None:
        yield Comparison(title, name, note=no_baseline(label, database))
        return
    found = _across(reads, title, name, tested.baseline, tonight)
    # A version as a baseline may be tonight's neighbour, with which it is compared in full already.
    if isinstance(found, Comparison) or not _are_neighbours(found.base, found.candidate):
        yield found


def _is_baseline(reads: Reads, group: Group, place: int, baseline: str) -> bool:
    """Whether tonight's side is itself the torch version that a baseline names: the pinned interpreter."""
    of_run = comparison.environment_of_run(reads, group.settings.run)
    return any(is_version(torch, baseline) for _, torch, at in of_run if at == place)


def _are_neighbours(base: SideRef, candidate: SideRef) -> bool:
    return base.run == candidate.run and base.position == candidate.position - 1


def _across(reads: Reads, title: str, name: str, base_ref: str, tonight: str) -> _Across | Comparison:
    try:
        base, candidate = comparison.resolve(reads, base_ref, tonight)
        return _Across(title, name, base, candidate, comparison.load(reads, base, candidate))
    except UserError as error:
        return Comparison(title, name, note=str(error), broken=True)


def _owed(verdicts: Verdicts) -> set[CellName]:
    """Cells with an exact difference for the worse that no fresh process has shown again."""
    return {
        cell.cell
        for cell in verdicts.cells
        for one in cell.findings
        if one.gating and one.verdict in BAD and one.confirmed is False and one.kind not in ("time", "memory")
    }


def _rerun(group: Group, place: int, cells: Iterable[CellName], database: str) -> str:
    """A run of the workloads of these cells under one of tonight's interpreters; its uuid. Raises Interrupted.

    Whole workloads, since what a bucket compiles depends on the buckets before it.
    """
    only = tuple(sorted({(cell.workload, cell.variant) for cell in cells}))
    settings = group.settings.child(
        "confirm", only, (group.settings.interpreters[place - 1],), RERUN_REPLICAS
    )
    if running.record(settings, database).interrupted:
        raise Interrupted(group.settings.run)
    return settings.run


def _confirmed(pair: Pair, fresh: Side | None) -> Pair:
    """The pair with tonight's fresh evaluation as its rerun.

    Without its times: one process decides nothing of them, and the other night can't be measured in turns with it.
    """
    if fresh is None or pair.base is None or pair.rerun is not None:
        return pair
    return replace(pair, rerun=(replace(pair.base, series={}), replace(fresh, series={})))


def cells_of(database: str, run: str) -> int:
    """Evaluations of a run."""
    with reading(database) as reads:
        return evaluation_count(reads, find_run(reads, run))
