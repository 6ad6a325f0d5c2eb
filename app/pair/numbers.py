"""From both sides' measurements to the rows and chart frames of Why. Pure: no Streamlit, no database.

A number that a side did not measure is missing; a ratio without a verdict says so.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import pandas as pd

from app import metric_words, theme
from app.pair.rows import value
from db.queries.why import EvaluationRecord
from evaluator.report import phrases
from evaluator.verdicts.findings import CellVerdict, Finding, Moved
from evaluator.verdicts.sides import Pair, Side

# In the order in which a compile passes through them.
PHASES: Final = ("compile.dynamo_s", "compile.aot_autograd_s", "compile.inductor_s", "compile.toolchain_s")
REST: Final = "everything else"

LAYERS: Final[Mapping[str, str]] = {
    "operators": "eager operators",
    "dynamo": "Dynamo",
    "aot_autograd": "AOTAutograd",
    "inductor": "Inductor",
    "cuda_graphs": "CUDA graphs",
}
# How much of torch.compile takes part, from the ground: backend of the rung -> how it is called here.
RUNGS: Final[Mapping[str, str]] = {
    "eager": "Dynamo (backend eager)",
    "aot_eager": "+ AOTAutograd (backend aot_eager)",
    "inductor": "+ Inductor (backend inductor)",
}
GROUND: Final = "eager, nothing compiled"

Row = dict[str, Any]


def phases(sides: Iterable[tuple[str, EvaluationRecord]]) -> pd.DataFrame:
    """Where each side's cold compile went, as ``pair_charts.phases`` takes it: side, phase, value (s)."""
    rows = [(side, phase, part) for side, record in sides for phase, part in phase_parts(record.summaries)]
    return pd.DataFrame(rows, columns=["side", "phase", "value"])


def phase_parts(summaries: pd.DataFrame) -> list[tuple[str, float]]:
    """The phases of a cold compile by title, in s, and what is left of the whole; empty where none was measured."""
    medians = dict(zip(summaries["metric"], summaries["median"], strict=True)) if len(summaries) else {}
    known = [(metric_words.title(metric), float(medians[metric])) for metric in PHASES if metric in medians]
    total = medians.get("compile.cold_s")
    if not known or total is None:
        return []
    rest = float(total) - sum(part for _, part in known)
    # Medians of parts need not add up to the median of the whole; a negative rest is no phase.
    return [*known, (REST, rest)] if rest > 0 else known


def metrics(base: EvaluationRecord, candidate: EvaluationRecord, cell: CellVerdict) -> pd.DataFrame:
    """One row a metric that a side measured: metric, unit, base, candidate (medians), change, verdict, replicas, why, includes.

    ``change`` is the verdict's ratio with its interval; where no verdict is given, the ratio of the medians alone.
    """
    judged = {one.metric: one for one in cell.findings}
    ours, theirs = _by_metric(base), _by_metric(candidate)
    rows = []
    for metric in sorted({*ours, *theirs}, key=metric_words.order):
        one, other, finding = ours.get(metric), theirs.get(metric), judged.get(metric)
        medians = [None if side is None else float(side["median"]) for side in (one, other)]
        rows.append(
            {
                "metric": metric_words.title(metric),
                "unit": metric_words.unit(metric),
                "base": theme.number(medians[0], 4),
                "candidate": theme.number(medians[1], 4),
                "change": _change(finding, medians),
                "verdict": theme.verdict_text(finding.verdict, finding.confirmed)
                if finding
                else "not judged",
                "replicas": " v ".join(
                    theme.count(side["replicas"] if side else None) for side in (one, other)
                ),
                "why": (phrases.reasons(finding.reasons) or None) if finding else None,
                "includes": metric_words.includes(metric),
            }
        )
    names = ("metric", "unit", "base", "candidate", "change", "verdict", "replicas", "why", "includes")
    return pd.DataFrame(rows, columns=list(names), dtype="object")


def _by_metric(record: EvaluationRecord) -> dict[str, Mapping[Any, Any]]:
    return {str(row["metric"]): row for row in record.summaries.to_dict("records")}


def _change(finding: Finding | None, medians: Sequence[float | None]) -> str | None:
    if finding is not None and finding.estimate is not None:
        return phrases.interval(finding.estimate)
    if finding is not None and finding.verdict == "not_compared":
        return None  # A ratio here would be read as a comparison.
    base, candidate = medians
    if not base or candidate is None or base < 0 or candidate <= 0:
        return None
    return f"{phrases.percent(candidate / base)}, of the medians alone"


