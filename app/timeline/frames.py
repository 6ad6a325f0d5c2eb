"""The ordering model as a picture and as tables. Schedules in, data frames out; pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from app.timeline import words
from app.timeline.picture import BAR, LINK, POINT, Picture, frame, submitted
from app.timeline.words import Said
from evaluator.ordering.calls import HOST, Call, Run, streams_of
from evaluator.ordering.conflicts import Verdict, verdicts
from evaluator.ordering.order import Order, order_of
from evaluator.ordering.program import Program
from evaluator.ordering.schedule import Schedule, schedule
from evaluator.ordering.storage import Reuse, held, reuses


@dataclass(frozen=True)
class Modelled:
    """A program with its order, its earliest times and what follows from them."""

    order: Order
    times: Schedule
    verdicts: tuple[Verdict, ...]
    reuses: tuple[Reuse, ...]

    @property
    def program(self) -> Program:
        return self.order.program


def modelled(program: Program) -> Modelled:
    """All that the model says of a program."""
    order = order_of(program)
    times = schedule(order)
    return Modelled(order, times, verdicts(order, times), reuses(order, times))


def sentences(model: Modelled) -> list[Said]:
    """What is wrong first, then what is held back, then what is in order."""
    found = [words.verdict(model.program, one) for one in model.verdicts]
    found += [words.reuse(one) for one in model.reuses]
    found += [words.held(one) for one in held(model.order, model.times)]
    return sorted(found, key=lambda one: ("bad", "note", "good").index(one.tone))


def picture(model: Modelled) -> Picture:
    """A lane for the host and one for each stream: operations, waits as such, what the host submits and what a wait is for."""
    lanes = (HOST, *model.program.streams)
    place = {name: at for at, name in enumerate(lanes)}
    times = model.times
    wrong = {one.dependency.consumer for one in model.verdicts if not one.ordered}
    wrong |= {one.user for one in model.reuses}
    bars: list[dict[str, Any]] = []
    links: list[dict[str, Any]] = []
    for position, call in enumerate(model.program.calls):
        made = times.calls[position]
        if isinstance(call, Run):
            bars.append(_run(call, place[call.stream], times, call.name in wrong))
            if call.stream != HOST:
                links += submitted(made.end, 0, times.runs[call.name].start, place[call.stream])
        elif position in model.order.covers:
            lane = place[streams_of(call)[0]] if position in times.held else 0
            span = times.held.get(position, made)
            if span.end > span.start:
                bars.append(_wait(call, position, lane, span.start, span.end))
            cover = model.order.covers[position]
            if position in times.met and cover is not None:
                links += [
                    _wait_link(times.met[position], place[stream], span.end, lane)
                    for stream in sorted(cover.streams)
                    if place[stream] != lane
                ]
    return Picture(
        lanes,
        frame(bars, BAR),
        frame(links, LINK),
        frame(_points(model), POINT),
        "time units",
        (0.0, max(times.end, 1.0)),
    )


def _run(call: Run, lane: int, times: Schedule, wrong: bool) -> dict[str, Any]:
    span = times.runs[call.name]
    kind = "alarm" if wrong else "host run" if call.stream == HOST else "run"
    return {
        "lane": lane,
        "start": span.start,
        "end": span.end,
        "kind": kind,
        "label": f"✗ {call.name}" if wrong else call.name,
        "tip": f"{call.name}: {span.start:g} to {span.end:g}",
    }


def _wait(call: Call, position: int, lane: int, start: float, end: float) -> dict[str, Any]:
    tip = f"call {position + 1}, {words.written(call)}: waits from {start:g} to {end:g}"
    return {"lane": lane, "start": start, "end": end, "kind": "wait", "label": "waits", "tip": tip}


def _wait_link(x: float, lane: int, x2: float, lane2: int) -> dict[str, Any]:
    return {"x": x, "lane": lane, "x2": x2, "lane2": lane2, "kind": "wait"}


def _points(model: Modelled) -> list[dict[str, Any]]:
    """The calls on the host's lane; those of one moment are one point."""
    found: dict[float, list[str]] = {}
    for position, call in enumerate(model.program.calls):
        if not (isinstance(call, Run) and call.stream == HOST):
            found.setdefault(model.times.calls[position].start, []).append(
                f"{position + 1}. {words.written(call)}"
            )
    return [{"x": at, "lane": 0, "tip": f"at {at:g}: {'; '.join(calls)}"} for at, calls in found.items()]


CALLS: Sequence[str] = ("n", "code", "asked", "made", "past", "stream", "duration", "start", "end")


def calls(model: Modelled) -> pd.DataFrame:
    """A row a call, in order: n from 1, code, when it is asked for at the earliest (missing: as soon as the host gets to
    it), when the host makes it and is past it; of an operation its stream, duration, start and end; of a wait in a stream
    its stream, start and end."""
    rows = []
    for position, call in enumerate(model.program.calls):
        made = model.times.calls[position]
        span = model.times.runs[call.name] if isinstance(call, Run) else model.times.held.get(position)
        rows.append(
            {
                "n": position + 1,
                "code": words.written(call),
                "asked": call.at,
                "made": made.start,
                "past": made.end,
                "stream": streams_of(call)[0] if streams_of(call) else None,
                "duration": call.duration if isinstance(call, Run) else None,
                "start": span.start if span else None,
                "end": span.end if span else None,
            }
        )
    return frame(rows, CALLS)
