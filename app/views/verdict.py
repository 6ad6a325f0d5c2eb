"""Verdict: may I move to this torch? The answer, what it rests on, and each finding with a way to its evidence."""

from __future__ import annotations

from typing import Any

import pandas as pd
import streamlit as st

from app import choices, comparing, drawing, links, metric_words, state, tables, targets
from app.comparing import Compared
from app.data import Database
from app.verdict import answer, frames
from app.verdict import chart as verdict_chart
from evaluator.report.sections import Row
from evaluator.verdicts.findings import CellVerdict


def pick_group(groups: dict[str, list[Row]]) -> str:
    """Which findings to list; the URL's, at first the first group that has any."""
    offered = [group for group in frames.GROUPS if group in frames.ALWAYS or groups[group]]
    wanted = state.asked("show")
    if wanted is not None and wanted not in frames.GROUPS:
        state.say_unknown("group of findings", wanted, offered)
    current = wanted if wanted in offered else next((one for one in offered if groups[one]), offered[0])
    picked = st.segmented_control(
        "Findings",
        offered,
        default=current,
        required=True,
        format_func=lambda group: f"{frames.GROUPS[group]} {len(groups[group]):,}",
        key=f"show-{current}",
        label_visibility="collapsed",
    )
    if picked != current:
        st.query_params["show"] = picked
        st.rerun()
    return current


def columns_of(group: str, shown: pd.DataFrame) -> dict[str, Any]:
    """The columns that say something about this group."""
    several = [name for name in ("variant", "target") if shown[name].nunique() > 1]
    doubtful = shown["confirmed"].isin(["unconfirmed", "rerun disagreed"]).any()
    columns = {
        "workload": tables.text("workload", width=160),
        "bucket": tables.text("bucket", width=95),
        **{name: tables.text(name, width=80) for name in several},
        "metric": tables.text("metric", width=110),
    }
    if group != "not_compared":
        columns |= {
            "base": tables.text("base", width=70),
            "candidate": tables.text("candidate", width=75),
            "change": st.column_config.NumberColumn(
                "change", format="%+.1f%%", width=60, help="Candidate against base"
            ),
            "interval": tables.text("95% interval", width=115),
            "verdict": tables.text("verdict", width=150 if doubtful else 95),
        }
    # As wide as its words it would begin where a laptop's window ends.
    rest = 420 if group == "not_compared" else 130 if doubtful else 185
    return columns | {"why": tables.text("why" if group != "regressed" else "likely cause", width=rest)}


def findings(database: Database, found: Compared) -> None:
    """The findings of one group, worst first; a row opens its evidence."""
    target = targets.pick({cell.cell.target for cell in found.verdicts.cells})
    groups = frames.grouped(found.verdicts, target)
    group = pick_group(groups)
    shown = frames.table(groups[group])
    if shown.empty:
        compared = f"{found.verdicts.compared:,} of {found.verdicts.total:,} cells compared"
        st.caption(f"{frames.GROUPS[group]}: nothing, with {compared}. {frames.MEANINGS[group]}")
        return
    row = tables.show(
        shown,
        columns_of(group, shown),
        key=f"findings-{group}",
        rows=8,
        pick="cell",
        csv=f"{group}.csv",
        caption=f"{frames.MEANINGS[group]} Click a row to see why.",
    )
    if row is not None:
        one = groups[group][row]
        open_why(database, one.cell, one.finding.metric)


def open_why(database: Database, cell: CellVerdict, metric: str) -> None:
    """Go to a cell's evidence on both sides, or on the one that has any: to what is said of ``metric``."""
    side = cell.candidate_evaluation if cell.candidate_evaluation is not None else cell.base_evaluation
    if side is not None:
        links.open_why(database, cell.cell, side, cell.base_evaluation, finding=metric)


def forest(database: Database, found: Compared) -> None:
    """Every cell's ratio of one metric, with its interval; a row opens its evidence."""
    metrics = frames.metrics_with_ratios(found.verdicts)
    if not metrics:
        st.caption(frames.no_ratios(found.verdicts))
        return
    left, right = st.columns([1, 3], vertical_alignment="bottom")
    with left:
        metric = choices.pick("Ratios of", "plot", metrics, what="metric")
    frame = frames.forest(found.verdicts, metric)
    state.check("rows", ("true", "false"), what="choice of rows")
    everything = len(frame) > frames.FEW_ROWS and right.toggle(
        f"Draw up to {frames.MOST_ROWS} rows, not the {frames.FEW_ROWS} slowest",
        key="rows",
        bind="query-params",
    )
    drawn = frame.head(frames.MOST_ROWS if everything else frames.FEW_ROWS)
    left_out = f"; the {len(drawn)} slowest are drawn" if len(drawn) < len(frame) else ""
    right.caption(
        f"{frames.how_many(found.verdicts, metric, len(frame))}{left_out}. Point and line: the ratio and its "
        "interval. Grey: too small to matter, or not settled; with a question mark: no rerun has confirmed it. Click a row to see why."
    )
    about = ("verdict", *found.key, metric, len(drawn))
    selected = drawing.draw(
        about, f"forest-{metric}", lambda: verdict_chart.forest(drawn, title=metric_words.title(metric))
    )
    for chosen in selected.get(verdict_chart.PICKED) or []:
        evaluation = chosen.get("evaluation")
        cell = next((one for one in found.verdicts.cells if one.candidate_evaluation == evaluation), None)
        if cell is not None:
            open_why(database, cell, metric)


def page(database: Database) -> None:
    head = st.empty()
    found = comparing.current(database)
    if found is None:
        # Why there is none was said below this place.
        head.title("Verdict", anchor=False)
        return
    answer.box(database, found)
    answer.cards(found)
    findings(database, found)
    forest(database, found)


page(state.database())