def accuracy(base: EvaluationRecord, candidate: EvaluationRecord) -> pd.DataFrame:
    """One row a figure of the accuracy probe and series: series, figure, base, candidate."""
    figures = {
        "verdict": "verdict",
        "rmse_fp64": "compiled RMSE to float64",
        "eager_rmse_fp64": "eager RMSE to float64",
        "max_abs": "largest difference to eager",
        "max_rel": "largest relative difference to eager",
        "reason": "reason",
    }
    sides = [_series(base), _series(candidate)]
    rows: list[Row] = []
    for series in dict.fromkeys(name for side in sides for name in side):
        for figure, title in figures.items():
            one, other = (_figure(side.get(series), figure) for side in sides)
            if one or other:
                rows.append(
                    {
                        "series": series,
                        "figure": title,
                        "base": one or theme.MISSING,
                        "candidate": other or theme.MISSING,
                    }
                )
    return pd.DataFrame(rows, columns=["series", "figure", "base", "candidate"], dtype="object")


def _series(record: EvaluationRecord) -> dict[str, Mapping[Any, Any]]:
    """The first probe's row of each series."""
    found: dict[str, Mapping[Any, Any]] = {}
    for row in record.accuracy.to_dict("records"):
        found.setdefault(str(row["series"]), row)
    return found


def _figure(row: Mapping[Any, Any] | None, name: str) -> str | None:
    found = None if row is None else row.get(name)
    if isinstance(found, str):
        return found.replace("_", " ") if name == "verdict" else found
    return None if found is None or pd.isna(found) else theme.number(float(found))


def layer(cell: CellVerdict) -> str | None:
    """Which layer the worst finding with a known one comes from, as a word of ours; None where nothing says."""
    named = [one.cause.layer for one in cell.findings if one.cause is not None and one.cause.layer]
    return LAYERS.get(named[0], named[0]) if named else None


def ladder(pair: Pair, metric: str) -> pd.DataFrame:
    """The cell with more and more of torch.compile, from the ground up: rung, base_status, candidate_status,
    base_accuracy, candidate_accuracy, base, candidate (medians of ``metric``), ratio. Empty where it was not climbed."""
    rungs = {one.backend: one for one in pair.rungs}
    if not rungs or pair.base is None or pair.candidate is None:
        return pd.DataFrame()
    rows = [
        _rung(name, rungs[backend].base, rungs[backend].candidate, metric)
        for backend, name in RUNGS.items()
        if backend in rungs
    ]
    ground = metric.replace("compiled.", "eager.", 1)
    if ground != metric:
        only_times = ("base", "candidate", "ratio")
        rows.insert(
            0,
            {
                "rung": GROUND,
                **{k: v for k, v in _rung("", pair.base, pair.candidate, ground).items() if k in only_times},
            },
        )
    return pd.DataFrame([*rows, _rung("the cell itself", pair.base, pair.candidate, metric)])


def _rung(name: str, base: Side, candidate: Side, metric: str) -> Row:
    medians = [_median(side, metric) for side in (base, candidate)]
    unit = metric_words.unit(metric)
    ratio = medians[1] / medians[0] if medians[0] and medians[1] else None
    return {
        "rung": name,
        "base_status": theme.status_text(base.status or "running"),
        "candidate_status": theme.status_text(candidate.status or "running"),
        "base_accuracy": _accuracy(base),
        "candidate_accuracy": _accuracy(candidate),
        "base": value(medians[0], unit),
        "candidate": value(medians[1], unit),
        "ratio": None if ratio is None else phrases.percent(ratio),
    }


def _median(side: Side, metric: str) -> float | None:
    values = side.series[metric].values if metric in side.series else ()
    return statistics.median(values) if values else None


def _accuracy(side: Side) -> str:
    verdict = side.accuracy.verdict if side.accuracy is not None else None
    return verdict.replace("_", " ") if verdict else theme.MISSING


def environment(moved: Iterable[Moved]) -> pd.DataFrame:
    """The fields that differ: field, base, candidate, counts (as which dependency)."""
    rows = [
        {
            "field": one.field,
            "base": theme.MISSING if one.base is None else one.base,
            "candidate": theme.MISSING if one.candidate is None else one.candidate,
            "counts": one.dependency or "not a dependency",
        }
        for one in moved
    ]
    return pd.DataFrame(rows, columns=["field", "base", "candidate", "counts"], dtype="object")
