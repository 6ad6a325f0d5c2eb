"""The part of Timeline that draws recorded Chrome traces: those in the database, or a file that is only looked at."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Final

import pandas as pd
import streamlit as st

from app import data, state, tables, theme
from app.data import Database, read
from app.links import TRACE_DIGITS
from app.timeline import chart, drawn, trace_frames, trace_words
from app.timeline.model import said
from app.timeline.picture import Picture
from db.queries import profiles
from evaluator.chrome_trace.account import Account, account
from evaluator.chrome_trace.events import ChromeTraceError
from evaluator.chrome_trace.launches import Launches, match
from evaluator.chrome_trace.recording import Recording, read_recording

TRACE: Final = "trace"
_WHOLE: Final = "the whole trace"
# Bytes of a file that is looked at, in MB: read, it takes several times as much memory.
_MOST_MB: Final = 200
RECORD_A_RUN: Final = "python -m evaluator run --tag quickstart --chrome-traces"
RECORDS_ONE: Final = """import torch
from torch.profiler import profile, record_function

call()  # compiled and warm before it is recorded
torch.cuda.synchronize()
with profile() as recorded:
    with record_function("batch"):
        call()
    torch.cuda.synchronize()
recorded.export_chrome_trace("batch.json.gz")
"""


def draw(database: Database) -> None:
    """The trace that is picked, or what there is instead."""
    listed = read(database, profiles.chrome_traces)
    if listed.empty:
        _nothing_recorded(database.option)
    else:
        sha256 = _pick(listed)
    with st.expander("Look at a file instead", expanded=listed.empty):
        opened = st.file_uploader(
            "A trace of torch's profiler; it is not kept",
            type=["json", "gz"],
            max_upload_size=_MOST_MB,
            key="timeline-file",
        )
    if opened is not None:
        raw = opened.getvalue()
        sha256 = hashlib.sha256(raw).hexdigest()
    elif listed.empty:
        return
    else:
        raw = data.artifact(database, sha256)
    try:
        recording, launches = _read(sha256, raw)
    except ChromeTraceError as error:
        st.warning(f"It can't be drawn: {error}.")
        return
    _drawn(sha256, recording, launches)


def _nothing_recorded(option: str) -> None:
    """``option``: what a command needs after it to mean this database."""
    with st.container(border=True, key="no-traces"):
        st.subheader("No Chrome trace is recorded", anchor=False)
        st.text(
            "No run in this database kept one. A run with --chrome-traces records what runs, eager and compiled; with --target "
            "cuda it does so by itself. None has run on a GPU yet. On a CPU a trace has operators and no kernels."
        )
        st.code(f"{RECORD_A_RUN}{option}", language="bash")
        st.text("This writes the trace of any code, and the file can be looked at below:")
        st.code(RECORDS_ONE, language="python")


def _pick(listed: pd.DataFrame) -> str:
    """The trace that the URL names by the first digits of its hash, at first the newest; picked in a table."""
    known = {str(one)[:TRACE_DIGITS]: at for at, one in enumerate(listed["sha256"])}
    wanted = state.asked(TRACE)
    if wanted is not None and wanted not in known:
        state.say_unknown("trace", wanted, list(known))
    position = known.get(wanted or "", 0)
    shown = listed.assign(bytes=[theme.size(one) for one in listed["size"]])
    columns = {
        "workload": tables.text("workload", width=150),
        "bucket": tables.text("bucket", width=110),
        "variant": tables.text("variant", width=80),
        "mode": tables.text("mode", width=75),
        "target": tables.text("target", width=60),
        "torch": tables.text("torch", width=105),
        "gpu": tables.text("GPU", width=120),
        "run": tables.whole("run", width=50),
        "started_at": tables.moment("started (UTC)", width=125),
        "bytes": tables.text("size", width=80),
    }
    current = str(listed["sha256"].iloc[position])
    # The widget's key holds the URL's value, so that the browser's Back moves the selection too.
    key = f"timeline-traces-{current[:TRACE_DIGITS]}"
    row = tables.show(shown, columns, key=key, rows=5, pick="row", selected=position)
    picked = current if row is None else str(listed["sha256"].iloc[row])
    if picked != current:
        st.query_params[TRACE] = picked[:TRACE_DIGITS]
        st.rerun()
    return picked


# Not a copy for each reader: a recording is large, and nothing changes it.
@st.cache_resource(show_spinner="Reading the trace", max_entries=4)
def _read(sha256: str, _raw: bytes) -> tuple[Recording, Launches]:
    recording = read_recording(_raw)
    return recording, match(recording)


@dataclass(frozen=True)
class Shown:
    """What is shown of a region of a trace; ``account`` and the tables are missing where nothing ran on a device. Shared
    between sessions: never change what is in it."""

    account: Account | None
    picture: Picture
    left_out: int
    names: pd.DataFrame | None
    work: pd.DataFrame | None


@st.cache_resource(show_spinner=False, max_entries=16)
def _shown(
    sha256: str, place: int | None, device: int | None, _recording: Recording, _launches: Launches
) -> Shown:
    """``place``: of the region among the recording's, None for the whole trace."""
    region = None if place is None else _recording.regions[place]
    found = account(_recording, region, device, _launches)
    picture, left_out = trace_frames.picture(_recording, found, region)
    if found is None:
        return Shown(None, picture, left_out, None, None)
    origin = trace_frames.window(_recording, found, region)[0]
    return Shown(found, picture, left_out, trace_frames.by_name(found), trace_frames.work(found, origin))


