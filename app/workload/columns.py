"""The tables of the Workload page: the numbers of each part as rows."""

from __future__ import annotations

from typing import Any

import pandas as pd

from app import metric_words, tables
from app.data import read
from app.workload import measures
from app.workload.panels import COSTS, PHASES
from app.workload.shown import Shown
from db.queries import history
from evaluator.verdicts.words import accuracy_text


def columns(part: str, shown: Shown) -> tuple[pd.DataFrame, dict[str, Any]]:
    """What the table of a part shows beside version, bucket, run, status and note: the frame, and its columns."""
    if part == "Times":
        eager, compiled = shown.calls()
        made = {
            "compile.cold_s": tables.number("cold s", 2, width=65),
            "compile.warm_cache_s": tables.number("warm s", 2, width=65),
            eager: tables.significant("eager ms", 4, width=75),
            compiled: tables.significant("compiled ms", 4, width=85),
        }
    elif part == "Pays off":
        return _paid(shown)
    elif part in ("Phases", "Memory"):
        names = PHASES if part == "Phases" else shown.memory()
        made = {
            name: tables.significant(
                f"{metric_words.title(name)} {metric_words.unit(name)}".removesuffix(" 1"),
                4,
                width=110,
                help=metric_words.includes(name),
            )
            for name in names
        }
    elif part == "Accuracy":
        found = read(shown.database, history.accuracies, shown.ids)
        found["verdict"] = [
            # A column of nothing but missing texts may hold NaN.
            accuracy_text(verdict, reason if isinstance(reason, str) else None)
            for verdict, reason in zip(found["verdict"], found["reason"], strict=True)
        ]
        found = found.drop(columns="reason")
        return shown.newest.merge(found, on="evaluation", how="left"), {
            "verdict": tables.text("accuracy", width=110),
            "rmse_fp64": tables.significant("compiled RMSE", 3, width=110),
            "eager_rmse_fp64": tables.significant("eager RMSE", 3, width=110),
        }
    else:
        frame = shown.with_kernels() if part == "Kernels" else shown.newest
        own = [name for name in COSTS if name in frame and frame[name].notna().any()]
        counted = {
            "Graphs": ("graphs", "graph_breaks", "recompiles"),
            "Kernels": ("generated", "extern", *own),
        }[part]
        return frame, {name: tables.whole(metric_words.title(name).lower(), width=90) for name in counted}
    wide = shown.summary(*made).pivot(index="evaluation", columns="metric", values="median")
    return shown.newest.join(wide.reindex(columns=list(made)), on="evaluation"), made


def _paid(shown: Shown) -> tuple[pd.DataFrame, dict[str, Any]]:
    eager, compiled = shown.calls()
    summary = shown.summary("compile.cold_s", eager, compiled)
    made = {
        "speed_up": measures.speed_ups(shown.newest, summary, eager, compiled),
        "pays_off": measures.calls_to_pay_off(shown.newest, summary, eager, compiled),
    }
    frame = shown.newest
    for name, one in made.items():
        values = one.medians.set_index("evaluation")["median"].astype("float64").rename(name)
        frame = frame.join(values, on="evaluation")
    # The number stays a column of its own, for those who save it.
    frame = frame.assign(calls=measures.calls_said(frame["evaluation"], made["pays_off"]))
    return frame, {
        "speed_up": tables.significant("speed-up ×", 3, width=90),
        "calls": tables.text("calls to pay off", width=120, help="never: no faster than eager"),
    }
