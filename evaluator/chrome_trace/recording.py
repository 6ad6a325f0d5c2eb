"""What a trace recorded, in lanes: operators and named regions on the host, calls of the runtime, work on the device."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from evaluator.chrome_trace.events import read_events

WorkKind = Literal["kernel", "copy", "set"]
# Categories as libkineto names them (ActivityType.cpp of pytorch/kineto).
_WORK: Final[dict[str, WorkKind]] = {"kernel": "kernel", "gpu_memcpy": "copy", "gpu_memset": "set"}
_RUNTIME_ENDINGS: Final = ("_runtime", "_driver")
_REGION: Final = "user_annotation"
_OPERATOR: Final = "cpu_op"

Thread = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Span:
    """Something with a name, from ``start`` to ``end`` (µs), on a thread of the host: its process and thread as text."""

    name: str
    start: float
    end: float
    thread: Thread


@dataclass(frozen=True, slots=True)
class Call(Span):
    """A call of the CUDA or HIP runtime or driver. ``correlation`` is that of the work it launched; None: none is given."""

    correlation: int | None


@dataclass(frozen=True, slots=True)
class Work:
    """A kernel, copy or set on the device, from ``start`` to ``end`` (µs).

    ``registers`` are those of a thread, ``occupancy`` is the estimate of the profiler in percent, ``bytes`` those of a
    copy or set; None: not given.
    """

    kind: WorkKind
    name: str
    start: float
    end: float
    device: int | None
    stream: int | None
    correlation: int | None
    registers: int | None = None
    occupancy: float | None = None
    bytes: int | None = None


@dataclass(frozen=True)
class Recording:
    """A trace, each lane by start. ``others`` counts complete events of other categories and events of other kinds,
    ``damaged`` what could not be read (no times, a negative duration, no object); ``truncated``: the file has no end."""

    operators: tuple[Span, ...]
    regions: tuple[Span, ...]
    calls: tuple[Call, ...]
    work: tuple[Work, ...]
    others: Mapping[str, int] = field(default_factory=dict)
    damaged: int = 0
    truncated: bool = False

    @property
    def devices(self) -> tuple[int | None, ...]:
        """Devices that did something, in order; None stands for work that names none."""
        return tuple(sorted({one.device for one in self.work}, key=lambda one: (one is None, one or 0)))


def read_recording(raw: bytes) -> Recording:
    """The recording in these bytes, plain or gzip. Raises ChromeTraceError where they are no Chrome trace at all."""
    found = read_events(raw)
    operators: list[Span] = []
    regions: list[Span] = []
    calls: list[Call] = []
    work: list[Work] = []
    others: Counter[str] = Counter()
    damaged = found.damaged
    for event in found.events:
        kind, category = event.get("ph"), event.get("cat")
        if kind != "X" or not isinstance(category, str):
            others[f"ph {kind}" if kind != "X" else "no category"] += 1
            continue
        # Older traces wrote some of them in capitals.
        category = category.lower()
        times = _times(event)
        if times is None:
            damaged += 1
        elif category in _WORK:
            work.append(_work(event, _WORK[category], *times))
        elif category.endswith(_RUNTIME_ENDINGS):
            correlation = _correlation(_arguments(event))
            calls.append(Call(_name(event), *times, _thread(event), correlation))
        elif category == _REGION:
            regions.append(Span(_name(event), *times, _thread(event)))
        elif category == _OPERATOR:
            operators.append(Span(_name(event), *times, _thread(event)))
        else:
            others[category] += 1
    for lane in (operators, regions, calls, work):
        # By start, and of two that start together the one around the other first.
        lane.sort(key=lambda one: (one.start, -one.end))
    return Recording(
        tuple(operators), tuple(regions), tuple(calls), tuple(work), dict(others), damaged, found.truncated
    )


def _times(event: Mapping[str, Any]) -> tuple[float, float] | None:
    """Start and end; None where they can't be: a missing or negative duration is not taken for 0."""
    start, duration = _number(event.get("ts")), _number(event.get("dur"))
    if start is None or duration is None or duration < 0:
        return None
    return start, start + duration


def _work(event: Mapping[str, Any], kind: WorkKind, start: float, end: float) -> Work:
    arguments = _arguments(event)
    # On a device libkineto's process is the device and its thread the stream.
    device, stream = arguments.get("device", event.get("pid")), arguments.get("stream", event.get("tid"))
    return Work(
        kind,
        _name(event),
        start,
        end,
        _whole(device),
        _whole(stream),
        _correlation(arguments),
        _whole(arguments.get("registers per thread")),
        _number(arguments.get("est. achieved occupancy %")),
        _whole(arguments.get("bytes")),
    )


def _arguments(event: Mapping[str, Any]) -> Mapping[str, Any]:
    found = event.get("args")
    return found if isinstance(found, Mapping) else {}


def _name(event: Mapping[str, Any]) -> str:
    found = event.get("name")
    return found if isinstance(found, str) and found else "(no name)"


def _thread(event: Mapping[str, Any]) -> Thread:
    return str(event.get("pid", "")), str(event.get("tid", ""))


def _correlation(arguments: Mapping[str, Any]) -> int | None:
    """The correlation id; CUPTI's 0 means that there is none."""
    return _whole(arguments.get("correlation")) or None


def _number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return float(value)


def _whole(value: object) -> int | None:
    number = _number(value)
    return int(number) if number is not None and number == int(number) else None
