"""What a run does, in order: pure, from cells to units of work.

Replica-major: every replica is one start of each environment's process server, and in it each workload and
variant is measured once. Within it the environments take turns unit by unit, and at going first (A B, B A): so
a machine that drifts does so for both, within minutes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import Final, Literal

from evaluator.selection import Cell
from evaluator.verdicts.words import is_codegen
from evaluator.worker.protocol import MODES, CacheState, ProbeName

UnitKind = Literal["compile", "walk", "accuracy", "memory", "profile"]
StepKind = Literal[UnitKind, "build"]
UNIT_KINDS: Final[tuple[UnitKind, ...]] = ("compile", "walk", "accuracy", "memory", "profile")

# Replicas a profile has: 1 shows the facts, 5 is the least a timing comparison needs, 8 confirms one.
PROFILES: Final[dict[str, int]] = {"quick": 1, "standard": 5, "thorough": 8}

# Those with a cold compile on one compile thread besides: steadier, and as long again.
SERIAL_PROFILES: Final = frozenset({"thorough"})

# What identifies one probe record within an evaluation: replica, probe, cache state.
ProbeKey = tuple[int, ProbeName, str | None]


@dataclass(frozen=True)
class Step:
    """One probe process (and, if it dies in the middle, those that go on after it): ``folder`` names its caches.

    ``fullgraph``: the variant demands one graph, so that a graph break is an error.
    """

    probe: StepKind
    buckets: tuple[str, ...]
    folder: str
    cache: CacheState | None = None
    mode: Literal["eager", "compiled"] | None = None
    timing: bool = False
    traced: bool = False
    fullgraph: bool = False

    @property
    def reports(self) -> tuple[ProbeName, ...]:
        """The probes this step yields a result of for every bucket, in the order in which it makes them."""
        return (self.probe, "timing") if self.timing else (self.probe,)


@dataclass(frozen=True)
class Unit:
    """Steps whose records are kept together or not at all. ``frees``: cache folders nothing needs after it."""

    environment: int
    replica: int
    workload: str
    variant: str
    kind: UnitKind
    steps: tuple[Step, ...]
    frees: tuple[str, ...] = ()

    @property
    def buckets(self) -> tuple[str, ...]:
        return self.steps[0].buckets

    def keys(self, bucket: str) -> list[ProbeKey]:
        """The keys of the probe records this unit writes for one of its buckets."""
        keys = [(self.replica, probe, step.cache) for step in self.steps for probe in step.reports]
        return list(dict.fromkeys(keys))

    @property
    def label(self) -> str:
        """What is shown of it; the first replica and interpreter go without saying."""
        variant = "" if self.variant == "default" else f" [{self.variant}]"
        bucket = self.buckets[0] if len(self.buckets) == 1 else f"{len(self.buckets)} buckets"
        place = [
            f"{name} {index}"
            for name, index in (("replica", self.replica), ("python", self.environment))
            if index
        ]
        return f"{self.workload}{variant} {bucket}: {self.kind}" + (f" ({', '.join(place)})" if place else "")


def plan(
    cells: Sequence[Sequence[Cell]], replicas: int, serial: bool = False, chrome_traces: bool = False
) -> list[Unit]:
    """Units in the order in which they run. ``cells``: the supported ones of each environment, in order.

    ``serial``: each compile unit also has a cold compile with one compile thread. ``chrome_traces``: the first replica also
    records what runs, eager and compiled.
    """
    units: list[Unit] = []
    for replica in range(replicas):
        order = list(range(len(cells)))
        if replica % 2:
            order.reverse()
        groups = {environment: _groups(cells[environment]) for environment in order}
        names = dict.fromkeys(name for environment in sorted(order) for name in groups[environment])
        for number, name in enumerate(names):
            units += _in_turns(
                _units(
                    environment,
                    replica,
                    groups[environment][name],
                    f"e{environment}-r{replica}-w{number}",
                    serial,
                    chrome_traces,
                )
                for environment in order
                if name in groups[environment]
            )
    return _freeing(units)


def _groups(cells: Sequence[Cell]) -> dict[tuple[str, str], list[Cell]]:
    """Cells by workload and variant, in the order in which they come."""
    groups: dict[tuple[str, str], list[Cell]] = {}
    for cell in cells:
        groups.setdefault((cell.workload, cell.variant), []).append(cell)
    return groups


def _in_turns(sides: Iterable[Iterable[Unit]]) -> Iterator[Unit]:
    """The first unit of each side, then the second of each, until the longest is done."""
    for turn in zip_longest(*sides):
        yield from (unit for unit in turn if unit is not None)


def _units(
    environment: int, replica: int, group: Sequence[Cell], place: str, serial: bool, chrome_traces: bool
) -> Iterator[Unit]:
    first = group[0]
    buckets = tuple(cell.bucket for cell in group)

    def unit(kind: UnitKind, *steps: Step) -> Unit:
        return Unit(environment, replica, first.workload, first.variant, kind, steps)

    if is_codegen(first.target):
        # Nothing that is generated for a card that is not there can be run: facts are all there is.
        if replica == 0:
            walked = Step("walk", buckets, f"{place}-walk", traced=True, fullgraph=first.fullgraph)
            yield unit("walk", walked, Step("build", buckets, f"{place}-walk"))
        return
    if first.evidence_only:
        # Nothing of it repeats differently, and none of its times is a claim about the compiler.
        if replica == 0:
            yield unit("walk", Step("walk", buckets, f"{place}-walk", traced=True, fullgraph=first.fullgraph))
        return
    colds = {bucket: f"{place}-cold{index}" for index, bucket in enumerate(buckets)}
    for bucket, folder in colds.items():
        yield unit("compile", *_compiles(bucket, folder, serial))
    walk = f"{place}-walk"
    # Facts are exact and need one replica; a trace slows compiling, so the others go without it.
    yield unit(
        "walk", Step("walk", buckets, walk, timing=True, traced=replica == 0, fullgraph=first.fullgraph)
    )
    if replica == 0:
        yield unit("accuracy", Step("accuracy", buckets, walk))
    # A GPU's memory is judged between versions, by the compiled calls of each replica; the host's is shown.
    modes = MODES if replica == 0 else ("compiled",) if first.target == "cuda" else ()
    for bucket, folder in colds.items() if modes else ():
        yield unit("memory", *(Step("memory", (bucket,), folder, mode=mode) for mode in modes))
    if replica == 0 and chrome_traces:
        # All buckets in one process, as in a walk: what is recorded is the code that serves them there.
        yield unit("profile", *(Step("profile", buckets, walk, mode=mode) for mode in MODES))


def _compiles(bucket: str, folder: str, serial: bool) -> tuple[Step, ...]:
    """The processes of one compile unit: cold fills the folder, warm finds it filled, serial has one of its own."""
    steps = (
        Step("compile", (bucket,), folder, cache="cold"),
        Step("compile", (bucket,), folder, cache="warm"),
    )
    return (*steps, Step("compile", (bucket,), f"{folder}-serial", cache="cold_serial")) if serial else steps


def _freeing(units: Sequence[Unit]) -> list[Unit]:
    last: dict[str, int] = {}
    for index, unit in enumerate(units):
        for step in unit.steps:
            last[step.folder] = index
    freed: dict[int, list[str]] = {}
    for folder, index in last.items():
        freed.setdefault(index, []).append(folder)
    return [replace(unit, frees=tuple(freed.get(index, ()))) for index, unit in enumerate(units)]
