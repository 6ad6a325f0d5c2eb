"""The tables below the charts of Trends, one function each: what a chart draws as numbers, and the cells behind a point."""

from __future__ import annotations

from typing import Any

import pandas as pd
import streamlit as st

from app import links, metric_words, tables, theme
from app.data import Database
from app.trends import frames as trend_frames
from app.trends import wrong as trend_wrong
from app.trends.axes import EAGER_NAME
from app.trends.frames import Same
from app.trends.shown import Recorded, wide_phases
from db.queries.trends import Scope
from evaluator.verdicts.sides import CellName


def _heads(of: Recorded) -> dict[str, Any]:
    """The columns that say which point a row is."""
    torch = tables.text("torch", width=130)
    measured = tables.text("measured (UTC)", width=130)
    if of.over == "versions":
        return {"torch": torch, "started": measured, "runs": tables.text("runs", width=80)}
    return {"point": tables.text("run", width=70), "started": measured, "torch": torch}


def _listed(of: Recorded, found: pd.DataFrame) -> pd.DataFrame:
    """The newest point first, with what it is."""
    found = found.drop(columns=[name for name in of.about.columns if name in found and name != "point"])
    joined = of.about.merge(found, on="point", how="left")
    return joined.iloc[::-1].reset_index(drop=True)


def _show(
    of: Recorded, shown: pd.DataFrame, columns: dict[str, Any], name: str, at: str, caption: str
) -> str | None:
    """Draw the rows; the point whose row is clicked."""
    row = tables.show(
        shown,
        {**_heads(of), **columns},
        key=f"trend-{name}-{at}",
        rows=10,
        pick="cell",
        csv=f"trend-{name}.csv",
        caption=caption,
    )
    return None if row is None else str(shown["point"].iloc[row])


def ratios(of: Recorded, found: pd.DataFrame, at: str) -> str | None:
    """The geometric means, eager's beside them where they were drawn."""
    if found.empty:
        st.info("No cell has a number for this metric.")
        return None
    keep = ["point", "ratio", "low", "high", "least", "most", "cells", "wrong", "own", "own_cells", "note"]
    shown = found.loc[found["name"] != EAGER_NAME, keep]
    eager = found[found["name"] == EAGER_NAME].set_index("point")["ratio"]
    if len(eager):
        shown = shown.assign(eager=shown["point"].map(eager))
    columns = {
        "ratio": tables.number("ratio", 3, width=65, help="geometric mean over the same cells"),
        "low": tables.number("95% from", 3, width=75, help="over replicas of one run; not between days"),
        "high": tables.number("to", 3, width=65),
        **({"eager": tables.number("eager", 3, width=65)} if len(eager) else {}),
        "least": tables.number("10th percentile", 3, width=110, help="of the cells' own ratios"),
        "most": tables.number("90th", 3, width=65),
        "cells": tables.whole("cells", width=55),
        **({"wrong": _wrong_of_them()} if (shown["wrong"] > 0).any() else {}),
        "own": tables.number(
            "all shared", 3, width=85, help="the mean over every cell shared with the reference"
        ),
        "own_cells": tables.whole("of cells", width=65),
        "note": tables.text("note", width=300),
    }
    caption = "Ratio to the reference over the same cells. Click a row to see its cells."
    return _show(of, _listed(of, shown), columns, "ratios", at, caption)


def _wrong_of_them() -> Any:
    return tables.whole("≠ wrong", width=65, help="of them with wrong results, there or at the reference")


def outcomes(of: Recorded, found: pd.DataFrame, at: str) -> str | None:
    """How evaluations ended."""
    shown = _listed(of, found).assign(percent=lambda rows: 100 * rows["rate"])
    columns = {
        "percent": st.column_config.NumberColumn(
            "ok", format="%.1f%%", width=65, help="of the cells evaluated"
        ),
        "ok": tables.whole("✓ ok", width=55),
        "wrong": tables.whole("≠ wrong", width=65, help="it ran, and its results are wrong"),
        "failed": tables.whole("✗ failed", width=65),
        "unclear": tables.whole("? unclear", width=75, help="its result can't be judged"),
        "evaluated": tables.whole("evaluated", width=75),
        "not_run": tables.whole("○ not run", width=75, help="unsupported or skipped: not part of the rate"),
        "open": tables.whole("… open", width=65),
        "same_ok": tables.whole(
            "same cells ok", width=95, help="of the cells that were evaluated at every point"
        ),
        "same": tables.whole("of", width=45),
    }
    caption = "Every cell that was evaluated there; its newest definition counts."
    return _show(of, shown, columns, "outcomes", at, caption)


