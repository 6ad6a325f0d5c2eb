"""From verdicts to the frame that the Matrix page draws and lists. Pure: no Streamlit, no database."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

import pandas as pd

from app.matrix.words import deciding, said, weight
from evaluator.verdicts.findings import CellVerdict, Finding, Verdicts
from evaluator.verdicts.policy import DIAGNOSTIC_MEMORY, DIAGNOSTIC_TIMES, GATING_TIMES
from evaluator.verdicts.sides import CellName, Pair
from evaluator.verdicts.words import FAILED, VERDICTS

# Not a metric of its own: of each cell the finding that decides its verdict.
WORST: Final = "verdict"
# The variant that goes without saying.
DEFAULT: Final = "default"
# What the map can be about, in this order; what else findings name comes after.
_ORDER: Final = (
    *GATING_TIMES,
    "accuracy",
    "graph_breaks",
    "recompiles",
    "graphs",
    "kernels",
    "bytes_moved",
    "spills",
    "refused",
    "registers",
    "fusion",
    "ran_eager",
    *DIAGNOSTIC_TIMES,
    *DIAGNOSTIC_MEMORY,
)
# A line of fewer versions shows no course.
LEAST_VERSIONS: Final = 3
# In percent. Fixed, so that 1% of noise looks like nothing.
SPARK_ENDS: Final = (75, 125)
# Shown with every metric, as the reason why there is no value.
_NO_METRIC: Final = frozenset({"status", "facts"})
# What a reader of the downloaded table needs of them.
SAVED: Final = (
    "workload",
    "bucket",
    "variant",
    "target",
    "metric",
    "unit",
    "base",
    "candidate",
    "ratio",
    "low",
    "high",
    "rounds",
    "verdict",
    "word",
    "why",
    "base_evaluation",
    "candidate_evaluation",
)


def metrics(verdicts: Verdicts) -> list[str]:
    """What the map can be drawn of: ``WORST``, then each metric that a finding is about."""
    named = {one.metric for cell in verdicts.cells for one in cell.findings} - _NO_METRIC
    known = [metric for metric in _ORDER if metric in named]
    return [WORST, *known, *sorted(named - set(known))]


def rows(verdicts: Verdicts, pairs: Sequence[Pair], metric: str) -> pd.DataFrame:
    """One row a cell, of which there is at least one, worst first: what ``metric`` says of it, or why it says nothing.

    ``base`` and ``candidate`` are the values where they are numbers, in ``unit``, else text; ``ratio``, ``low`` and ``high`` are
    candidate / base, null where there is none; ``percent`` is the ratio's change; ``place`` is the bucket's, from 1;
    ``rounds`` says why a time is qualified; ``word`` is the verdict with what is known of correctness, for which the tile
    has an ``edge``; ``row`` names all but the bucket; ``shade`` is a place on the scale of ratios, null for what has none; ``cell`` numbers
    the rows.
    """
    places = _places(pairs)
    failed = {pair.cell: _failed(pair) for pair in pairs}
    label = _labels(verdicts.cells)
    made = []
    for cell in verdicts.cells:
        name = cell.cell
        found = deciding(cell) if metric == WORST else _about(cell, metric)
        row = {
            "workload": name.workload,
            "bucket": name.bucket,
            "variant": name.variant,
            "target": name.target,
            "row": label(name),
            "place": places.get(name, 1),
            **said(found, cell, failed.get(name, ""), whole=metric == WORST),
            **({} if metric == WORST else {"metric": metric}),
            "base_evaluation": cell.base_evaluation,
            "candidate_evaluation": cell.candidate_evaluation,
        }
        correctness, size = weight(found)
        made.append(((VERDICTS.index(row["verdict"]), not correctness, -size), row))
    made.sort(key=lambda one: one[0])
    frame = pd.DataFrame([{**one, "cell": place} for place, (_, one) in enumerate(made)])
    numbers = ("ratio", "percent", "low", "high", "shade", "base_evaluation", "candidate_evaluation")
    return frame.astype(dict.fromkeys(numbers, "float64"))


def spark_metric(metric: str) -> str | None:
    """The time whose course over versions stands beside the rows: the map's own, of the verdict the compiled call's;
    None where the map is about no time."""
    if metric == WORST:
        return next(iter(GATING_TIMES))
    return metric if metric in {**GATING_TIMES, **DIAGNOSTIC_TIMES} else None


def sparks(frame: pd.DataFrame, lines: Mapping[int, Sequence[float]]) -> list[list[int] | None]:
    """Of each row the course of its time in percent of the median of all versions, within ``SPARK_ENDS``; None where
    fewer than 3 versions have a number. ``lines``: by evaluation, oldest version first."""
    found: list[list[int] | None] = []
    for candidate, base in zip(frame["candidate_evaluation"], frame["base_evaluation"], strict=True):
        known = [int(one) for one in (candidate, base) if pd.notna(one)]
        line = next((lines[one] for one in known if one in lines), ())
        if len(line) < LEAST_VERSIONS:
            found.append(None)
            continue
        middle = statistics.median(line)
        low, high = SPARK_ENDS
        # Whole ones: there are thousands of them, and the line is a few pixels high.
        found.append([min(high, max(low, round(100 * one / middle))) for one in line] if middle > 0 else None)
    return found


def unit_of(frame: pd.DataFrame) -> str:
    """The unit of the sides' values where all have the same; empty where not, or for a plain number."""
    units = set(frame["unit"]) - {""}
    return units.pop() if len(units) == 1 and units != {"1"} else ""


def numeric(frame: pd.DataFrame) -> bool:
    """Whether the sides' values are numbers of one unit, so that their columns can be sorted as numbers."""
    values = [*frame["base"].dropna(), *frame["candidate"].dropna()]
    return frame["metric"].nunique() <= 1 and all(isinstance(one, int | float) for one in values)


def _about(cell: CellVerdict, metric: str) -> Finding | None:
    return next((one for one in cell.findings if one.metric == metric), None)


def _failed(pair: Pair) -> str:
    """Which side failed: ``base``, ``candidate``, ``both``; empty for none."""
    sides = (("base", pair.base), ("candidate", pair.candidate))
    named = [word for word, side in sides if side is not None and side.status in FAILED]
    return "both" if len(named) == 2 else "".join(named)


def _places(pairs: Iterable[Pair]) -> Mapping[CellName, int]:
    """Of each cell the place of its bucket in its walk, from 1."""
    seen: dict[tuple[str, str, str], int] = {}
    found = {}
    for pair in pairs:
        walk = (pair.cell.workload, pair.cell.variant, pair.cell.target)
        found[pair.cell] = seen[walk] = seen.get(walk, 0) + 1
    return found


def _labels(cells: Sequence[CellVerdict]) -> Callable[[CellName], str]:
    """How a row is called: its workload, with a variant other than the default, and the target where there are several."""
    targets = len({cell.cell.target for cell in cells}) > 1

    def label(name: CellName) -> str:
        parts = [name.workload, *([name.variant] if name.variant != DEFAULT else [])]
        return " · ".join([*parts, *([name.target] if targets else [])])

    return label
