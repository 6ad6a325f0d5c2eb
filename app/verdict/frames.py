"""From verdicts to the frames that the Verdict page lists and draws. Pure: no Streamlit, no database."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any, Final

import pandas as pd

from app import metric_words, theme
from app.verdict.cards import ratio_of
from evaluator.report import phrases
from evaluator.report.sections import Row, by_size
from evaluator.verdicts.findings import CellVerdict, Finding, Verdicts
from evaluator.verdicts.words import BAD

# group -> its title; the first five are always offered, the others where they have something.
GROUPS: Final = {
    "regressed": "Regressed",
    "improved": "Improved",
    "changed": "Changed",
    "inconclusive": "Inconclusive",
    "not_compared": "Not compared",
    "flaky": "Flaky",
    "explains": "Only explains",
    "unchanged": "Unchanged",
}
ALWAYS: Final = ("regressed", "improved", "changed", "inconclusive", "not_compared")
MEANINGS: Final = {
    "regressed": "Worse on the candidate: newly failing, or by more than chance and the margin.",
    "improved": "Better on the candidate by more than chance and the margin, or fixed.",
    "changed": "Different, with no better or worse side.",
    "inconclusive": "The measurements allow both no change and a change that counts.",
    "not_compared": "There is nothing to compare; this is not the same as unchanged.",
    "flaky": "A difference that a fresh rerun did not show again.",
    "explains": "Eager times, memory and the like: they explain, and do not count for the answer.",
    "unchanged": "Shown to be equal within the margin; exact facts: equal.",
}
COLUMNS: Final = (
    "workload",
    "bucket",
    "variant",
    "target",
    "metric",
    "unit",
    "base",
    "candidate",
    "change",
    "low",
    "high",
    "interval",
    "verdict",
    "confirmed",
    "why",
    "metric_name",
    "base_evaluation",
    "candidate_evaluation",
)
# The state of a regression that no rerun has confirmed.
UNCONFIRMED: Final = "unconfirmed"
# Rows of the forest plot: a browser draws them all, and nobody reads more.
MOST_ROWS: Final = 200
# Rows that are drawn unless all are asked for.
FEW_ROWS: Final = 40


def group_of(finding: Finding) -> str:
    """The group of ``GROUPS`` in which a finding is listed."""
    if finding.verdict in ("flaky", "changed", "not_compared", "unchanged"):
        return finding.verdict
    if not finding.gating:
        return "explains"
    if finding.verdict in BAD:
        return "regressed"
    return "improved" if finding.verdict in ("improved", "fixed") else "inconclusive"


def grouped(verdicts: Verdicts, target: str | None = None) -> dict[str, list[Row]]:
    """The findings of every group, of one target or of all, worst first. A cell that was not compared is one row, whatever its findings; facts
    that explain and did not change are left out."""
    found: dict[str, list[Row]] = {group: [] for group in GROUPS}
    for cell in verdicts.cells:
        if target not in (None, cell.cell.target):
            continue
        for finding in cell.findings[:1] if not cell.compared else cell.findings:
            group = group_of(finding)
            if group != "unchanged" or finding.gating:
                found[group].append(Row(cell, finding))
    return {
        group: sorted(rows, key=lambda row: row.finding.more_replicas or math.inf)
        if group == "inconclusive"
        else list(by_size(rows))
        for group, rows in found.items()
    }


def table(rows: Iterable[Row]) -> pd.DataFrame:
    """One row a finding: ``COLUMNS``. ``base``/``candidate`` as shown, with their unit; ``change``, ``low`` and ``high``
    in percent where there is an estimate; ``why``: cause, reasons, or what differs."""
    return pd.DataFrame([_listed(row.cell, row.finding) for row in rows], columns=pd.Index(COLUMNS))


def _listed(cell: CellVerdict, finding: Finding) -> dict[str, Any]:
    estimate = finding.estimate
    whole = not cell.compared
    base, candidate = phrases.both_values(finding)
    return {
        "workload": cell.cell.workload,
        "bucket": cell.cell.bucket,
        "variant": cell.cell.variant,
        "target": cell.cell.target,
        "metric": "the whole cell" if whole else metric_words.title(finding.metric),
        "unit": finding.unit,
        "base": base if finding.base is not None else None,
        "candidate": candidate if finding.candidate is not None else None,
        "change": percent(estimate.ratio) if estimate else None,
        "low": percent(estimate.low) if estimate else None,
        "high": percent(estimate.high) if estimate else None,
        "interval": f"{phrases.percent(estimate.low)} to {phrases.percent(estimate.high)}"
        if estimate
        else None,
        "verdict": theme.verdict_text(finding.verdict, finding.confirmed),
        "confirmed": phrases.confirmation(finding) or None,
        "why": why(finding),
        "metric_name": finding.metric,
        "base_evaluation": cell.base_evaluation,
        "candidate_evaluation": cell.candidate_evaluation,
    }


def why(finding: Finding) -> str:
    """What is known beside the numbers: the likely cause of what is worse, what would settle what is open, the reason
    of what was not compared, and what differs in what is no time."""
    if finding.verdict in BAD:
        cause = phrases.cause(finding.cause)
        said = "cause unknown" if cause == phrases.UNKNOWN else cause
        return f"{finding.text}; {said}" if finding.estimate is None and finding.text not in said else said
    if finding.verdict == "not_compared":
        return finding.text or phrases.reasons(finding.reasons)
    open_ = (phrases.more_replicas(finding), phrases.reasons(finding.reasons))
    said = "; ".join(one for one in open_ if one) if finding.kind in ("time", "memory") else finding.text
    # The text of a time that is sure only repeats its numbers.
    return said or ("" if finding.estimate is not None else finding.text)


def percent(ratio: float) -> float | None:
    """A ratio as a difference in percent; None for one that is not finite."""
    return (ratio - 1) * 100 if math.isfinite(ratio) else None


def metrics_with_ratios(verdicts: Verdicts) -> list[str]:
    """Metrics of which some cell has an estimate: those that count for the answer first, warm times before compiles."""
    gating: dict[str, bool] = {}
    for cell in verdicts.cells:
        for one in cell.findings:
            if one.estimate is not None:
                gating[one.metric] = gating.get(one.metric, False) or one.gating
    return sorted(gating, key=lambda name: (not gating[name], not name.startswith("compiled."), name))


def no_ratios(verdicts: Verdicts) -> str:
    """Why no ratio has an interval."""
    if verdicts.cells and all(cell.cell.codegen for cell in verdicts.cells):
        return theme.NOTHING_RAN
    return "No time has an interval on both sides: that takes 4 replicas a side."


def forest(verdicts: Verdicts, metric: str) -> pd.DataFrame:
    """One row a cell with an estimate of ``metric``, slowest first: cell (unique), ratio, low, high (ratios), margin_low,
    margin_high, verdict, state (the verdict, or ``unconfirmed``), word, label, interval, values, evaluation."""
    cells = [(cell, one) for cell in verdicts.cells for one in cell.findings if one.metric == metric]
    several = {
        field: len({getattr(cell.cell, field) for cell in verdicts.cells}) > 1
        for field in ("variant", "target")
    }
    rows = [
        _drawn(cell, one, several) for cell, one in cells if one.estimate and _drawable(one.estimate.ratio)
    ]
    rows.sort(key=lambda row: -row["ratio"])
    columns = (
        "cell",
        "ratio",
        "low",
        "high",
        "margin_low",
        "margin_high",
        "verdict",
        "state",
        "word",
        "label",
    )
    return pd.DataFrame(rows, columns=pd.Index([*columns, "interval", "values", "evaluation"]))


def how_many(verdicts: Verdicts, metric: str, drawn: int) -> str:
    """Of how many cells the forest has a row, and how many have a ratio of ``metric`` and no interval to draw."""
    known = sum(
        one.metric == metric and ratio_of(one) is not None for cell in verdicts.cells for one in cell.findings
    )
    bare = f" (of {known - drawn:,} more a ratio alone)" if known > drawn else ""
    return f"{drawn:,} of {verdicts.total:,} cells have an interval of this ratio{bare}"


def _drawable(ratio: float) -> bool:
    return 0 < ratio < math.inf


def _drawn(cell: CellVerdict, finding: Finding, several: Mapping[str, bool]) -> dict[str, Any]:
    estimate = finding.estimate
    assert estimate is not None
    name = cell.cell
    more = (getattr(name, field) for field, many in several.items() if many)
    settled = finding.verdict == "unchanged"
    unconfirmed = finding.verdict in BAD and finding.confirmed is False
    return {
        "cell": theme.cell_text(name.workload, name.bucket, *more),
        "ratio": round(estimate.ratio, 5),
        # An interval may be open; a drawing can't be.
        "low": round(max(estimate.low, estimate.ratio / 100), 5),
        "high": round(min(estimate.high, estimate.ratio * 100), 5),
        "margin_low": round(1 / (1 + estimate.margin), 5),
        "margin_high": round(1 + estimate.margin, 5),
        "verdict": finding.verdict,
        "state": UNCONFIRMED if unconfirmed else finding.verdict,
        "word": theme.verdict_text(finding.verdict, finding.confirmed),
        "label": "" if settled else phrases.percent(estimate.ratio) + (" ?" if unconfirmed else ""),
        "interval": phrases.interval(estimate),
        "values": phrases.change(finding),
        "evaluation": cell.candidate_evaluation,
    }
