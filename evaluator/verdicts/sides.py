"""What verdicts are given: two evaluations of a cell, as plain records. ``db.queries.comparison`` makes them.

Ids are row ids of the database, so that a verdict can cite its evidence; nothing here reads one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from evaluator.verdicts.words import is_codegen, is_refusal


class Series(NamedTuple):
    """One metric of one evaluation: a value for each replica (the median of its rounds, or its one sample)."""

    metric: str
    unit: str
    replicas: tuple[int, ...]
    values: tuple[float, ...]
    flags: frozenset[str] = frozenset()


@dataclass(frozen=True)
class BreakSite:
    """A graph break. ``break_id`` is torch's id of its kind; ``line`` moves whenever a file is edited."""

    id: int
    reason: str
    break_id: str | None
    file: str | None
    line: int | None
    function: str | None
    inherited: bool
    events: int


@dataclass(frozen=True)
class GuardFailure:
    """A guard that failed, so that something was compiled again; ``function`` is where the guard comes from."""

    id: int
    reason: str
    guard: str | None
    file: str | None
    line: int | None
    function: str | None


@dataclass(frozen=True)
class Build:
    """What Triton and ptxas made of a kernel for a card that is not there; sizes in bytes, spills and stack of a thread.

    ``error``: why it was refused, or after ``words.NOT_BUILT`` why its build came to no end; then every number is None.
    ``sass_hash``: equal means equal machine code.
    """

    id: int
    registers: int | None
    spill_stores: int | None
    spill_loads: int | None
    stack: int | None
    shared: int | None
    cubin_bytes: int | None
    sass_hash: str | None
    error: str | None

    @property
    def refused(self) -> bool:
        """Whether Triton or ptxas refused the kernel."""
        return is_refusal(self.error)

    @property
    def unknown(self) -> bool:
        """Whether its build crashed or did not end, so that nothing is known of it."""
        return self.error is not None and not self.refused

    @property
    def spilled(self) -> int | None:
        """Bytes written to and read back from local memory; None where it was not built."""
        if self.spill_stores is None or self.spill_loads is None:
            return None
        return self.spill_stores + self.spill_loads


@dataclass(frozen=True)
class KernelUse:
    """A generated or external kernel; equal ``source_hash`` means equal bodies. ``source_sha256`` names its text.

    ``launch_hash``: equal means launched alike; ``loads`` and ``stores`` in its body by Inductor's count, ``bytes_moved``:
    what one launch reads and writes by its estimate; all None where nothing says so. ``build``: see ``Build``, None where it was not built.
    """

    id: int
    name: str
    kind: str | None
    source_hash: str | None
    source_sha256: str | None
    graph: str | None
    origin: str | None
    launch_hash: str | None = None
    form: str | None = None
    calls: int | None = None
    loads: int | None = None
    stores: int | None = None
    bytes_moved: int | None = None
    build: Build | None = None


@dataclass(frozen=True)
class Launched:
    """A profiled batch of so many compiled calls with all its launches: row id, name in the trace and launches."""

    calls: int
    kernels: tuple[tuple[int, str, int], ...]


@dataclass(frozen=True)
class LeafDigest:
    """What is kept of one output leaf: hash of its bytes and a few evenly spaced values ("nan", "inf" as text)."""

    leaf: str
    dtype: str | None
    shape: tuple[int, ...] | None
    sha256: str | None
    sample: tuple[Any, ...] | None


@dataclass(frozen=True)
class AccuracyResult:
    """The series of the accuracy probe that decides. ``tolerance``: dtype name -> (rtol, atol) where the workload sets it.

    ``series``: ``fallback_random`` (eager's random numbers in compiled code) where random numbers are why the ``default``
    can't be judged.
    """

    verdict: str | None
    reason: str | None
    max_abs: float | None
    rmse_fp64: float | None
    eager_rmse_fp64: float | None
    digests: tuple[LeafDigest, ...] = ()
    tolerance: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    series: str = "default"


@dataclass(frozen=True)
class Failure:
    """The exception of the worst probe that raised."""

    type: str | None
    message: str | None


@dataclass(frozen=True)
class Side:
    """One evaluation of a cell. ``facts``: exact facts by name (columns and extra), None where no walk left any;
    ``launched``: None where nothing was profiled, or not all of it is known."""

    evaluation: int
    uuid: str
    run: int
    environment: str
    torch: str | None
    machine: str
    status: str | None
    reason: str | None
    failure: Failure | None = None
    facts: Mapping[str, Any] | None = None
    breaks: tuple[BreakSite, ...] = ()
    guards: tuple[GuardFailure, ...] = ()
    kernels: tuple[KernelUse, ...] = ()
    accuracy: AccuracyResult | None = None
    differences: tuple[tuple[str, str, str, str], ...] = ()
    series: Mapping[str, Series] = field(default_factory=dict)
    trace: str | None = None
    launched: Launched | None = None


@dataclass(frozen=True)
class CellName:
    """Workload x bucket x variant x target."""

    workload: str
    bucket: str
    variant: str
    target: str

    @property
    def codegen(self) -> bool:
        """Whether its code was generated for a card that is not there: nothing ran, so no time and no accuracy exists."""
        return is_codegen(self.target)


@dataclass(frozen=True)
class Noise:
    """What equal sides showed on this machine for a cell and metric (``calibrate``), as logs of ratios.

    ``between_sd``: sd of log replica values; ``within_sd``: sd of log rounds in a replica, None for one sample a
    replica; ``rounds``: rounds a replica; ``values``: the replica values themselves, in the order of their replicas.
    """

    metric: str
    between_sd: float
    within_sd: float | None
    rounds: int
    values: tuple[float, ...]
    run: int


@dataclass(frozen=True)
class Rung:
    """The same cell under another backend, in both environments: how much of torch.compile takes part.

    ``backend``: ``eager`` (Dynamo alone), ``aot_eager`` (and AOTAutograd), ``inductor`` (all of it).
    """

    backend: str
    base: Side
    candidate: Side


@dataclass(frozen=True)
class Pair:
    """What is compared: a cell's evaluation on both sides, None where a side has none.

    ``interleaved``: both were measured in one run, in turns. ``rerun``: the fresh evaluations that confirm or not.
    """

    cell: CellName
    base: Side | None
    candidate: Side | None
    base_definition: str | None
    candidate_definition: str | None
    interleaved: bool
    rerun: tuple[Side, Side] | None = None
    noise: Mapping[str, Noise] = field(default_factory=dict)
    rungs: tuple[Rung, ...] = ()
    training: bool = False


@dataclass(frozen=True)
class EnvironmentSide:
    """One environment as a side of a comparison. ``label``: how it is named to the reader (``torch 2.13.0+cpu``).

    ``series``: environment metrics (``import.torch_s``, ...) over the run's replicas.
    """

    hash: str
    label: str
    fields: Mapping[str, Any]
    run: int
    machine: str
    series: Mapping[str, Series] = field(default_factory=dict)
