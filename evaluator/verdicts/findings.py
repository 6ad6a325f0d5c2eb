"""What verdicts say: findings of a cell, cells of a comparison, and the answer. Plain records, JSON by ``as_json``.

What a comparison has by the thousand is a named tuple: a frozen dataclass takes eight times as long to make.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any, Literal, NamedTuple

from evaluator.verdicts.sides import CellName
from evaluator.verdicts.words import Answer, Magnitude, Verdict

Kind = Literal["time", "count", "set", "status", "accuracy", "drift", "memory"]
KernelWord = Literal["added", "removed", "changed", "relaunched", "rebuilt", "renamed"]


class Estimate(NamedTuple):
    """Ratio candidate / base with its interval. ``margin``: the relative difference from which one counts."""

    ratio: float
    low: float
    high: float
    confidence: float
    margin: float
    base_replicas: int
    candidate_replicas: int


@dataclass(frozen=True)
class Evidence:
    """A row that a claim rests on: ``kind`` evaluation, kernel, graph_break, recompile, ...; ``side`` base/candidate."""

    kind: str
    id: int
    side: str


@dataclass(frozen=True)
class Cause:
    """What likely made a finding. ``code`` is one of ``words.REASONS``, None for "cause unknown"; ``layer`` is what
    the ladder says moved (operators, dynamo, aot_autograd, inductor, cuda_graphs), None where it does not say."""

    code: str | None
    text: str
    evidence: tuple[Evidence, ...] = ()
    layer: str | None = None


class Finding(NamedTuple):
    """One verdict about one metric of a cell.

    ``gating``: it counts for the answer and the exit code; the others explain. ``confirmed``: True by a rerun, False
    where one is owed or disagreed, None where none is needed. ``base``/``candidate``: medians in ``unit``, counts or
    words. ``more_replicas``: how many more a side would likely settle an inconclusive one; with the reason
    ``too_few_replicas`` the least before anything can be said of it.
    """

    metric: str
    kind: Kind
    verdict: Verdict
    gating: bool
    confirmed: bool | None
    base: float | int | str | None
    candidate: float | int | str | None
    unit: str | None
    text: str
    reasons: tuple[str, ...] = ()
    estimate: Estimate | None = None
    rerun: Estimate | None = None
    magnitude: Magnitude | None = None
    more_replicas: int | None = None
    cause: Cause | None = None
    evidence: tuple[Evidence, ...] = ()


@dataclass(frozen=True)
class BreakChange:
    """A break site that was ``added``, ``removed`` or ``moved`` (same reason and function, another line)."""

    change: Literal["added", "removed", "moved"]
    reason: str
    function: str | None
    base: str | None
    candidate: str | None
    evidence: tuple[Evidence, ...]


@dataclass(frozen=True)
class GuardChange:
    """A guard failure that was ``added`` or ``removed``."""

    change: Literal["added", "removed"]
    guard: str
    function: str | None
    evidence: tuple[Evidence, ...]


@dataclass(frozen=True)
class KernelChange:
    """A kernel ``added``, ``removed``, or ``changed``: same place in order or same name, another body.

    Of an equal body: ``relaunched`` (another launch), ``rebuilt`` (other machine code), or no more than ``renamed``.
    ``base_source`` and ``candidate_source`` are the SHA-256 of the sources to show side by side. ``numbers``: what a
    kernel of both sides takes otherwise, as words (``registers 32 -> 40``).
    """

    change: KernelWord
    name: str
    kind: str | None
    base_source: str | None
    candidate_source: str | None
    evidence: tuple[Evidence, ...]
    numbers: tuple[str, ...] = ()


@dataclass(frozen=True)
class FusionChange:
    """One kernel that became several (``lost``), or several that became one (``gained``), in one pass of a graph.

    Names and SHA-256 of the sources are those of the kernels on each side. ``more_bytes``: bytes moved by the
    candidate's less those by the base's, by Inductor's own estimate; None where one of them has none.
    """

    change: Literal["lost", "gained"]
    base: tuple[str, ...]
    candidate: tuple[str, ...]
    base_sources: tuple[str | None, ...]
    candidate_sources: tuple[str | None, ...]
    more_bytes: int | None
    evidence: tuple[Evidence, ...]


class PhaseChange(NamedTuple):
    """A compile phase's median seconds on both sides."""

    metric: str
    base: float
    candidate: float


@dataclass(frozen=True)
class Differences:
    """What differs between the two sides' evidence, matched so that lines, paths and ids that moved do not count."""

    breaks: tuple[BreakChange, ...] = ()
    guards: tuple[GuardChange, ...] = ()
    kernels: tuple[KernelChange, ...] = ()
    fusions: tuple[FusionChange, ...] = ()
    phases: tuple[PhaseChange, ...] = ()
    error: tuple[str | None, str | None] | None = None


@dataclass(frozen=True)
class CellVerdict:
    """All findings of a cell, worst first. ``verdict`` is the worst of the gating ones that compared something; at best
    ``inconclusive`` where evidence of a side is lost, both sides ran nothing that was compiled, or the times are of
    different machines."""

    cell: CellName
    verdict: Verdict
    confirmed: bool | None
    findings: tuple[Finding, ...]
    differences: Differences
    base_evaluation: int | None
    candidate_evaluation: int | None
    training: bool = False

    @property
    def compared(self) -> bool:
        return self.verdict != "not_compared"


@dataclass(frozen=True)
class Moved:
    """A field of the environment that differs. ``dependency``: it counts as a moved dependency (torch with what it
    pins counts once)."""

    field: str
    base: str | None
    candidate: str | None
    dependency: str | None


@dataclass(frozen=True)
class Verdicts:
    """The whole comparison: what moved, every cell, findings of the environments themselves, and the answer.

    ``cells`` are sorted worst first. ``answer_text`` is one sentence and always says "N of M cells compared".
    """

    base: str
    candidate: str
    moved: tuple[Moved, ...]
    warnings: tuple[str, ...]
    cells: tuple[CellVerdict, ...]
    environment: tuple[Finding, ...]
    answer: Answer
    answer_text: str
    excepted: tuple[str, ...]
    compared: int
    total: int
    counts: Mapping[str, int] = field(default_factory=dict)


def as_json(value: Any) -> Any:
    """A JSON-serialisable copy of a record of this module or of ``sides``."""
    if is_dataclass(value) and not isinstance(value, type):
        return {one.name: as_json(getattr(value, one.name)) for one in fields(value)}
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return as_json(value._asdict())
    if isinstance(value, Mapping):
        return {str(key): as_json(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [as_json(item) for item in value]
    if isinstance(value, (set, frozenset)):
        return sorted(as_json(item) for item in value)
    return value