def _drawn(sha256: str, recording: Recording, launches: Launches) -> None:
    for sentence in trace_words.reservations(recording, launches):
        st.warning(sentence)
    left, right = st.columns([1, 2.6])
    with left:
        place = _region(recording)
    with right:
        device = _device(recording)
    shown = _shown(sha256, place, device, recording, launches)
    if shown.account is None:
        st.info(
            "Nothing in this trace ran on a device: only the host's operators can be drawn. Profiled on a GPU with its "
            "activities on, a trace has the kernels too."
        )
    else:
        _cards(shown.account)
        said(trace_words.sentences(shown.account))
    if shown.picture.bars.empty:
        st.info("There is nothing to draw: the trace has no operators, calls or kernels.")
        return
    about = ("chrome trace", sha256, place, device)
    drawn.draw(about, "timeline-trace", lambda: chart.timeline(shown.picture, zoom=True))
    st.caption("Shift and the wheel zoom, dragging moves, a double click shows all again.")
    if shown.left_out:
        st.caption(f"{theme.counted(shown.left_out, 'more thread')} of the host did less and are not drawn.")
    if shown.names is not None and shown.work is not None:
        _tables(shown.names, shown.work)
    st.caption(
        "A profiled run is slower on the host than one that is not: gaps and launches are longer. The times that are compared "
        "between versions come from the timing probe, never from here."
    )


def _region(recording: Recording) -> int | None:
    """The position of the region that is picked among the recording's; None: the whole trace."""
    if not recording.regions:
        return None
    named = {f"{at + 1}. {one.name}": at for at, one in enumerate(recording.regions)}
    # The named region is what was profiled for its own sake.
    chosen = state.pick("Region", "region", [*named, _WHOLE], what="region")
    return named.get(chosen)


def _device(recording: Recording) -> int | None:
    if len(recording.devices) < 2:
        return recording.devices[0] if recording.devices else None
    named = {"unknown" if one is None else str(one): one for one in recording.devices}
    return named[state.pick("Device", "device", list(named), what="device")]


def _cards(found: Account) -> None:
    shown = trace_words.cards(found)
    with st.container(key="cards"):
        for column, (label, value, detail) in zip(st.columns(len(shown)), shown, strict=True):
            column.metric(label, value, delta=detail, delta_color="off", delta_arrow="off", border=True)


def _tables(names: pd.DataFrame, work: pd.DataFrame) -> None:
    totals = {
        "kind": tables.text("kind", width=70),
        "name": tables.text("name", width=430),
        "launches": tables.whole("launches", width=75),
        "time": tables.number("device time, µs", 1, width=115),
        "registers": tables.whole("registers a thread", width=120),
        "occupancy": tables.number("occupancy, %", 0, width=95, help="the profiler's estimate"),
    }
    tables.show(
        names,
        totals,
        key="timeline-totals",
        rows=8,
        csv="device-work.csv",
        caption="What ran on the device, by name. Fewer kernels are not faster: the times say what is.",
    )
    columns = {
        "kind": tables.text("kind", width=70),
        "name": tables.text("name", width=290),
        "stream": tables.whole("stream", width=60),
        "start": tables.number("starts, µs", 1, width=90),
        "duration": tables.number("takes, µs", 1, width=85),
        "call": tables.text("launched by", width=125),
        "delay": tables.number("after, µs", 1, width=80, help="from the call's start to its own"),
        "gap": tables.number(
            "gap, µs", 1, width=95, help="before it, in which the device had nothing at all to do"
        ),
        "cause": tables.text(
            "waits for", width=80, help="host: its launch had not returned when the gap began"
        ),
    }
    tables.show(
        work,
        columns,
        key="timeline-work",
        rows=8,
        csv="timeline.csv",
        caption="Each piece of work, with the call that launched it and the gap before it.",
    )
