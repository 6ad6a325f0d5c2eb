"""Runs: what is in the database, and everything one run recorded."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import partial
from typing import Final

import pandas as pd
import streamlit as st

from app import choices, empty, run_tabs, state, tables, theme
from app.data import Database, read
from db.queries import overview

TABS: Final = {
    "Cells": run_tabs.cells,
    "Failures and logs": run_tabs.failures,
    "Environment": run_tabs.environment,
    "Files": run_tabs.files,
    "Samples": run_tabs.samples,
}


def headline(database: Database) -> None:
    """Counts over the whole database, each with what it is made of."""
    head = read(database, overview.headline)
    versions = [version.partition("+")[0] for version in head.versions]
    span = (
        versions[0]
        if len(versions) == 1
        else f"{versions[0]} to {versions[-1]}"
        if versions
        else "none known"
    )
    newest = read(database, overview.status_counts, head.newest) if head.newest else {}
    amiss = [f"{n} {theme.STATUS_WORDS[s or 'running'][1]}" for s, n in newest.items() if s != "ok"]
    cards = [
        ("Runs", theme.count(head.runs), f"last {theme.ago(head.last_started, datetime.now(UTC))}"),
        ("torch versions", theme.count(len(versions)), theme.literal(span)),
        ("Workloads", theme.count(head.workloads), "evaluated"),
        ("Cells", theme.count(head.cells), f"{theme.count(head.evaluations)} evaluations"),
        (
            "Newest run" if not head.running else "Newest run, not finished",
            f"{newest.get('ok', 0)} of {sum(newest.values())} ok",
            theme.listed(amiss, 2) or "every cell is ok",
        ),
    ]
    for column, (label, value, detail) in zip(st.columns([1, 1.2, 1, 1.2, 2]), cards, strict=True):
        column.metric(label, value, delta=detail, delta_color="off", delta_arrow="off", border=True)


def pick_run(listed: pd.DataFrame) -> int:
    """The table of runs; the selected one is the URL's, at first the newest."""
    took = (listed["finished_at"] - listed["started_at"]).dt.total_seconds()
    shown = listed.assign(
        status=[theme.status_text(status) for status in listed["status"]],
        took=[theme.duration(seconds) for seconds in took],
    )
    columns = {
        "run": tables.whole("run", width=45),
        "started_at": tables.moment("started (UTC)", width=130),
        "torch": tables.text("torch", width=115),
        "label": tables.text("label", width=150),
        "status": tables.status("state", width=100),
        "evaluations": tables.whole(
            "evaluations", width=75, help="a cell in one environment: an upgrade has two of each cell"
        ),
        "ok": tables.whole("✓ ok", width=55),
        "not_ok": tables.whole("✗ not ok", width=70),
        **({"pending": tables.whole("… open", width=60)} if listed["pending"].any() else {}),
        "took": tables.text("took", width=90),
        "profile": tables.text("profile", width=80),
    }

    def draw(position: int, key: str) -> int | None:
        return tables.show(
            shown,
            columns,
            key=key,
            rows=6,
            pick="row",
            selected=position,
            csv="runs.csv",
            caption="Newest first. Pick one to see what it recorded.",
        )

    return state.pick_row("run", [int(run) for run in listed["run"]], what="run", draw=draw)


def badges(counts: dict[str | None, int]) -> None:
    """One badge a status of the run: an icon, how many, and the word."""
    colors = {"passed": "green", "failed": "red", "neutral": "gray"}
    with st.container(horizontal=True, gap="small"):
        for status, n in sorted(counts.items(), key=lambda item: -item[1]):
            icon, word = theme.STATUS_WORDS[status or "running"]
            st.badge(f"{icon} {n:,} {word}", color=colors[theme.status_tone(status or "running")])  # type: ignore[arg-type]


def page() -> None:
    database = state.database()
    listed = read(database, overview.runs)
    st.title("Runs", anchor=False)
    if listed.empty:
        empty.nothing_evaluated(database)
        return
    headline(database)
    run = pick_run(listed)
    row = listed.loc[listed["run"] == run].iloc[0]
    label = f" · {theme.literal(row['label'])}" if isinstance(row["label"], str) else ""
    st.subheader(f"Run {run}{label}", anchor=False)
    badges(read(database, overview.status_counts, run))
    choices.tabs({name: partial(draw, database, run) for name, draw in TABS.items()})


page()