def graphs(of: Recorded, found: pd.DataFrame, at: str) -> str | None:
    """Breaks and recompiles."""
    if found.empty:
        st.info("No walk left evidence of breaks or recompiles.")
        return None
    totals = found.pivot(index="point", columns="what", values="total")
    per_point = found.drop_duplicates("point")[["point", "cells", "note"]].set_index("point")
    shown = _listed(of, totals.join(per_point).reset_index())
    shown["cells"] = shown["cells"].where(shown["graph_breaks"].notna())
    columns = {
        "graph_breaks": tables.whole("graph breaks", width=95, help="distinct sites, in each bucket"),
        "recompiles": tables.whole("recompiles", width=85),
        "cells": tables.whole("cells", width=55),
        "note": tables.text("note", width=320),
    }
    caption = "Totals over the same cells: those that compiled at every point."
    return _show(of, shown, columns, "graphs", at, caption)


def phases(of: Recorded, found: pd.DataFrame, at: str) -> str | None:
    """Compile phases in seconds."""
    if found.empty:
        st.info("No cell has a cold compile at every point.")
        return None
    wide = wide_phases(found, list(of.about["point"]))
    shown = _listed(of, wide)
    names = [name for name in wide.columns if name != "point"]
    columns = {name: tables.number(f"{name} (s)", 1, width=125) for name in names}
    caption = "Medians of cold compiles, added up over the same cells."
    return _show(of, shown, columns, "phases", at, caption)


def cells(database: Database, scope: Scope, of: Recorded, same: Same | None, at: str) -> None:
    """Every cell that the picked point shares with the reference, the most above it first; a click opens its evidence."""
    if same is None:
        st.info("No cell has a number for this metric.")
        return
    if at == same.reference:
        st.info("This is the reference itself: pick another point, in a chart or a table, to see its cells.")
        return
    moved = trend_frames.moved(of.wide, at, same.reference)
    if moved.empty:
        st.info("This point shares no cell with the reference that has a value at both.")
        return
    here = of.at[of.at["point"] == at]
    names = here[["cell", *trend_frames.NAMES, "evaluation", "run", "status"]]
    wrong = trend_wrong.where(of.at, at, same.reference)
    shown = moved.merge(names, on="cell").assign(
        results=lambda rows: [wrong.get(cell, "") for cell in rows["cell"]],
        followed=lambda rows: [theme.yes_no(cell in set(same.cells)) for cell in rows["cell"]],
        percent=lambda rows: 100 * (rows["ratio"] - 1),
        status=lambda rows: [theme.status_text(status) for status in rows["status"]],
    )
    unit = metric_words.unit(of.metric)
    columns = {
        "workload": tables.text("workload", width=170),
        "bucket": tables.text("bucket", width=130),
        "variant": tables.text("variant", width=90),
        "base": tables.significant(f"reference {unit}", 4, width=105),
        "value": tables.significant(f"here {unit}", 4, width=95),
        "percent": st.column_config.NumberColumn("change", format="%+.1f%%", width=75),
        **({"results": tables.text("results", width=170)} if shown["results"].any() else {}),
        "followed": tables.text(
            "in the mean", width=85, help="it has a value at every point that is followed"
        ),
        "status": tables.status(width=115),
        "run": tables.whole("run", width=45),
    }
    row = tables.show(
        shown,
        columns,
        key=f"trend-cells-{at}",
        rows=14,
        pick="cell",
        csv="trend-cells.csv",
        caption=f"Cells of {of.name(at)} against {of.name(same.reference)}, most above it first: a trend, no verdict. "
        "Click a row to see why.",
    )
    if row is not None:
        one = shown.iloc[row]
        cell = CellName(one["workload"], one["bucket"], one["variant"], scope.target)
        links.open_why(database, cell, int(one["evaluation"]), machine=scope.machine)
