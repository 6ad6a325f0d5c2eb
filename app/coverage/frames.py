"""From a comparison to the frames of the Coverage page: what was compared, what not, how noisy. Pure: no Streamlit."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import pandas as pd

from app import theme
from db.queries.coverage import NAMES
from evaluator.verdicts.findings import CellVerdict, Verdicts
from evaluator.verdicts.noise import USUAL_REPLICAS, detectable, floor
from evaluator.verdicts.policy import GATING_TIMES, Policy
from evaluator.verdicts.sides import CellName, Pair
from evaluator.verdicts.words import FAILED, REASONS, WRONG, is_codegen

# What is known of a cell, worst gap first: an icon, and what is said. Each cell has one.
STATES: Final[dict[str, tuple[str, str]]] = {
    "neither": ("∅", "on neither side"),
    "base": ("◐", "on the base only"),
    "candidate": ("◑", "on the candidate only"),
    "failed": ("✗", "failed"),
    "other": ("○", "not compared"),
    "compared": ("✓", "compared"),
}
# What a reader may want to see alone; the URL holds these words.
CHOICES: Final = ("all", "missing", "failed", "not compared", "stale", "not calibrated")
_MISSING: Final = frozenset({"neither", "base", "candidate"})
_POLICY: Final = Policy()


def cells(
    verdicts: Verdicts,
    pairs: Sequence[Pair],
    known: pd.DataFrame,
    newer_base: pd.DataFrame,
    newer_candidate: pd.DataFrame,
) -> pd.DataFrame:
    """One row a cell, gaps first: workload, bucket, variant, target, state (a key of ``STATES``), coverage (in words), why,
    base_status, candidate_status (null: not evaluated), stale_base, stale_candidate (a later run of the same torch that
    has the cell, null for none), calibrated (the run, null for none), evaluation (to open: the candidate's, else the
    base's, null for none), base_evaluation, compared (whether it counts as that: one that fails newly does).

    ``known``: cells of any run, as ``db.queries.coverage.known_cells`` gives them; the newer ones as ``newer`` does.
    """
    judged = {cell.cell: cell for cell in verdicts.cells}
    stale = [_runs(newer_base), _runs(newer_candidate)]
    made = [_row(pair, judged[pair.cell], stale) for pair in pairs if pair.cell in judged]
    for row in known.to_dict("records"):
        name = CellName(*(row[part] for part in NAMES))
        if name not in judged:
            made.append(
                {
                    **_named(name),
                    "state": "neither",
                    "compared": False,
                    "why": f"evaluated in run {row['run']}, and in neither side's run",
                }
            )
    columns = [
        *NAMES,
        "state",
        "coverage",
        "why",
        "base_status",
        "candidate_status",
        "stale_base",
        "stale_candidate",
        "calibrated",
        "evaluation",
        "base_evaluation",
        "compared",
    ]
    frame = pd.DataFrame(made, columns=pd.Index(columns))
    numbers = ("stale_base", "stale_candidate", "calibrated", "evaluation", "base_evaluation")
    frame = frame.astype(dict.fromkeys(numbers, "Int64"))
    frame["coverage"] = [" ".join(STATES[state]) for state in frame["state"]]
    rank = {state: place for place, state in enumerate(STATES)}
    return frame.sort_values("state", key=lambda column: column.map(rank), kind="stable", ignore_index=True)


def chosen(frame: pd.DataFrame, choice: str) -> pd.DataFrame:
    """The rows of ``cells`` that one of ``CHOICES`` means."""
    masks = {
        "missing": frame["state"].isin(list(_MISSING)),
        "failed": (frame["state"] == "failed") | wrong(frame),
        "not compared": ~frame["compared"].astype("bool"),
        "stale": stale(frame),
        # What never runs has no times to calibrate.
        "not calibrated": frame["calibrated"].isna()
        & ~frame["state"].isin(list(_MISSING))
        & ~frame["target"].map(is_codegen).astype("bool"),
    }
    return frame[masks[choice]] if choice in masks else frame


def wrong(frame: pd.DataFrame) -> Any:
    """Which rows gave wrong results on a side: these were compared, and are no success."""
    return frame["base_status"].eq(WRONG) | frame["candidate_status"].eq(WRONG)


def stale(frame: pd.DataFrame) -> Any:
    """Which rows have a newer evaluation of a side's torch."""
    return frame["stale_base"].notna() | frame["stale_candidate"].notna()


def noise(pairs: Sequence[Pair]) -> pd.DataFrame:
    """The noise of each gating time of each cell that both sides have: workload, bucket, variant, target, metric, calibrated
    (the run; null with the rest: not calibrated), replicas, between, within (spreads in %), counts_from (%, what a
    difference must exceed with this comparison's replicas) and finds (%, found four times in five with 5 a side)."""
    made = []
    for pair in pairs:
        if pair.base is None or pair.candidate is None:
            continue
        for metric, margin in GATING_TIMES.items():
            series = [side.series.get(metric) for side in (pair.base, pair.candidate)]
            replicas = min((len(one.values) for one in series if one is not None), default=0)
            known = pair.noise.get(metric)
            if not replicas and known is None:
                continue
            row: dict[str, Any] = {**_named(pair.cell), "metric": metric, "counts_from": 100 * margin}
            if known is not None:
                from_noise = floor(known, replicas or USUAL_REPLICAS)
                row |= {
                    "calibrated": known.run,
                    "replicas": len(known.values),
                    "between": 100 * known.between_sd,
                    "within": None if known.within_sd is None else 100 * known.within_sd,
                    "counts_from": 100 * max(_POLICY.margin(metric), from_noise),
                    "finds": 100 * detectable(known.between_sd, USUAL_REPLICAS),
                }
            made.append(row)
    columns = [
        *NAMES,
        "metric",
        "calibrated",
        "replicas",
        "between",
        "within",
        "counts_from",
        "finds",
    ]
    frame = pd.DataFrame(made, columns=pd.Index(columns))
    numbers = ("between", "within", "counts_from", "finds")
    types: dict[str, str] = {
        **dict.fromkeys(numbers, "float64"),
        "calibrated": "Int64",
        "replicas": "Int64",
    }
    frame = frame.astype(types)
    return frame.sort_values(
        "between", ascending=False, na_position="first", kind="stable", ignore_index=True
    )


def moved(verdicts: Verdicts) -> pd.DataFrame:
    """What differs between the two environments: field, base, candidate, blamed (which dependency it counts as)."""
    rows = [(one.field, one.base, one.candidate, one.dependency or "no dependency") for one in verdicts.moved]
    return pd.DataFrame(rows, columns=["field", "base", "candidate", "blamed"], dtype="str")


def dependencies(verdicts: Verdicts) -> tuple[str, ...]:
    """The dependencies that moved, each once."""
    return tuple(dict.fromkeys(one.dependency for one in verdicts.moved if one.dependency))


def imports(verdicts: Verdicts) -> pd.DataFrame:
    """What the environments cost by themselves: metric, base, candidate, unit, verdict (in words), why."""
    rows = [
        (
            one.metric,
            theme.number(one.base) if isinstance(one.base, float) else theme.MISSING,
            theme.number(one.candidate) if isinstance(one.candidate, float) else theme.MISSING,
            one.unit or "",
            theme.verdict_text(one.verdict),
            "; ".join(REASONS.get(code, code) for code in one.reasons),
        )
        for one in verdicts.environment
    ]
    return pd.DataFrame(rows, columns=["metric", "base", "candidate", "unit", "verdict", "why"], dtype="str")


def _row(pair: Pair, cell: CellVerdict, stale: Sequence[Mapping[CellName, int]]) -> dict[str, Any]:
    sides = (pair.base, pair.candidate)
    evaluations = (cell.candidate_evaluation, cell.base_evaluation)
    return {
        **_named(pair.cell),
        "state": _state(pair, cell),
        "why": _why(pair, cell),
        "base_status": None if pair.base is None else pair.base.status or "running",
        "candidate_status": None if pair.candidate is None else pair.candidate.status or "running",
        "stale_base": stale[0].get(pair.cell) if sides[0] else None,
        "stale_candidate": stale[1].get(pair.cell) if sides[1] else None,
        "calibrated": max((one.run for one in pair.noise.values()), default=None),
        "evaluation": next((one for one in evaluations if one is not None), None),
        "base_evaluation": cell.base_evaluation,
        "compared": cell.compared,
    }


def _state(pair: Pair, cell: CellVerdict) -> str:
    if pair.base is None or pair.candidate is None:
        return "base" if pair.candidate is None else "candidate"
    if pair.base.status in FAILED or pair.candidate.status in FAILED:
        return "failed"
    return "compared" if cell.compared else "other"


def _why(pair: Pair, cell: CellVerdict) -> str:
    """Why there is less than a whole comparison; empty where nothing is missing."""
    ending = next((one for one in cell.findings if one.metric == "status"), None)
    if pair.base is None or pair.candidate is None or not cell.compared or _state(pair, cell) == "failed":
        return ending.text if ending is not None and ending.text else REASONS["not_measured"]
    left = [one for one in cell.findings if one.gating and one.verdict == "not_compared"]
    return "; ".join(dict.fromkeys(f"{one.metric}: {one.text}" for one in left))


def _runs(found: pd.DataFrame) -> dict[CellName, int]:
    names: Iterable[tuple[str, ...]] = found[list(NAMES)].itertuples(index=False, name=None)
    return {CellName(*name): int(run) for name, run in zip(names, found["run"], strict=True)}


def _named(name: CellName) -> dict[str, str]:
    return {part: getattr(name, part) for part in NAMES}
