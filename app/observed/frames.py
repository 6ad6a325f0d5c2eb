"""What was seen to run, as rows: a row a mode, a row a kernel, copy or set, a row an operator. Records in, data frames out; pure.

A batch is several calls: counts and times of a call are those of the batch divided by its calls. What is not known is missing.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any, Final

import pandas as pd

from app import theme
from db.queries.observed import ObservedRecord
from evaluator.chrome_trace.generated import Generated, Held, Launched, hold, per_call
from evaluator.chrome_trace.names import origin, short
from evaluator.worker.protocol import MODES

# A side of a comparison by its word, or the only one there is (None).
Side = tuple[str | None, ObservedRecord]

SUMMARY: Final = (
    *("side", "mode", "calls", "launches", "copies", "sets", "host", "stream", "busy", "idle_host"),
    *("idle_device", "bound", "first_kernel", "trace", "size", "reason"),
)
KERNELS: Final = (
    *("mode", "kind", "name", "from", "generated", "launches", "time", "registers", "spills", "occupancy"),
    "whole_name",
)
OPERATORS: Final = ("mode", "name", "calls", "time", "kernels")
SYNC_POINTS: Final = ("side", "mode", "where", "function", "times", "through")


def summary(sides: Sequence[Side]) -> pd.DataFrame:
    """A row a side and mode that was profiled: what a call launches, and what the whole batch cost (times in ms, shares of the
    stream interval as text)."""
    rows = []
    for word, record in sides:
        for mode in MODES:
            said = record.modes.get(mode)
            if said is None:
                continue
            batch, calls = _mapping(said.get("batch")), _whole(said.get("calls"))
            stream = _number(batch.get("stream_ms"))
            rows.append(
                {
                    "side": word,
                    "mode": mode,
                    "calls": calls,
                    "launches": per_call(_whole(batch.get("kernels")), calls),
                    "copies": per_call(_whole(batch.get("copies")), calls),
                    "sets": per_call(_whole(batch.get("sets")), calls),
                    "host": _number(batch.get("host_ms")),
                    "stream": stream,
                    "busy": _share(batch.get("busy_ms"), stream),
                    "idle_host": _share(batch.get("idle_host_ms"), stream),
                    "idle_device": _share(batch.get("idle_device_ms"), stream),
                    "bound": batch.get("bound"),
                    "first_kernel": _number(batch.get("first_kernel_ms")),
                    "trace": said.get("trace"),
                    "size": _whole(said.get("trace_bytes")),
                    "reason": said.get("reason"),
                }
            )
    return _frame(rows, SUMMARY)


def kernels(record: ObservedRecord, held: Held | None) -> pd.DataFrame:
    """A row a mode and kernel, copy or set: launches and device time (µs) a call. ``generated``: whether the walk's code has it
    (compiled kernels alone)."""
    made = {one.name for _, one in held.both} if held is not None else set()
    rows = []
    for row in record.kernels.to_dict("records"):
        calls = calls_of(record, row["mode"])
        rows.append(
            {
                "mode": row["mode"],
                "kind": row["kind"],
                "name": short(row["name"]),
                "from": origin(row["name"]) if row["kind"] == "kernel" else None,
                "generated": _generated(row, made) if held is not None else None,
                "launches": per_call(_whole(row["launches"]), calls),
                "time": _micros(row["device_ms"], calls),
                "registers": _whole(row["registers"]),
                "spills": _whole(row["spills"]),
                "occupancy": _number(row["occupancy"]),
                "whole_name": row["name"],
            }
        )
    return _frame(rows, KERNELS)


def _generated(row: Mapping[Hashable, Any], made: set[str]) -> str | None:
    if row["mode"] != "compiled" or row["kind"] != "kernel":
        return None
    return "yes" if row["name"] in made else "no"


BESIDE: Final = (
    *("mode", "kind", "name", "change", "base_launches", "launches", "base_time", "time"),
    *("registers", "spills", "whole_name"),
)


def beside(base: ObservedRecord, candidate: ObservedRecord) -> pd.DataFrame:
    """A row a mode and name of either side, in the candidate's order, then what only the base has: launches and device time
    (µs) a call of both, registers and spills as ``base → candidate`` where they differ."""
    sides = [
        {(row["mode"], row["kind"], row["name"]): row for row in _rows(one)} for one in (base, candidate)
    ]
    rows = []
    for key in dict.fromkeys([*sides[1], *sides[0]]):
        before, after = (side.get(key) for side in sides)
        rows.append(
            {
                **dict(zip(("mode", "kind"), key[:2], strict=True)),
                "name": short(key[2]),
                "change": _change(before, after),
                "base_launches": before["launches"] if before else None,
                "launches": after["launches"] if after else None,
                "base_time": before["time"] if before else None,
                "time": after["time"] if after else None,
                **{name: _between(before, after, name) for name in ("registers", "spills")},
                "whole_name": key[2],
            }
        )
    return _frame(rows, BESIDE)


def _rows(record: ObservedRecord) -> Iterable[dict[str, Any]]:
    for row in kernels(record, None).to_dict("records"):
        known = {str(name): None if pd.isna(value) else value for name, value in row.items()}
        yield {**known, "name": row["whole_name"]}


def _change(before: Mapping[str, Any] | None, after: Mapping[str, Any] | None) -> str:
    if before is None or after is None:
        return "+ added" if before is None else "− removed"
    return "same" if before["launches"] == after["launches"] else "≠ launches"


def _between(before: Mapping[str, Any] | None, after: Mapping[str, Any] | None, name: str) -> str | None:
    values = [theme.count(one[name]) for one in (before, after) if one is not None]
    if set(values) == {theme.MISSING}:
        return None
    return values[0] if len(set(values)) == 1 else " → ".join(values)


def operators(record: ObservedRecord) -> pd.DataFrame:
    """A row a mode and operator: calls, host time (µs) and kernels of one call of the workload."""
    rows = []
    for row in record.operators.to_dict("records"):
        calls = calls_of(record, row["mode"])
        rows.append(
            {
                "mode": row["mode"],
                "name": row["name"],
                "calls": per_call(_whole(row["calls"]), calls),
                "time": _micros(row["host_ms"], calls),
                "kernels": per_call(_whole(row["kernels"]), calls),
            }
        )
    return _frame(rows, OPERATORS)


def sync_points(sides: Sequence[Side]) -> pd.DataFrame:
    """A row a side, mode and place in which the host was made to wait in one call."""
    rows = []
    for word, record in sides:
        for mode, said in record.modes.items():
            found = said.get("sync_points")
            for one in found if isinstance(found, list) else ():
                place = f"{one.get('file')}:{one.get('line')}"
                rows.append({"side": word, "mode": mode, "where": place, **_mapping(one)})
    return _frame(rows, SYNC_POINTS)


def held(record: ObservedRecord, generated: pd.DataFrame) -> Held | None:
    """The walk's kernels against those that the compiled batch launched; None where its launches are not known. ``generated``:
    those of the evaluation itself (name, kind, form)."""
    batch = _mapping((record.modes.get("compiled") or {}).get("batch"))
    if not batch:
        return None
    launched = [
        Launched(row["name"], int(row["launches"]), float(row["device_ms"]))
        for row in record.kernels.to_dict("records")
        if row["mode"] == "compiled" and row["kind"] == "kernel"
    ]
    whole = batch.get("lost") == 0 and batch.get("orphans") == 0
    return hold(_named(generated), launched, _named(record.elsewhere), whole=whole)


def _named(kernels: pd.DataFrame) -> list[Generated]:
    rows = kernels[["name", "kind", "form"]].to_dict("records") if len(kernels) else []
    return [Generated(row["name"], _text(row["kind"]), _text(row["form"])) for row in rows]


def calls_of(record: ObservedRecord, mode: str) -> int | None:
    """How many calls the batch of a mode has."""
    return _whole((record.modes.get(mode) or {}).get("calls"))


def _micros(ms: Any, calls: int | None) -> float | None:
    value = _number(ms)
    return None if value is None or not calls else value * 1000 / calls


def _share(part: Any, whole: float | None) -> str | None:
    value = _number(part)
    return None if value is None or not whole else f"{value / whole:.0%}"


def _mapping(value: Any) -> dict[str, Any]:
    return dict(value) if isinstance(value, Mapping) else {}


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _number(value: Any) -> float | None:
    known = isinstance(value, int | float) and not isinstance(value, bool) and not pd.isna(value)
    return float(value) if known else None


def _whole(value: Any) -> int | None:
    number = _number(value)
    return None if number is None else int(number)


def _frame(rows: list[dict[str, Any]], columns: Sequence[str]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=list(columns), dtype="object").infer_objects()
