"""A recorded Chrome trace as a picture and as tables. Recordings in, data frames out; pure. Times are µs from the start of
what is shown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

import pandas as pd

from app.timeline.chart import MOST_MARKS
from app.timeline.picture import BAR, LINK, POINT, Picture, frame, submitted
from evaluator.chrome_trace.account import Account
from evaluator.chrome_trace.kernels import totals
from evaluator.chrome_trace.recording import Call, Recording, Span, Thread, Work

# Threads of the host with most to show; the rest is counted below the picture.
MOST_THREADS: Final = 4
# Launches that are joined to their work by a line; more would hide both.
MOST_LINKS: Final = 150
_LONGEST_NAME: Final = 100

# What a bar is made of: start, end, kind, name.
Piece = tuple[float, float, str, str]


def window(recording: Recording, account: Account | None, region: Span | None) -> tuple[float, float]:
    """From when to when is shown: a region until all it launched is done and known to be, or all that was recorded."""
    if region is None:
        lanes: tuple[Sequence[Span | Work], ...] = (
            *(recording.operators, recording.regions, recording.calls),
            recording.work,
        )
        starts = [one.start for lane in lanes for one in lane]
        ends = [one.end for lane in lanes for one in lane]
        return (min(starts), max(ends)) if starts else (0.0, 0.0)
    ends = [region.end]
    if account is not None:
        ends += [pair[1] for pair in (account.host, account.wall) if pair is not None]
        ends += [one.end for one in account.work]
    begun = min([region.start, *(one.start for one in account.work[:1])]) if account else region.start
    return begun, max(ends)


def picture(
    recording: Recording, account: Account | None, region: Span | None, most: int = MOST_MARKS
) -> tuple[Picture, int]:
    """The three intervals, then operators and runtime calls of each thread of the host, then a lane for each stream of the
    account's device; and how many threads of the host are left out.

    Never more than ``most`` marks: where there are more pieces, those that lie closely together in a lane are one bar.
    """
    shown = window(recording, account, region)
    lanes: dict[str, list[Piece]] = {}
    if account is not None:
        for name, pair in (
            ("host region", account.host),
            ("stream interval", account.stream),
            ("batch wall", account.wall),
        ):
            lanes[name] = [] if pair is None else [(*pair, "interval", f"{pair[1] - pair[0]:,.1f} µs")]
    threads, left_out = _threads(recording, shown)
    for number, thread in enumerate(threads, start=1):
        host = "host" if len(threads) == 1 else f"host {number}"
        operators = (one for one in recording.operators if one.thread == thread)
        lanes[f"{host}: operators"] = [
            (one.start, one.end, "operator", one.name) for one in outermost(operators)
        ]
        calls = (one for one in recording.calls if one.thread == thread)
        lanes[f"{host}: runtime"] = [(one.start, one.end, "call", one.name) for one in calls]
    if account is not None:
        streams = sorted(
            {one.stream for one in _of_device(recording, account)}, key=lambda one: (one is None, one or 0)
        )
        for stream in streams:
            found = (one for one in _of_device(recording, account) if one.stream == stream)
            lanes[_stream(stream)] = [(one.start, one.end, one.kind, one.name) for one in found]
    lanes = {name: _within(pieces, shown) for name, pieces in lanes.items()}
    pieces = sum(len(one) for one in lanes.values())
    each = max(1, most // max(1, len(lanes)))
    bars = [
        bar
        for lane, found in enumerate(lanes.values())
        for bar in (_bars(lane, found, shown) if pieces <= most else _merged(lane, found, shown, each))
    ]
    links = _links(account, list(lanes), threads, shown) if len(bars) + 2 * MOST_LINKS <= most else []
    made = Picture(
        tuple(lanes),
        frame(bars, BAR),
        frame(links, LINK),
        frame([], POINT),
        "µs",
        (0.0, max(shown[1] - shown[0], 1e-3)),
    )
    return made, left_out


def outermost(spans: Iterable[Span]) -> list[Span]:
    """Those that lie in no other; ``spans`` are of one thread, by start."""
    found: list[Span] = []
    for one in spans:
        if not found or one.end > found[-1].end:
            found.append(one)
    return found


def _of_device(recording: Recording, account: Account) -> Iterable[Work]:
    return (one for one in recording.work if one.device == account.device)


def _threads(recording: Recording, shown: tuple[float, float]) -> tuple[list[Thread], int]:
    counts: dict[Thread, int] = {}
    for lane in (recording.operators, recording.calls):
        for one in lane:
            if one.end >= shown[0] and one.start <= shown[1]:
                counts[one.thread] = counts.get(one.thread, 0) + 1
    ranked = sorted(counts, key=lambda one: -counts[one])
    return ranked[:MOST_THREADS], max(0, len(ranked) - MOST_THREADS)


def _stream(stream: int | None) -> str:
    return "device: no stream given" if stream is None else f"device: stream {stream}"


def _within(pieces: Iterable[Piece], shown: tuple[float, float]) -> list[Piece]:
    """What is seen of them between these times."""
    low, high = shown
    return [
        (max(start, low), min(end, high), kind, name)
        for start, end, kind, name in pieces
        if end >= low and start <= high
    ]


def _bars(lane: int, pieces: Iterable[Piece], shown: tuple[float, float]) -> list[dict[str, Any]]:
    return [_bar(lane, start, end, kind, _short(name), shown) for start, end, kind, name in pieces]


def _merged(
    lane: int, pieces: Iterable[Piece], shown: tuple[float, float], most: int
) -> list[dict[str, Any]]:
    """At most ``most`` bars: pieces that start in the same of as many equal parts of the time are one."""
    part = (shown[1] - shown[0]) / most or 1.0
    parts: dict[int, list[Piece]] = {}
    for piece in pieces:
        parts.setdefault(min(most - 1, int((piece[0] - shown[0]) / part)), []).append(piece)
    found = []
    for members in parts.values():
        start, end = members[0][0], max(one[1] for one in members)
        label = _short(members[0][3]) if len(members) == 1 else f"{len(members):,} pieces"
        found.append(_bar(lane, start, end, members[0][2], label, shown))
    return found


def _bar(
    lane: int, start: float, end: float, kind: str, label: str, shown: tuple[float, float]
) -> dict[str, Any]:
    begun, ended = start - shown[0], end - shown[0]
    tip = f"{label}: {begun:,.1f} to {ended:,.1f} µs ({ended - begun:,.1f} µs)"
    return {"lane": lane, "start": begun, "end": ended, "kind": kind, "label": label, "tip": tip}


def _short(name: str) -> str:
    return name if len(name) <= _LONGEST_NAME else f"{name[:_LONGEST_NAME]}…"


def _links(
    account: Account | None, lanes: list[str], threads: Sequence[Thread], shown: tuple[float, float]
) -> list[dict[str, Any]]:
    if account is None or len(account.launches) > MOST_LINKS:
        return []
    found = []
    for launch in account.launches:
        work, thread = launch.work[0], launch.call.thread
        if thread not in threads:
            continue
        host = "host" if len(threads) == 1 else f"host {threads.index(thread) + 1}"
        runtime = lanes.index(f"{host}: runtime")
        found += submitted(
            launch.call.start - shown[0], runtime, work.start - shown[0], lanes.index(_stream(work.stream))
        )
    return found


WORK: Final = (
    *("kind", "name", "stream", "start", "duration", "call", "delay", "gap", "cause"),
    *("registers", "occupancy", "bytes"),
)


def work(account: Account, origin: float) -> pd.DataFrame:
    """A row a kernel, copy or set, by start: times in µs from ``origin``; the call that launched it and how long after that
    began; the gap of the device before it and whose it is. Missing: not known, or no gap."""
    calls: dict[Work, Call] = {one: launch.call for launch in account.launches for one in launch.work}
    gaps = {gap.follower: gap for gap in account.gaps}
    rows = []
    for one in account.work:
        call, gap = calls.get(one), gaps.get(one)
        rows.append(
            {
                "kind": one.kind,
                "name": one.name,
                "stream": one.stream,
                "start": one.start - origin,
                "duration": one.end - one.start,
                "call": call.name if call else None,
                "delay": one.start - call.start if call else None,
                "gap": gap.end - gap.start if gap else None,
                "cause": (gap.cause or "unknown") if gap else None,
                "registers": one.registers,
                "occupancy": one.occupancy,
                "bytes": one.bytes,
            }
        )
    return frame(rows, WORK)


TOTALS: Final = ("kind", "name", "launches", "time", "registers", "occupancy")


def by_name(account: Account) -> pd.DataFrame:
    """A row a name: how often it ran, and its device time together in µs, longest first."""
    rows = [{name: getattr(one, name) for name in TOTALS} for one in totals(account.work)]
    return frame(rows, TOTALS)
