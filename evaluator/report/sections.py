"""The parts of a report: which findings stand where, and in what order. All formats for people follow it."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from evaluator.verdicts.findings import CellVerdict, Finding, Verdicts
from evaluator.verdicts.words import BAD, REASONS, VERDICTS, Verdict

# Correctness outranks speed.
_KIND_ORDER = ("status", "accuracy", "drift", "count", "set", "time", "memory")


@dataclass(frozen=True)
class Row:
    """A finding with the cell it is about."""

    cell: CellVerdict
    finding: Finding


@dataclass(frozen=True)
class Alarm:
    """A cell with something bad: ``bad`` are its gating bad findings, worst first, ``beside`` what explains them."""

    cell: CellVerdict
    bad: tuple[Finding, ...]
    beside: tuple[Finding, ...]

    @property
    def confirmed(self) -> bool:
        """Whether any of the bad findings needs no rerun any more."""
        return any(finding.confirmed is not False for finding in self.bad)


@dataclass(frozen=True)
class Reason:
    """Findings that were not compared for one reason. ``text`` is the sentence of ``code``."""

    code: str
    text: str
    rows: tuple[Row, ...]

    @property
    def cells(self) -> tuple[CellVerdict, ...]:
        """The cells they are about, each once."""
        return tuple({row.cell.cell: row.cell for row in self.rows}.values())

    @property
    def workloads(self) -> tuple[str, ...]:
        """Their workloads, each once."""
        return tuple(dict.fromkeys(row.cell.cell.workload for row in self.rows))

    @property
    def metrics(self) -> tuple[str, ...]:
        """The metrics they are about, each once."""
        return tuple(dict.fromkeys(row.finding.metric for row in self.rows))


@dataclass(frozen=True)
class Sections:
    """A report's parts. Findings in ``explaining`` moved and do not gate; what is ``unchanged`` is only counted."""

    alarms: tuple[Alarm, ...]
    flaky: tuple[Row, ...]
    improved: tuple[Row, ...]
    changed: tuple[Row, ...]
    explaining: tuple[Row, ...]
    inconclusive: tuple[Row, ...]
    not_compared: tuple[Reason, ...]

    @property
    def confirmed(self) -> tuple[Alarm, ...]:
        return tuple(alarm for alarm in self.alarms if alarm.confirmed)

    @property
    def unconfirmed(self) -> tuple[Alarm, ...]:
        return tuple(alarm for alarm in self.alarms if not alarm.confirmed)


def sections(verdicts: Verdicts) -> Sections:
    """The parts of the report of these verdicts."""
    rows = [Row(cell, finding) for cell in verdicts.cells for finding in cell.findings]

    def gating(*words: Verdict) -> tuple[Row, ...]:
        return by_size(row for row in rows if row.finding.gating and row.finding.verdict in words)

    return Sections(
        alarms=_alarms(verdicts),
        flaky=by_size(row for row in rows if row.finding.verdict == "flaky"),
        improved=gating("fixed", "improved"),
        changed=by_size(row for row in rows if row.finding.verdict == "changed"),
        explaining=by_size(
            row
            for row in rows
            if not row.finding.gating and row.finding.verdict in (*BAD, "improved", "fixed")
        ),
        inconclusive=tuple(
            sorted(gating("inconclusive"), key=lambda row: row.finding.more_replicas or math.inf)
        ),
        not_compared=_not_compared(rows),
    )


def by_size(rows: Iterable[Row]) -> tuple[Row, ...]:
    """Worst verdict first, correctness before speed, then the largest change."""
    return tuple(sorted(rows, key=lambda row: _order(row.finding)))


def size(finding: Finding) -> float:
    """How large a change of a time is, as the distance of the log ratio from none; 0 for what is no time."""
    estimate = finding.estimate
    if estimate is None or not 0 < estimate.ratio < math.inf:
        return 0.0
    return abs(math.log(estimate.ratio))


def _order(finding: Finding) -> tuple[int, bool, int, float, str]:
    return (
        VERDICTS.index(finding.verdict),
        finding.confirmed is False,
        _KIND_ORDER.index(finding.kind),
        -size(finding),
        finding.metric,
    )


def _alarms(verdicts: Verdicts) -> tuple[Alarm, ...]:
    found = []
    for cell in verdicts.cells:
        bad = sorted((one for one in cell.findings if one.gating and one.verdict in BAD), key=_order)
        if bad:
            beside = sorted(
                (one for one in cell.findings if one not in bad and one.verdict != "not_compared"), key=_order
            )
            found.append(Alarm(cell, tuple(bad), tuple(beside)))
    return tuple(sorted(found, key=lambda alarm: (not alarm.confirmed, _order(alarm.bad[0]))))


def _not_compared(rows: Iterable[Row]) -> tuple[Reason, ...]:
    """By reason, the one with the most cells first; a finding without a reason stands under its own text."""
    by_reason: dict[str, list[Row]] = {}
    for row in rows:
        if row.finding.verdict == "not_compared":
            code = row.finding.reasons[0] if row.finding.reasons else row.finding.text
            by_reason.setdefault(code, []).append(row)
    found = [Reason(code, REASONS.get(code, code), tuple(listed)) for code, listed in by_reason.items()]
    return tuple(sorted(found, key=lambda one: (-len(one.cells), one.code)))
