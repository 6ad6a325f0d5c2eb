"""From the queries' frames to those that the Trends page draws and lists. Pure: no Streamlit, no database.

Every number about several points is made of one set of cells that has it at all of them: cells that come and go would
move it by themselves. A point that shares too few cells with the reference is left out of the set, and said.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pandas as pd

from app import metric_words, theme
from app.pair.numbers import PHASES, REST
from db.queries.trends import Over, Point
from evaluator.verdicts.policy import DIAGNOSTIC_MEMORY, DIAGNOSTIC_TIMES, GATING_TIMES
from evaluator.verdicts.words import WRONG

TOTAL: Final = "compile.cold_s"
# What can be followed, in the order in which it is offered.
METRICS: Final = (*GATING_TIMES, *DIAGNOSTIC_TIMES, "walk.first_call_s", *PHASES, *DIAGNOSTIC_MEMORY)
# Eager's time of the same cells, drawn beside the compiled code's: where both move, the compiler is not why.
EAGER: Final[Mapping[str, str]] = {
    "compiled.wall_ms": "eager.wall_ms",
    "compiled.stream_ms": "eager.stream_ms",
}
# A point with less of the reference's cells than this would leave too little of the others to follow.
LEAST_SHARE: Final = 0.5
# Statuses under which compiled code ran to its end, so that its counts are complete.
COMPILED: Final = ("ok", "accuracy_failed", "not_comparable")
# One line for builds that are each measured once.
NIGHTLY: Final = "nightly builds"
NAMES: Final = ("workload", "bucket", "variant")
# Not a workload's failure, and no pass: nothing was run.
NOT_RUN: Final = ("unsupported", "skipped")


@dataclass(frozen=True)
class Same:
    """The cells that have a value at every one of ``points`` (in order), the reference among them. ``shared``: how many
    of the reference's ``total`` cells each point has, those left out as well; ``known``: how many cells have a value at
    any point. Of a cell that is there in several definitions the newest counts, once."""

    reference: str
    points: tuple[str, ...]
    cells: tuple[int, ...]
    shared: Mapping[str, int]
    total: int
    known: int

    @property
    def left_out(self) -> tuple[str, ...]:
        return tuple(point for point in self.shared if point not in self.points)


def about(points: Sequence[Point], over: Over) -> pd.DataFrame:
    """What each point is, in order: point (its key), label (on the axis), torch, started (text, UTC), runs (text),
    series: what a line joins, all versions or the runs of one version; nightly builds are one line."""
    short = [(point.torch or "unknown").partition("+")[0] for point in points]
    whole = over == "runs" or len(set(short)) == len(short)
    torches = short if whole else [point.torch or "unknown" for point in points]
    rows = [
        {
            "point": point.key,
            "label": torch if over == "versions" else f"{point.key}\n{point.started_at:%m-%d}",
            "torch": point.torch or "unknown",
            "started": f"{point.started_at:%Y-%m-%d %H:%M}",
            "runs": ", ".join(str(run) for run in point.runs),
            "series": "" if over == "versions" else NIGHTLY if ".dev" in torch else torch,
        }
        for point, torch in zip(points, torches, strict=True)
    ]
    return pd.DataFrame(rows, columns=["point", "label", "torch", "started", "runs", "series"])


def values(at: pd.DataFrame, metric: str, points: Sequence[Point]) -> pd.DataFrame:
    """The medians of a metric, a row a cell and a column a point (all of them, in order); missing where there is none.

    As in verdicts, a compiled call's time where nothing was compiled, or where code ran eager, is none.
    """
    numbers = pd.to_numeric(at[metric]) > 0
    if metric in EAGER:
        numbers &= ~at["nothing_compiled"].eq(True) & ~at["ran_eager"].isin(["some", "all"])
    return _wide(at[numbers], metric, points)


def counts(at: pd.DataFrame, fact: str, points: Sequence[Point]) -> pd.DataFrame:
    """A count of the walk, a row a cell and a column a point; missing where it is no evidence about compiled code: the
    cell failed, nothing was compiled, or all of it ran eager."""
    compiled = at["status"].isin(list(COMPILED)) & at[fact].notna()
    compiled &= ~at["nothing_compiled"].eq(True) & at["ran_eager"].ne("all")
    return _wide(at[compiled], fact, points)


def _wide(found: pd.DataFrame, column: str, points: Sequence[Point]) -> pd.DataFrame:
    keys = [point.key for point in points]
    cells, rows = np.unique(found["cell"].to_numpy("int64"), return_inverse=True)
    wide = np.full((len(cells), len(keys)), math.nan)
    wide[rows, pd.Index(keys).get_indexer(pd.Index(found["point"]))] = found[column].to_numpy(
        "float64", na_value=math.nan
    )
    return pd.DataFrame(wide, pd.Index(cells, name="cell"), pd.Index(keys, name="point"))


def first_reference(wide: pd.DataFrame) -> str | None:
    """The first point that has at least half as many cells as any: what the others are compared to unless told."""
    n = wide.notna().sum()
    large = n[n >= max(1.0, LEAST_SHARE * n.max())] if len(n) else n
    return str(large.index[0]) if len(large) else None


def same_cells(wide: pd.DataFrame, reference: str, at: pd.DataFrame) -> Same:
    """The cells to follow from the reference on: see ``Same``. There may be none. ``at`` names the cells."""
    some = wide[wide.notna().any(axis=1)]
    name = names_of(at).loc[some.index]
    mine = some[some[reference].notna()]
    # Of a cell that is there in several definitions one value is enough.
    there = mine.notna().groupby(name).any() if name.duplicated().any() else mine.notna()
    shared = {str(key): int(n) for key, n in there.sum().items()}
    total = shared[reference]
    points = tuple(key for key, n in shared.items() if n and n >= LEAST_SHARE * total)
    cells = mine[list(points)].dropna().index.sort_values()
    newest = name.loc[cells].drop_duplicates(keep="last").index
    return Same(reference, points, tuple(int(cell) for cell in newest), shared, total, int(name.nunique()))


def names_of(at: pd.DataFrame) -> pd.Series[int]:
    """By cell a number for what it is called: two definitions of one cell have the same."""
    cells = at.drop_duplicates("cell")
    known: dict[tuple[str, ...], int] = {}
    named = zip(*(cells[name] for name in NAMES), strict=True)
    return pd.Series([known.setdefault(one, len(known)) for one in named], index=pd.Index(cells["cell"]))


def redefined(at: pd.DataFrame, reference: str) -> int:
    """How many cells of the reference are there in another definition only, at some other point."""
    name = names_of(at)
    if not name.duplicated().any():
        return 0
    at = at[["cell", "point"]].assign(name=at["cell"].map(name))
    mine = at.loc[at["point"] == reference, ["name", "cell"]]
    both = at[at["point"] != reference].merge(mine, on="name", suffixes=("", "_mine"))
    same = (both["cell"] == both["cell_mine"]).groupby([both["name"], both["point"]]).any()
    return int((~same).groupby(level="name").any().sum())


def ratios(wide: pd.DataFrame, same: Same) -> pd.DataFrame:
    """A row for every point: point, ratio (geometric mean over the same cells of value / the reference's; missing where
    the point is left out), least and most (the middle 80% of the cells' ratios), cells, own (the mean over every cell
    shared with the reference), own_cells."""
    logs = wide.where(wide[same.reference].notna()).apply(np.log)
    logs = logs.sub(logs[same.reference], axis=0)
    common = logs.loc[list(same.cells), list(same.points)].reindex(columns=wide.columns)
    return pd.DataFrame(
        {
            "point": list(wide.columns),
            "ratio": np.exp(common.mean()).to_numpy(),
            "least": np.exp(common.quantile(0.1)).to_numpy(),
            "most": np.exp(common.quantile(0.9)).to_numpy(),
            "cells": common.notna().sum().to_numpy(),
            "own": np.exp(logs.mean()).to_numpy(),
            "own_cells": logs.notna().sum().to_numpy(),
        }
    )


def outcomes(at: pd.DataFrame, points: Sequence[Point], reference: str | None) -> pd.DataFrame:
    """A row for every point: point, ok, wrong (ran, with wrong results), failed, unclear (can't be judged), evaluated (these
    four), not_run (unsupported or skipped), open (not finished), rate (ok / evaluated); same and same_ok: of the cells that were evaluated at every
    point followed from the reference, missing at a point that is left out."""
    # At a version an older definition may stand beside the newest: the cell is one all the same.
    at = at[["cell", "point", "status", *NAMES]].assign(name=at["cell"].map(names_of(at)))
    at = at.drop_duplicates(["point", "name"], keep="last")
    known = at["status"].notna()
    tone = {status: theme.status_tone(status) for status in at.loc[known, "status"].unique()} | {WRONG: WRONG}
    groups = at.assign(
        ok=at["status"].eq("ok"),
        wrong=at["status"].eq(WRONG),
        failed=[tone.get(status) == "failed" for status in at["status"]],
        unclear=at["status"].eq("not_comparable"),
        not_run=at["status"].isin(NOT_RUN),
        open=~known,
    )
    names = ["ok", "wrong", "failed", "unclear", "not_run", "open"]
    shown = groups.groupby("point")[names].sum().reindex([point.key for point in points])
    shown["evaluated"] = shown[["ok", "wrong", "failed", "unclear"]].sum(axis=1)
    shown["rate"] = shown["ok"] / shown["evaluated"].where(shown["evaluated"] > 0)
    ran = groups[known & ~groups["not_run"]]
    wide = _wide(ran.assign(ok=ran["ok"].astype("float64")), "ok", points)
    shown["same"] = shown["same_ok"] = math.nan
    if reference is not None and wide[reference].notna().any():
        same = same_cells(wide, reference, at)
        kept = list(same.points)
        shown.loc[kept, "same"] = float(len(same.cells))
        shown.loc[kept, "same_ok"] = wide.loc[list(same.cells), kept].sum()
    return shown.reset_index()


def totals(wide: Mapping[str, pd.DataFrame], same: Same) -> pd.DataFrame:
    """Counts added up over the same cells: point, what (the key in ``wide``), total (missing where left out)."""
    rows: list[dict[str, Any]] = []
    for what, table in wide.items():
        sums = table.loc[list(same.cells), list(same.points)].sum().reindex(table.columns)
        rows += [{"point": point, "what": what, "total": total} for point, total in sums.items()]
    return pd.DataFrame(rows, columns=["point", "what", "total"])


def phases(at: pd.DataFrame, same: Same) -> pd.DataFrame:
    """Where the cold compiles of the same cells went: point, phase (its title), seconds, in the order to stack. What no
    phase says, and the phases that a torch version does not report, are the rest."""
    metrics = [*PHASES, TOTAL]
    mine = at[at["cell"].isin(list(same.cells))]
    numbers = mine[metrics].apply(pd.to_numeric)
    sums = numbers.groupby(mine["point"]).sum(min_count=1)
    rows: list[dict[str, Any]] = []
    for point in same.points if same.cells else ():
        row = sums.loc[point]
        parts = [(metric_words.title(metric), row[metric]) for metric in PHASES if pd.notna(row[metric])]
        # Medians of parts need not add up to the median of the whole; a negative rest is no phase.
        parts.append((REST, max(0.0, row[TOTAL] - sum(value for _, value in parts))))
        rows += [{"point": point, "phase": phase, "seconds": value} for phase, value in parts]
    return pd.DataFrame(rows, columns=["point", "phase", "seconds"])


def moved(wide: pd.DataFrame, point: str, reference: str) -> pd.DataFrame:
    """The cells that a point shares with the reference, the worst first: cell, base, value, ratio."""
    both = wide[[reference, point]].dropna() if point != reference else wide[[reference]].dropna()
    found = pd.DataFrame(
        {"cell": both.index, "base": both[reference].to_numpy(), "value": both[point].to_numpy()}
    )
    found["ratio"] = found["value"] / found["base"]
    return found.sort_values("ratio", ascending=False, kind="stable", ignore_index=True)
