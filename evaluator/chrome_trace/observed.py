"""What ran in one recorded batch: kernels, copies and sets by name, operators by name, and what the batch cost.

Numbers are of the whole batch, its calls together; milliseconds. What the trace does not say is None, with the reason.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from evaluator.chrome_trace.account import Account, account
from evaluator.chrome_trace.intervals import Pair
from evaluator.chrome_trace.kernels import Total, totals
from evaluator.chrome_trace.launches import Launch, match
from evaluator.chrome_trace.recording import Recording, Span, Thread

_REGION: Final = re.compile(r"Torch-Compiled Region: (\d+/\d+)")


@dataclass(frozen=True)
class Operator:
    """All calls of an operator: their time on the host (one inside another of its name not counted twice), and the kernels
    launched from inside them, None where nothing of the device is known."""

    name: str
    calls: int
    host_ms: float
    kernels: int | None


@dataclass(frozen=True)
class Observed:
    """``work``: kernels, copies and sets by name, longest first; None where none is known, with ``reason``. ``regions``: ids
    of the compiled regions that ran. ``devices``: that worked in the trace; ``account`` is of the one that did most."""

    operators: tuple[Operator, ...]
    regions: tuple[str, ...]
    work: tuple[Total, ...] | None
    account: Account | None
    devices: int
    reason: str | None

    @property
    def batch(self) -> dict[str, Any]:
        """What the batch cost, by name; times in ms. Empty where nothing of the device is known."""
        found = self.account
        if found is None or self.work is None:
            return {}
        counts = found.counts or {}
        return {
            "kernels": counts.get("kernel"),
            "copies": counts.get("copy"),
            "sets": counts.get("set"),
            "host_ms": _length(found.host),
            "stream_ms": _length(found.stream),
            "wall_ms": _length(found.wall),
            "first_kernel_ms": _ms(found.first_kernel),
            "busy_ms": _ms(found.busy),
            "idle_host_ms": None if found.lost else _ms(found.idle("host")),
            "idle_device_ms": None if found.lost else _ms(found.idle("device")),
            "gaps": None if found.lost else len(found.gaps),
            "bound": found.bound,
            "streams": len({one.stream for one in found.work}),
            "lost": found.lost,
            "orphans": found.orphans,
        }


def observe(recording: Recording, named: str, on_device: bool) -> Observed:
    """The region of this name in a recording. ``on_device``: a device was profiled, so that it ought to be there."""
    region = next((one for one in recording.regions if one.name == named), None)
    if region is None:
        return Observed((), (), None, None, len(recording.devices), f"the trace has no region {named}")
    inside = [one for one in recording.operators if _belongs(one, region)]
    regions = sorted({matched[1] for one in inside if (matched := _REGION.fullmatch(one.name))})
    launched = match(recording)
    accounts = [account(recording, region, device, launched) for device in recording.devices]
    told = [one for one in accounts if one is not None]
    found = max(told, key=lambda one: len(one.work), default=None)
    reason = _reason(recording, found, on_device)
    known = found is not None and reason is None
    return Observed(
        operators=_operators(inside, found.launches if found is not None and known else None),
        regions=tuple(regions),
        work=totals(found.work) if found is not None and known else None,
        account=found if known else None,
        devices=len(recording.devices),
        reason=reason,
    )


def _reason(recording: Recording, found: Account | None, on_device: bool) -> str | None:
    """Why nothing is known of the device; None where something is."""
    if not on_device:
        return "nothing is launched on this target: the host does the work itself"
    if recording.truncated:
        return "the trace has no end: what it lacks is not known"
    if found is None:
        return "the trace has no work of a device: the profiler saw none of it"
    if found.counts is None:
        return "no work in the trace is known to belong to the batch"
    return None


def _belongs(one: Span, region: Span) -> bool:
    return one.thread[0] == region.thread[0] and region.start <= one.start <= region.end


def _operators(spans: Sequence[Span], launches: Sequence[Launch] | None) -> tuple[Operator, ...]:
    calls: Counter[str] = Counter(one.name for one in spans)
    time: dict[str, float] = defaultdict(float)
    kernels: Counter[str] = Counter()
    by_thread: dict[Thread, list[Span]] = defaultdict(list)
    for one in spans:
        by_thread[one.thread].append(one)
    called: dict[Thread, list[tuple[float, int]]] = defaultdict(list)
    for launch in launches or ():
        counted = sum(one.kind == "kernel" for one in launch.work)
        called[launch.call.thread].append((launch.call.start, counted))
    for thread, mine in by_thread.items():
        open_: list[Span] = []
        waiting = sorted(called[thread], reverse=True)
        # By start, the one around the other first: what is open when one begins lies around it.
        for one in sorted(mine, key=lambda span: (span.start, -span.end)):
            _count_until(one.start, waiting, open_, kernels)
            open_ = [span for span in open_ if span.end > one.start]
            if one.name not in {span.name for span in open_}:
                time[one.name] += one.end - one.start
            open_.append(one)
        _count_until(float("inf"), waiting, open_, kernels)
    known = launches is not None
    found = [
        Operator(name, count, time[name] / 1000, kernels[name] if known else None)
        for name, count in calls.items()
    ]
    return tuple(sorted(found, key=lambda one: (-one.host_ms, one.name)))


def _count_until(
    time: float, waiting: list[tuple[float, int]], open_: Sequence[Span], kernels: Counter[str]
) -> None:
    """Count the launches before ``time`` to the operators around them; ``waiting`` has the first at its end."""
    while waiting and waiting[-1][0] < time:
        begun, counted = waiting.pop()
        for name in {span.name for span in open_ if span.start <= begun < span.end}:
            kernels[name] += counted


def _length(pair: Pair | None) -> float | None:
    return None if pair is None else (pair[1] - pair[0]) / 1000


def _ms(micros: float | None) -> float | None:
    return None if micros is None else micros / 1000
