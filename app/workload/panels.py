"""The parts of the Workload page: what each draws over versions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Final

import pandas as pd
import streamlit as st

from app import builds, charts, drawing, metric_words, state
from app.data import read
from app.vega import Spec
from app.workload import charts as workload_charts
from app.workload import measures
from app.workload.frames import frames
from app.workload.measures import Frames
from app.workload.memory import DEVICE_COMPILE, DEVICE_MEMORY, MEMORY
from app.workload.shown import REQUESTS, Shown
from db.queries import history

TIMES: Final = ("compile.cold_s", "compile.warm_cache_s")
PHASES: Final = (
    *("compile.cold_s", "compile.dynamo_s", "compile.aot_autograd_s", "compile.inductor_s"),
    "compile.toolchain_s",
)
# Part -> what it answers; the first is shown at first.
PARTS: Final = {
    "Times": "Cold and warm-cache compile, eager and compiled calls, and requests where the workload serves some.",
    "Pays off": "What compiling brings: eager over compiled, and after how many calls the cold compile is won back.",
    "Phases": "Where the cold compiles of a bucket went.",
    "Graphs": "Graph breaks (sites) and recompiles of each bucket's walk.",
    "Kernels": "Kernels of each bucket's walk. Fewer are not faster: the times say what is.",
    "Accuracy": "Root mean square error to float64, compiled and eager on one axis.",
    "Memory": "Growth of peak host memory: of a cold compile, of its compilers, and of steady calls; on a GPU the device's too.",
}

# Parts that have something to show of code that never ran.
WITHOUT_A_RUN: Final = ("Graphs", "Kernels")
# What is known of kernels without running them -> title of its chart.
COSTS: Final = {
    "bytes_moved": "bytes moved (Inductor's estimate)",
    "registers": "registers of a thread, at most",
    "spilled": "bytes spilled",
    "refused": "kernels that were refused",
}
# Parts whose charts show replicas, and intervals of their medians.
REPLICAS: Final = ("Times", "Pays off", "Memory")


@dataclass(frozen=True)
class _Panel:
    """A chart on a log axis. ``frames`` and ``domain``, the ends of an axis that it shares, are made when it is drawn
    anew; ``apart``: no line joins versions whose builds of torch differ."""

    title: str
    unit: str
    frames: Callable[[], Frames]
    domain: Callable[[], tuple[float, float]] | None = None
    apart: bool = False


def draw(part: str, shown: Shown) -> float | None:
    """The charts of a part; the evaluation whose mark was clicked."""
    if part not in WITHOUT_A_RUN and (said := builds.differ(shown.builds.items())) is not None:
        # A line of times joins them all the same, and its reader has to know.
        st.caption(f"{said} {builds.APART}" if part == "Memory" else said)
    return _DRAWERS[part](shown)


def _times(shown: Shown) -> float | None:
    panels = _measured(shown, (*TIMES, *shown.calls()))
    rows = [panels[:2], _on_one_axis(panels[2:])]
    if shown.serves():
        rows.append(_on_one_axis(_measured(shown, REQUESTS)))
    return _histories(shown, *rows)


def _pays(shown: Shown) -> float | None:
    panels = [
        _Panel("Speed-up, eager ÷ compiled", "×", partial(_paid, shown, measures.speed_ups)),
        _Panel("Calls to pay off", "calls", partial(_paid, shown, measures.calls_to_pay_off)),
    ]
    return _histories(shown, panels)


def _phases(shown: Shown) -> float | None:
    buckets = [one for one in shown.choices.buckets if one in set(shown.newest["bucket"])]
    bucket = state.pick("Of the shape bucket", "of", buckets, what="shape bucket")
    found = measures.phases(shown.newest, shown.summary(*PHASES), bucket)
    if found.empty:
        st.info("No cold compile of this bucket was timed by phases.")
        return None
    return _chart(
        shown, f"phases of {bucket}", lambda: workload_charts.phases(found, versions=shown.versions)
    )


def _graphs(shown: Shown) -> float | None:
    drawn = [
        (title, measures.counts(shown.newest, column))
        for title, column in (("graph break sites", "graph_breaks"), ("recompiles", "recompiles"))
    ]
    return _counts(shown, drawn)


def _kernels(shown: Shown) -> float | None:
    newest = shown.with_kernels()
    drawn = [
        (title, measures.counts(newest, column, own=True))
        for title, column in (("generated kernels", "generated"), ("extern calls", "extern"))
    ]
    picked = _counts(shown, drawn)
    # Two more where anything of the kind is known, which most targets don't tell.
    known = {column: title for column, title in COSTS.items() if newest[column].notna().any()}
    if not known:
        return picked
    more = [(title, measures.counts(newest, column, own=True)) for column, title in COSTS.items()]
    return _counts(shown, more[:2]) or _counts(shown, more[2:]) or picked


def _accuracy(shown: Shown) -> float | None:
    panels = [
        _Panel(title, "RMSE", partial(_errors, shown, column))
        for title, column in (("Compiled to float64", "rmse_fp64"), ("Eager to float64", "eager_rmse_fp64"))
    ]
    return _histories(shown, _on_one_axis(panels))


def _memory(shown: Shown) -> float | None:
    panels = _measured(shown, MEMORY)
    groups = [panels[:2], _on_one_axis(panels[2:])]
    if shown.memory() != MEMORY:
        groups.append(_on_one_axis(_measured(shown, DEVICE_COMPILE)))
        drawn = _measured(shown, DEVICE_MEMORY[:6])
        groups += [_on_one_axis(drawn[start : start + 2]) for start in range(0, len(drawn), 2)]
    return _histories(shown, *groups)


_DRAWERS: Final[dict[str, Callable[[Shown], float | None]]] = {
    "Times": _times,
    "Pays off": _pays,
    "Phases": _phases,
    "Graphs": _graphs,
    "Kernels": _kernels,
    "Accuracy": _accuracy,
    "Memory": _memory,
}


def _measured(shown: Shown, metrics: Sequence[str]) -> list[_Panel]:
    """A panel a metric."""
    # Streamlit gives a copy for each time it is asked.
    given = cache(lambda: (shown.summary(*metrics), shown.failed()))

    def made(metric: str) -> Frames:
        return Frames(*frames(shown.newest, *given(), metric))

    return [
        _Panel(metric_words.title(one), metric_words.unit(one), partial(made, one), apart=one in MEMORY)
        for one in metrics
    ]


def _paid(shown: Shown, made: Callable[..., Frames]) -> Frames:
    calls = shown.calls()
    return made(shown.newest, shown.summary("compile.cold_s", *calls), *calls)


def _errors(shown: Shown, column: str) -> Frames:
    return measures.errors(shown.newest, read(shown.database, history.accuracies, shown.ids), column)


def _on_one_axis(panels: Sequence[_Panel]) -> list[_Panel]:
    """The panels with one axis for all, so that they can be compared by eye."""
    frames_of = [cache(one.frames) for one in panels]
    shared = cache(lambda: _domain([made() for made in frames_of]))
    return [replace(one, frames=made, domain=shared) for one, made in zip(panels, frames_of, strict=True)]


def _domain(drawn: Sequence[Frames]) -> tuple[float, float]:
    return charts.panel_domain(
        pd.concat([one.points for one in drawn]),
        pd.concat([one.medians for one in drawn]),
        any(len(one.missing) for one in drawn),
    )


def _histories(shown: Shown, *rows: Sequence[_Panel]) -> float | None:
    """Rows of two panels on log axes; the legend stands above the first row."""
    picked = None
    for number, row in enumerate(rows):
        for place, panel in zip(st.columns(2), row, strict=True):
            with place:
                picked = _chart(shown, panel.title, partial(_history, shown, panel, number == 0)) or picked
    return picked


def _history(shown: Shown, panel: _Panel, legend: bool) -> Spec:
    return charts.history(
        *panel.frames(),
        title=panel.title,
        unit=panel.unit,
        versions=shown.versions,
        buckets=shown.choices.buckets,
        legend=legend,
        domain=panel.domain() if panel.domain else None,
        apart=shown.builds if panel.apart else None,
    )


def _counts(shown: Shown, drawn: Sequence[tuple[str, Frames]]) -> float | None:
    picked = None
    for place, (title, one) in zip(st.columns(2), drawn, strict=True):
        chart = partial(
            workload_charts.counts,
            one.medians,
            one.missing,
            title=title,
            versions=shown.versions,
            buckets=shown.choices.buckets,
        )
        with place:
            picked = _chart(shown, title, chart) or picked
    return picked


def _chart(shown: Shown, name: str, build: Callable[[], Spec]) -> float | None:
    about = ("workload", shown.database.url, shown.about, shown.rests_on, name)
    selected = drawing.draw(about, f"chart-{name}", build)
    for selection in charts.PICKED:
        for chosen in selected.get(selection) or []:
            if chosen.get("evaluation") is not None:
                return float(chosen["evaluation"])
    return None
