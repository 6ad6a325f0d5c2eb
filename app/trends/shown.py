"""What the Trends page shows, put together: the four frames that it draws and lists. No Streamlit, no database."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd

from app import builds, metric_words, theme
from app.pair.numbers import PHASES
from app.trends import frames as trend_frames
from app.trends import wrong as trend_wrong
from app.trends.axes import EAGER_NAME
from app.trends.charts import TOTALS
from app.trends.frames import EAGER, TOTAL, Same
from app.trends.intervals import with_intervals
from db.queries.trends import Over, Point
from evaluator.verdicts.policy import DIAGNOSTIC_MEMORY, LEAST_REPLICAS


@dataclass(frozen=True)
class Recorded:
    """What is recorded of a metric. ``about``: what each point is; ``at``: the evaluations behind them; ``wide``: the
    metric's medians, a row a cell and a column a point."""

    over: Over
    metric: str
    points: tuple[Point, ...]
    about: pd.DataFrame
    at: pd.DataFrame
    wide: pd.DataFrame

    @property
    def order(self) -> list[str]:
        """The labels of the axis."""
        return list(self.about["label"])

    def label(self, point: str) -> str:
        return str(self.about.loc[self.about["point"] == point, "label"].iloc[0])

    def name(self, point: str) -> str:
        """A point in a sentence, as Markdown."""
        text = theme.literal(self.label(point).partition("\n")[0])
        return text if self.over == "versions" else f"run {text}"


@dataclass(frozen=True)
class Shown:
    """The frames that charts and tables are made of, and over which cells: None where no point has a value."""

    ratios: pd.DataFrame
    same: Same | None
    outcomes: pd.DataFrame
    graphs: pd.DataFrame
    graph_cells: Same | None
    phases: pd.DataFrame
    phase_cells: Same | None
    redefined: int


def metrics_with(metric: str) -> tuple[str, ...]:
    """All that the page reads: the metric first, eager's beside it, the cold compile and its phases."""
    return tuple(dict.fromkeys([metric, *((EAGER[metric],) if metric in EAGER else ()), TOTAL, *PHASES]))


def recorded(over: Over, metric: str, points: Sequence[Point], at: pd.DataFrame) -> Recorded:
    """What was read, with the metric's medians laid out."""
    about, wide = trend_frames.about(points, over), trend_frames.values(at, metric, points)
    return Recorded(over, metric, tuple(points), about, at, wide)


def shown(of: Recorded, reference: str | None) -> Shown:
    """Everything that is drawn, against a reference; None: there is no value of the metric to refer to."""
    same = trend_frames.same_cells(of.wide, reference, of.at) if reference else None
    found = trend_frames.outcomes(of.at, of.points, reference).merge(of.about, on="point")
    totals, graph_cells = graphs(of, reference)
    phase_cells = _followed(of, trend_frames.values(of.at, TOTAL, of.points), reference)
    parts = trend_frames.phases(of.at, phase_cells) if phase_cells else pd.DataFrame()
    if phase_cells and len(parts):
        parts = parts.assign(cells=len(phase_cells.cells)).merge(of.about, on="point")
    return Shown(
        ratios=ratios(of, same) if same else pd.DataFrame(),
        same=same,
        outcomes=found,
        graphs=totals,
        graph_cells=graph_cells,
        phases=parts,
        phase_cells=phase_cells,
        redefined=trend_frames.redefined(of.at, reference) if reference else 0,
    )


def noted(found: pd.DataFrame, same: Same, column: str) -> pd.DataFrame:
    """``found`` with why a point has no value in ``column``, and missing where it has one."""
    notes = {
        point: "nothing to compare: no cell of the reference has a value here"
        if not n
        else f"left out: it has {n} of the reference's {theme.counted(same.total, 'cell')}"
        for point, n in same.shared.items()
        if point not in same.points
    }
    empty = found[column].isna()
    return found.assign(note=found["point"].map(notes).where(empty))


def ratios(of: Recorded, same: Same) -> pd.DataFrame:
    """Ratios of the metric, and of eager's beside it, as ``trend_charts.ratios`` takes them."""
    found = with_intervals(trend_frames.ratios(of.wide, same), of.at, of.metric, same)
    mine = noted(found, same, "ratio").merge(of.about, on="point")
    mine["wrong"] = mine["point"].map(trend_wrong.count(of.at, same))
    mine["note"] = mine["note"].mask(mine["point"] == same.reference, "the reference")
    title = metric_words.title(of.metric)
    if of.metric in DIAGNOSTIC_MEMORY and builds_differ(of):
        # Of host memory a line joins one build only.
        built = {point.key: f"{point.build} build" for point in of.points}
        mine["series"] = [
            f"{series} {built[point]}".strip()
            for series, point in zip(mine["series"], mine["point"], strict=True)
        ]
    mine = mine.assign(name=[series or title for series in mine["series"]])
    eager = EAGER.get(of.metric)
    if eager is None or not same.cells:
        return mine
    beside = trend_frames.values(of.at, eager, of.points).reindex(index=list(same.cells))
    complete = beside[list(same.points)].dropna().index
    if not len(complete):
        return mine
    theirs = replace(same, cells=tuple(int(one) for one in complete))
    rows = trend_frames.ratios(beside, theirs).dropna(subset=["ratio"]).merge(of.about, on="point")
    rows = rows.assign(low=float("nan"), high=float("nan"), note=None, name=EAGER_NAME)
    return pd.concat([mine, rows], ignore_index=True)


