"""Workload: since when, and how sure? One workload over torch versions, a line a shape bucket."""

from __future__ import annotations

from typing import Any, Final

import pandas as pd
import streamlit as st

from app import charts, empty, state, tables, theme
from app.data import Database, read
from db.queries import history, versions

# Cold and warm-cache compile in the first row, eager and compiled calls in the second, on one axis each row of calls.
PANELS: Final = ("compile.cold_s", "compile.warm_cache_s", "eager.wall_ms", "compiled.wall_ms")
NOTHING: Final = "nothing was compiled"
DEVICE_PANELS: Final = ("compile.cold_s", "compile.warm_cache_s", "eager.stream_ms", "compiled.stream_ms")


def frames(
    newest: pd.DataFrame, summary: pd.DataFrame, failed: pd.DataFrame, metric: str
) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """The points, medians and failures of a metric, as ``charts.history`` takes them."""
    where = newest.set_index("evaluation")[["torch", "bucket", "note"]].rename(columns={"torch": "version"})
    mine = summary[summary["metric"] == metric].join(where, on="evaluation")
    medians = mine.rename(columns={"lo": "low", "hi": "high", "replicas": "n"})
    points = mine.explode(["replica_numbers", "replica_medians"]).rename(
        columns={"replica_numbers": "replica", "replica_medians": "value"}
    )
    failures = history.without_value(newest, failed, summary, metric).join(where, on="evaluation")
    failures["failed"] = ~failures["status"].isin(list(theme.NEUTRAL_STATUSES))
    failures["status"] = [theme.status_text(status) for status in failures["status"]]
    if not metric.startswith("compiled."):
        medians["note"] = medians["note"].where(medians["note"] == NOTHING)
    keep = ["version", "bucket", "median", "low", "high", "n", "evaluation", "note"]
    return points[["version", "bucket", "replica", "value"]], medians[keep], failures


def note(row: dict[Any, Any]) -> str | None:
    """What must be known beside an evaluation's numbers; None if there is nothing."""
    if row["nothing_compiled"] is True:
        return NOTHING
    if row["recompile_limit_hit"] is True:
        return "ran eager after the recompile limit"
    return "accuracy failed" if row["status"] == "accuracy_failed" else None


def panels(
    newest: pd.DataFrame, summary: pd.DataFrame, failed: pd.DataFrame, choices: history.Choices
) -> None:
    """Four charts; a click on a mark opens the evaluation behind it."""
    order = versions.in_order(newest["torch"])
    metrics = DEVICE_PANELS if summary["metric"].isin(DEVICE_PANELS[2:]).any() else PANELS
    drawn = {metric: frames(newest, summary, failed, metric) for metric in metrics}
    calls = [drawn[metric] for metric in metrics[2:]]
    shared = charts.panel_domain(
        pd.concat([c[0] for c in calls]), pd.concat([c[1] for c in calls]), any(len(c[2]) for c in calls)
    )
    columns = [*st.columns(2), *st.columns(2)]
    for index, (metric, place) in enumerate(zip(metrics, columns, strict=True)):
        points, medians, failures = drawn[metric]
        chart = charts.history(
            points,
            medians,
            failures,
            title=theme.metric_title(metric),
            unit=theme.metric_unit(metric),
            versions=order,
            buckets=choices.buckets,
            legend=index < 2,
            domain=shared if index >= 2 else None,
        )
        with place:
            event: Any = st.altair_chart(chart, key=f"chart-{metric}", on_select="rerun")
        for name in charts.PICKED:
            for chosen in event.selection.get(name) or []:
                open_evaluation(newest, chosen.get("evaluation"))


def open_evaluation(newest: pd.DataFrame, evaluation: int | None) -> None:
    """Go to the evidence of an evaluation."""
    found = newest.loc[newest["evaluation"] == evaluation, "bucket"]
    if not found.empty:
        kept = {
            key: value for key in ("w", "target", "variant", "machine") if (value := st.query_params.get(key))
        }
        st.switch_page("views/why.py", query_params={**kept, "b": found.iloc[0], "e": str(evaluation)})


def table(newest: pd.DataFrame, summary: pd.DataFrame, choices: history.Choices) -> None:
    """The same numbers as rows, newest version first."""
    wide = summary.pivot(index="evaluation", columns="metric", values="median").reindex(columns=list(PANELS))
    rank = {version: place for place, version in enumerate(versions.in_order(newest["torch"]))}
    place = {bucket: position for position, bucket in enumerate(choices.buckets)}
    shown = newest.join(wide, on="evaluation").assign(
        status=[theme.status_text(s if isinstance(s, str) else "running") for s in newest["status"]],
        version_rank=newest["torch"].map(rank),
        bucket_rank=newest["bucket"].map(place),
    )
    shown = shown.sort_values(["version_rank", "bucket_rank"], ascending=[False, True])
    columns = {
        "torch": tables.text("torch", width=100),
        "bucket": tables.text("bucket", width=125),
        "run": tables.whole("run", width=40),
        "status": tables.status(width=115),
        "compile.cold_s": tables.number("cold s", 2, width=65),
        "compile.warm_cache_s": tables.number("warm s", 2, width=65),
        "eager.wall_ms": tables.number("eager ms", 3, width=75),
        "compiled.wall_ms": tables.number("compiled ms", 3, width=85),
        "graphs": tables.whole("graphs", width=55),
        "graph_breaks": tables.whole("breaks", width=55),
        "recompiles": tables.whole("recomp.", width=60),
        "note": tables.text("note", width=120),
    }
    row = tables.show(
        shown,
        columns,
        key="history",
        rows=12,
        pick="cell",
        csv="workload.csv",
        caption="Click a row to see why.",
    )
    if row is not None:
        open_evaluation(newest, int(shown["evaluation"].iloc[row]))


def page(database: Database) -> None:
    filters = state.filters()
    if filters is None:
        st.title("Workload", anchor=False)
        empty.nothing_evaluated()
        return
    st.title(theme.literal(filters.workload), anchor=False)
    if filters.choices.stands_for:
        st.text(filters.choices.stands_for)
    cell = {"target": filters.target, "variant": filters.variant, "machine": filters.machine}
    found = read(database, history.evaluations, filters.choices.definition, **cell)
    newest = history.newest_of_each_version(found)
    if newest.empty:
        st.info(
            "This workload was not evaluated with this target, variant and machine: choose others on the left."
        )
        return
    newest = newest.assign(note=[note(row) for row in newest.to_dict("records")])
    ids = tuple(int(one) for one in newest["evaluation"])
    summary = read(database, history.summaries, ids, tuple({*PANELS, *DEVICE_PANELS}))
    panels(newest, summary, read(database, history.failed_probes, ids), filters.choices)
    remarks(found, newest, filters.choices)
    table(newest, summary, filters.choices)


def remarks(found: pd.DataFrame, newest: pd.DataFrame, choices: history.Choices) -> None:
    """How to read the charts, and what they leave out."""
    said = [
        "Small: replicas. Line: their median. Band: 95% interval, from 6 replicas on. Log scale. Click a mark."
    ]
    if newest["note"].notna().any():
        said.append("Hollow: not what the title says, see the note.")
    if newest["torch"].nunique() == 1:
        said.append("One torch version only: evaluate another to see a change.")
    if len(found) > len(newest):
        said.append(
            f"Newest run of each version; {theme.counted(len(found) - len(newest), 'earlier evaluation')} left out."
        )
    if choices.older:
        said.append(f"{theme.counted(choices.older, 'evaluation')} of an older definition left out.")
    st.caption(" ".join(said))


page(state.database())
