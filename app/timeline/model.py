"""The part of Timeline that draws the ordering model: a program, its durations, its verdicts."""

from __future__ import annotations

from typing import Final

import streamlit as st

from app import state, tables, theme
from app.timeline import chart, drawn, frames
from app.timeline.words import Said
from evaluator.ordering.calls import Run
from evaluator.ordering.presets import PRESETS, Preset, with_durations
from evaluator.ordering.program import LONGEST, SHORTEST

PROGRAM: Final = "program"
_ICONS: Final = {"bad": ":red[**✗**]", "note": ":gray[**·**]", "good": ":green[**✓**]"}
# Inputs beside each other.
_ACROSS: Final = 6


def draw() -> None:
    """The program that the URL names, at first the one with an event between two streams."""
    left, right = st.columns([1, 2.6])
    with left:
        preset = _program()
    with right:
        durations = _durations(preset)
    model = frames.modelled(with_durations(preset.program, durations))
    said(frames.sentences(model))
    about = ("ordering", preset.key, tuple(durations.items()))
    drawn.draw(about, "timeline-model", lambda: chart.timeline(frames.picture(model)))
    columns = {
        "n": tables.whole("call", width=45),
        "code": tables.text("as torch has it", width=340),
        "asked": tables.significant("asked at", 6, width=75, help="the earliest time of the call"),
        "made": tables.significant("made at", 6, width=75, help="when the host gets to it"),
        "past": tables.significant(
            "past at", 6, width=75, help="when the host goes on: later where it waits"
        ),
        "stream": tables.text("stream", width=70),
        "duration": tables.significant("takes", 6, width=60),
        "start": tables.significant("starts", 6, width=60),
        "end": tables.significant("ends", 6, width=60),
    }
    tables.show(
        frames.calls(model),
        columns,
        key="timeline-calls",
        csv=f"timeline-{preset.key}.csv",
        caption="The host's calls in order, with the earliest times the model gives them. An operation starts when its "
        "stream gets to it; a wait in a stream lasts from when nothing else is left before it.",
    )
    st.caption(
        "A model, not a measurement: nothing here ran on a GPU. *Ordered* means in every run, whatever anything takes: it "
        "follows from the waits, not from the times. What a missing wait does on a device is seen by torch's CUDA sanitizer, "
        "never by comparing values."
    )


def said(sentences: list[Said]) -> None:
    """Sentences one below the other, each with the sign of its tone."""
    if sentences:
        st.markdown("  \n".join(f"{_ICONS[one.tone]} {one.sentence}" for one in sentences))


def _program() -> Preset:
    titles = {one.title: one for one in PRESETS}
    wanted = state.asked(PROGRAM)
    if wanted is not None and wanted not in titles and wanted != st.session_state.get(PROGRAM):
        state.say_unknown("program", wanted, list(titles))
    chosen = st.selectbox("Program", list(titles), key=PROGRAM, bind="query-params")
    preset = titles.get(chosen or "", PRESETS[0])
    st.caption(preset.shows)
    return preset


def _durations(preset: Preset) -> dict[str, float]:
    """A bounded input for each operation; each program has inputs, and keys in the URL, of its own."""
    runs = [call for call in preset.program.calls if isinstance(call, Run)]
    found: dict[str, float] = {}
    for row in range(0, len(runs), _ACROSS):
        for column, run in zip(st.columns(_ACROSS), runs[row : row + _ACROSS], strict=False):
            with column:
                found[run.name] = _duration(preset, run)
    return found


def _duration(preset: Preset, run: Run) -> float:
    key = f"{preset.key}.{run.name}"
    wanted = state.asked(key)
    if wanted is not None and not _taken(wanted):
        st.warning(
            f"A duration is a number from {SHORTEST} to {LONGEST}, not {theme.literal(wanted)}: "
            f"{theme.literal(run.name)} takes {run.duration:g}."
        )
    chosen = st.number_input(
        f"{run.name} takes",
        # Of the URL's values an input of whole numbers can't read every one; this one can.
        min_value=float(SHORTEST),
        max_value=float(LONGEST),
        value=float(run.duration),
        step=1.0,
        format="%g",
        key=key,
        bind="query-params",
        help=f"in {run.stream}; {SHORTEST} to {LONGEST}",
    )
    return run.duration if chosen is None else chosen


def _taken(text: str) -> bool:
    """Whether the input takes this value of the URL; it drops any other."""
    try:
        number = float(text)
    except ValueError:
        return False
    return SHORTEST <= number <= LONGEST