def graphs(of: Recorded, reference: str | None) -> tuple[pd.DataFrame, Same | None]:
    """Breaks and recompiles over the cells that have both everywhere, as ``trend_charts.totals`` takes them; None where
    no point has evidence."""
    breaks = trend_frames.counts(of.at, "graph_breaks", of.points)
    recompiles = trend_frames.counts(of.at, "recompiles", of.points).reindex_like(breaks)
    breaks = breaks.where(recompiles.notna())
    same = _followed(of, breaks, reference)
    if same is None:
        return pd.DataFrame(), None
    found = trend_frames.totals({"graph_breaks": breaks, "recompiles": recompiles}, same)
    found = noted(found, same, "total").assign(cells=len(same.cells))
    return found.merge(of.about, on="point"), same


def _followed(of: Recorded, wide: pd.DataFrame, reference: str | None) -> Same | None:
    """The same cells from the reference on, or from the first point with enough where the reference has none."""
    if reference is None or not wide[reference].notna().any():
        reference = trend_frames.first_reference(wide)
    return None if reference is None else trend_frames.same_cells(wide, reference, of.at)


def headline(of: Recorded, shown: Shown, at: str) -> str:
    """The picked point in one line, as Markdown: against the reference, against the point before it, and how it ended."""
    parts = _moves(of, shown.ratios, shown.same, at) if shown.same else []
    ended = shown.outcomes.set_index("point").to_dict("index")[at]
    wrong = f" ({ended['wrong']:.0f} with wrong results)" if ended["wrong"] else ""
    parts.append(f"**{ended['ok']:.0f} of {theme.counted(round(ended['evaluated']), 'cell')} ok**{wrong}")
    if len(shown.graphs):
        totals = shown.graphs[shown.graphs["point"] == at].set_index("what")["total"].dropna()
        parts += [f"{totals[what]:.0f} {word}" for what, word in TOTALS.items() if what in totals]
    runs = {point.key: set(point.runs) for point in of.points}
    together = bool(shown.same and runs[at] & runs[shown.same.reference])
    rest = "" if together or not shown.same else " Measured on different days: a trend, no verdict."
    return f"**{of.name(at)}**: {', '.join(parts)}.{rest}"


def _moves(of: Recorded, ratios: pd.DataFrame, same: Same, at: str) -> list[str]:
    """How the metric of a point stands to the reference's, and to that of the point before it."""
    mine = ratios[ratios["name"] != EAGER_NAME].set_index("point").to_dict("index")
    row, title = mine[at], metric_words.title(of.metric).lower()
    if pd.isna(row["ratio"]):
        return [f"no {title} over the same cells"]
    over = ""
    if row["wrong"] > 0:
        n = theme.counted(len(same.cells), "cell")
        over = f" over {n}, **{row['wrong']:.0f} of them with wrong results**,"
    if at == same.reference:
        return [f"the reference itself{over}".removesuffix(",")]
    change, against = _change(row["ratio"]), f"against {of.name(same.reference)}"
    build = {point.key: point.build for point in of.points}
    memory = of.metric in DIAGNOSTIC_MEMORY
    if memory and build[at] != build[same.reference]:
        against += f", another build of torch ({build[same.reference]} there, {build[at]} here)"
    if pd.notna(row["low"]):
        ends = f"95% interval {_change(row['low'])} to {_change(row['high'])}"
        text = f"{title} **{change}**{over} {against} ({ends})"
    else:
        # As a verdict does: a large figure without an interval would be read as a result.
        least = f"no interval, which takes {LEAST_REPLICAS} replicas of one run a side"
        text = f"{title} **? open** ({change}{over} {against}; {least})"
    kept = list(same.points)
    before = kept[max(0, kept.index(at) - 1)]
    if before in (same.reference, at) or (memory and build[before] != build[at]):
        return [text]
    return [text, f"{_change(row['ratio'] / mine[before]['ratio'])} against {of.name(before)} before it"]


def _change(ratio: float) -> str:
    return f"{100 * (ratio - 1):+.1f}%"


def said(of: Recorded, same: Same | None) -> str:
    """What a panel is about, as Markdown: how many cells, at how many points, and which points are left out."""
    if same is None:
        return "No point has a value."
    word = "torch version" if of.over == "versions" else "point"
    if not same.cells:
        return f"No cell has a value at every {word}."
    text = f"The same **{len(same.cells)} of {theme.counted(same.known, 'cell')}** at "
    text += theme.counted(len(same.points), word)
    if same.left_out:
        text += f"; {theme.listed([of.name(point) for point in same.left_out], 3)} left out"
    return f"{text}."


def builds_differ(of: Recorded) -> str | None:
    """Where the points' builds of torch differ, which their labels leave out, and what that means for the metric; None
    where they have one."""
    # Torch whole, local part and all, unless a point is a run.
    names = (point.torch or "unknown" if of.over == "versions" else f"run {point.key}" for point in of.points)
    found = builds.differ(zip(names, (point.build for point in of.points), strict=True))
    if found is None or of.metric not in DIAGNOSTIC_MEMORY:
        return found
    return f"{found} {builds.APART}"


def wide_phases(found: pd.DataFrame, order: Sequence[str]) -> pd.DataFrame:
    """Phases as a table: a row a point, a column a phase, and their total, in seconds."""
    columns: list[Any] = list(dict.fromkeys(found["phase"]))
    table = found.pivot(index="point", columns="phase", values="seconds").reindex(columns=columns)
    return (
        table.assign(total=table.sum(axis=1, min_count=1))
        .reindex(list(order))
        .rename_axis(None, axis=1)
        .reset_index()
    )
