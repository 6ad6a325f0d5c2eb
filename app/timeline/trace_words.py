"""What a recorded trace says, in sentences and cards. Accounts in, words out; pure."""

from __future__ import annotations

from typing import Final

from app import theme
from app.timeline.words import Said
from evaluator.chrome_trace.account import HOST_SHARE, Account
from evaluator.chrome_trace.intervals import Pair
from evaluator.chrome_trace.launches import Launches
from evaluator.chrome_trace.recording import Recording

# Label, value, what it includes.
Card = tuple[str, str, str]

_BOUND: Final = {"host": "host", "device": "device", None: theme.MISSING}


def micros(value: float | None) -> str:
    """µs with its unit, in ms from 10,000 µs on."""
    if value is None:
        return theme.MISSING
    return theme.quantity(value / 1000, "ms") if abs(value) >= 10_000 else theme.quantity(value, "µs")


def cards(account: Account) -> list[Card]:
    """The three intervals, and what stands beside them."""
    counts = account.counts
    wall = "until the host knew that all was done"
    if account.wall is None:
        wall = "not known: no wait for it is recorded"
    return [
        ("Host region", micros(_length(account.host)), "from its start to the return of its last launch"),
        (
            "Stream interval",
            micros(_length(account.stream)),
            "from the first work's start to the last one's end",
        ),
        ("Batch wall", micros(_length(account.wall)), wall),
        ("Time to first kernel", micros(account.first_kernel), "from the region's start"),
        ("Device busy", _busy(account), "of the stream interval"),
        ("Bound by", _BOUND[account.bound], _bound(account)),
        (
            "Kernels",
            theme.count(None if counts is None else counts["kernel"]),
            "copies and sets are none"
            if counts is None
            else f"{theme.counted(counts['copy'], 'copy', 'copies')}, {theme.counted(counts['set'], 'set')} beside",
        ),
    ]


def sentences(account: Account) -> list[Said]:
    """Overlap, serialisation, and what can't be said."""
    found = []
    serial = account.serialised
    if serial is not None:
        which = _stream(serial.stream)
        usual = {
            True: ", the default stream by its usual number,",
            False: ", not the default one by its usual number",
            None: "",
        }[serial.default]
        if serial.kind == "alone":
            found.append(
                Said(
                    "note",
                    f"**Serialised**: all of it ran in {which}{usual.rstrip(',')}: nothing there can overlap.",
                )
            )
        else:
            others = theme.listed([_stream(one) for one in serial.others])
            found.append(
                Said(
                    "note",
                    f"**Serialised on the default stream**: {which}{usual} never worked beside {others}.",
                )
            )
    for one in account.overlaps:
        share = "" if one.share is None else f", {one.share:.0%} of the one that worked less"
        pair = f"{_stream(one.first)} and {_stream(one.second)}"
        met = (
            f"worked at the same time for {micros(one.both)}{share}"
            if one.both
            else "never worked at the same time"
        )
        found.append(Said("good" if one.both else "note", f"{pair} {met}."))
    if account.lost:
        found.append(
            Said(
                "note",
                f"The work of {theme.counted(account.lost, 'launch', 'launches')} is not in the trace (lost, or captured into a "
                "graph): when the device was done, busy or idle is not known.",
            )
        )
    if account.orphans:
        found.append(
            Said(
                "note",
                f"{theme.counted(account.orphans, 'piece')} of work on the device {'has' if account.orphans == 1 else 'have'} "
                "no call in the trace that launched it: whether it belongs here is not known.",
            )
        )
    return found


def reservations(recording: Recording, launches: Launches) -> list[str]:
    """What of the file could not be used."""
    found = []
    if recording.truncated:
        found.append("The file has no end: what was written until then is shown.")
    if recording.damaged:
        found.append(f"Left out, since it could not be read: {theme.counted(recording.damaged, 'event')}.")
    if launches.repeated:
        ids = theme.counted(launches.repeated, "correlation id")
        found.append(f"Carried by several calls, of which the first has the work: {ids}.")
    return found


def _stream(stream: int | None) -> str:
    return "a stream without a number" if stream is None else f"stream {stream}"


def _length(pair: Pair | None) -> float | None:
    return None if pair is None else pair[1] - pair[0]


def _busy(account: Account) -> str:
    whole = _length(account.stream)
    if whole is None or account.busy is None or whole <= 0:
        return theme.MISSING
    return f"{account.busy / whole:.0%}"


def _bound(account: Account) -> str:
    whole = _length(account.stream)
    if account.lost:
        return "not known: work is lost"
    if whole is None or whole <= 0 or len(account.work) < 2:
        return "not known of fewer than two pieces of work"
    shares = {cause: account.idle(cause) / whole for cause in ("host", "device", None)}
    said = f"idle {shares['host']:.0%} for the host, {shares['device']:.0%} for the device"
    if shares[None]:
        said += f", {shares[None]:.0%} unknown"
    return f"{said}; host-bound above {HOST_SHARE:.0%}"
