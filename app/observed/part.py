"""The part of Why that shows what was seen to run: of one evaluation, or of both sides of a comparison."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Final

import pandas as pd
import streamlit as st

from app import links, tables, theme
from app.data import Database, artifact, read
from app.observed import frames, words
from app.timeline.model import said
from db.queries import observed
from db.queries.observed import ObservedRecord
from db.queries.why import EvaluationRecord

_SUMMARY: Final = {
    "calls": ("calls", 48, "that the profiled batch has"),
    "launches": ("launches", 68, "of kernels, a call; copies and sets are none"),
    "copies": ("copies", 55, "a call"),
    "sets": ("sets", 45, "a call"),
    "host": (
        "host, ms",
        72,
        "host region of the whole batch: from its start to the return of its last launch, under the profiler",
    ),
    "stream": (
        "stream, ms",
        82,
        "stream interval of the whole batch: from its first work's start to the last one's end",
    ),
    "busy": ("busy", 50, "share of the stream interval in which the device does something"),
    "idle_host": (
        "waits for host",
        95,
        "share of the stream interval in gaps before a launch that had not returned yet",
    ),
    "idle_device": ("other gaps", 78, "share of the stream interval in gaps after the launch had returned"),
    "bound": ("bound by", 68, "host: above a tenth of the stream interval in gaps of the host's"),
    "first_kernel": ("to first kernel, ms", 120, "from the start of the batch"),
}
# What a batch costs; without any of it a row says nothing.
_COSTS: Final = ("launches", "stream", "host")


def alone(database: Database, record: EvaluationRecord) -> None:
    """What ran, of one evaluation."""
    st.subheader("What was seen to run", anchor=False)
    found = read(database, observed.observed, record.id)
    if found is None:
        st.info(words.NOTHING)
        return
    held = frames.held(found, record.kernels)
    said(words.sentences(found, held))
    key = f"observed-{record.id}"
    _summary([(None, found)], key)
    shown = frames.kernels(found, held)
    if not shown.empty:
        _kernels(shown, key)
    _sync_points([(None, found)], key)
    _operators(found, key)
    _traces(database, [(None, found)], key)


def beside(database: Database, sides: Sequence[tuple[str, EvaluationRecord]], key: str) -> None:
    """What ran on both sides of a comparison. ``sides``: the base's word and record, then the candidate's."""
    st.subheader("What was seen to run", anchor=False)
    found = [(word, record, read(database, observed.observed, record.id)) for word, record in sides]
    if not any(one for _, _, one in found):
        st.info(words.NOTHING)
        return
    for column, (word, record, one) in zip(st.columns(len(found)), found, strict=True):
        with column:
            st.caption(word)
            if one is None:
                st.info(words.NOTHING)
            else:
                said(words.sentences(one, frames.held(one, record.kernels)))
    key = f"observed-{key}"
    known = [(word, one) for word, _, one in found if one is not None]
    _summary(known, key)
    if len(known) == len(found):
        shown = frames.beside(known[0][1], known[1][1])
        if not shown.empty:
            _beside(shown, key)
    _sync_points(known, key)
    _traces(database, known, key)


def _summary(sides: Sequence[frames.Side], key: str) -> None:
    found = frames.summary(sides)
    if not found[list(_COSTS)].notna().any(axis=None):
        return
    columns = {"side": tables.text("side", width=80), "mode": tables.text("mode", width=80)}
    for name, (label, width, help) in _SUMMARY.items():
        if name in ("busy", "idle_host", "idle_device", "bound"):
            columns[name] = tables.text(label, width=width, help=help)
        elif name in ("host", "stream", "first_kernel"):
            columns[name] = tables.number(label, 3, width=width, help=help)
        else:
            columns[name] = tables.significant(label, 4, width=width, help=help)
    tables.show(
        found,
        tables.known(found, columns),
        key=f"{key}-summary",
        rows=4,
        csv="profiled-batches.csv",
        caption="One profiled batch a mode, in a process of its own. The profiler slows the host: gaps are longer than without it.",
    )


def _kernels(shown: pd.DataFrame, key: str) -> None:
    columns = {
        "mode": tables.text("mode", width=80),
        "kind": tables.text("kind", width=60),
        "name": tables.text("name", width=320),
        "from": tables.text("from", width=75, help="by its name alone"),
        "launches": tables.significant("launches a call", 4, width=98),
        "time": tables.number(
            "device, µs a call", 1, width=108, help="under the profiler, all launches together"
        ),
        "registers": tables.whole("registers", width=75, help="of a thread, as launched"),
        "spills": tables.whole(
            "spills",
            width=55,
            help="local memory of a thread in 4-byte words, by Triton; of generated kernels alone",
        ),
        "occupancy": tables.number("occupancy, %", 0, width=95, help="the profiler's estimate"),
        "generated": tables.text(
            "generated", width=80, help="whether the walk's code has a kernel of this name"
        ),
    }
    tables.show(
        shown,
        tables.known(shown, columns),
        key=f"{key}-kernels",
        rows=8,
        csv="observed-kernels.csv",
        caption=f"What the device did, by name. {words.NOT_FASTER}",
    )


def _beside(shown: pd.DataFrame, key: str) -> None:
    columns = {
        "mode": tables.text("mode", width=80),
        "kind": tables.text("kind", width=60),
        "change": tables.text("change", width=85, help="of the launches a call"),
        "name": tables.text("name", width=265),
        "base_launches": tables.significant("launches, base", 4, width=98, help="a call"),
        "launches": tables.significant("candidate", 4, width=72, help="launches a call"),
        "base_time": tables.number("device µs, base", 1, width=102, help="a call, under the profiler"),
        "time": tables.number("candidate", 1, width=72, help="device time a call in µs, under the profiler"),
        "registers": tables.text("registers", width=70, help="of a thread, as launched"),
        "spills": tables.text("spills", width=50, help="local memory of a thread in 4-byte words, by Triton"),
    }
    tables.show(
        shown,
        tables.known(shown, columns),
        key=f"{key}-beside",
        rows=10,
        csv="observed-kernels-compared.csv",
        caption=f"What the device did, by name. Two profiled batches are no timing. {words.NOT_FASTER}",
    )


def _sync_points(sides: Sequence[frames.Side], key: str) -> None:
    found = frames.sync_points(sides)
    if found.empty:
        return
    columns = {
        **({"side": tables.text("side", width=80)} if found["side"].notna().any() else {}),
        "mode": tables.text("mode", width=80),
        "where": tables.text("file:line", width=230),
        "function": tables.text("function", width=130),
        "times": tables.whole("times", width=55, help="in one call"),
        "through": tables.text(
            "through", width=260, help="the line of torch or of generated code that waits"
        ),
    }
    tables.show(
        found,
        columns,
        key=f"{key}-waits",
        rows=6,
        csv="host-waits.csv",
        caption="Where the host is made to wait for the device, by torch's sync debugging, which does not know all such places.",
    )


def _operators(record: ObservedRecord, key: str) -> None:
    found = frames.operators(record)
    if found.empty:
        return
    with st.expander("Operators on the host"):
        columns = {
            "mode": tables.text("mode", width=80),
            "name": tables.text("name", width=380),
            "calls": tables.significant("calls a call", 4, width=90, help="of the workload"),
            "time": tables.number(
                "host, µs a call", 1, width=110, help="with what it calls, under the profiler"
            ),
            "kernels": tables.significant("kernels a call", 4, width=100, help="launched from inside it"),
        }
        tables.show(
            found,
            tables.known(found, columns),
            key=f"{key}-operators",
            rows=10,
            csv="operators.csv",
            caption="One operator is not one kernel, and one inside another counts in both.",
        )


def _traces(database: Database, sides: Sequence[frames.Side], key: str) -> None:
    """A way to Timeline, and the file for Perfetto, for each trace that is kept."""
    kept = frames.summary(sides)
    kept = kept[[isinstance(one, str) for one in kept["trace"]]]
    if kept.empty:
        return
    with st.container(horizontal=True, vertical_alignment="center"):
        for row in kept.to_dict("records"):
            mode, sha256 = str(row["mode"]), str(row["trace"])
            of = f"{row['side']}, {mode}" if isinstance(row["side"], str) else mode
            if st.button(f"Timeline: {of}", key=f"{key}-timeline-{of}"):
                links.open_timeline(sha256)
            st.download_button(
                f"Save the trace: {of} ({theme.size(row['size'])})",
                partial(artifact, database, sha256),
                file_name=f"{sha256[:12]}.{mode}.trace.json",
                mime="application/json",
                key=f"{key}-save-{of}",
                on_click="ignore",
                help="Chrome's format: ui.perfetto.dev opens it",
            )
