"""What was seen to run, in sentences. Records in, words out; pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any, Final

from app import theme
from app.observed.frames import calls_of
from app.timeline.words import Said
from db.queries.observed import ObservedRecord
from evaluator.chrome_trace.generated import Held, per_call
from evaluator.chrome_trace.names import short
from evaluator.worker.protocol import MODES

NOTHING: Final = (
    "No trace was recorded of this evaluation. A run with --chrome-traces records what runs, eager and compiled; with --target cuda "
    "it does so by itself."
)
_LACKING: Final = (
    ("lost", "launch", "launches", "whose work it lacks"),
    ("orphans", "piece of work", "pieces of work", "whose launch it lacks"),
)
NOT_FASTER: Final = "Fewer launches are not faster: the times of the timing probe say what is."


def sentences(record: ObservedRecord, held: Held | None) -> list[Said]:
    """What a profile says of one evaluation, and what it can't."""
    return [*_probe(record), *_launches(record), *_generated(held), *_amiss(record), *_waits(record)]


def _probe(record: ObservedRecord) -> Iterator[Said]:
    if record.status != "ok":
        because = f": {theme.literal(record.reason)}" if record.reason else ""
        yield Said("note", f"The profile ended as {theme.status_text(record.status)}{because}.")
    # On a target without a device both have one reason.
    reasons: dict[str, list[str]] = {}
    for mode in MODES:
        reason = (record.modes.get(mode) or {}).get("reason")
        if isinstance(reason, str):
            reasons.setdefault(reason, []).append(mode)
    for reason, modes in reasons.items():
        yield Said("note", f"Kernels of {' and '.join(modes)} are not known: {theme.literal(reason)}.")


def _launches(record: ObservedRecord) -> Iterator[Said]:
    counts = {mode: _per_call(record, mode, "kernels") for mode in MODES}
    eager, compiled = (counts[mode] for mode in MODES)
    if eager is not None and compiled is not None:
        yield Said(
            "note",
            f"A call launches **{eager:,.4g}** kernels eager (before fusion) and **{compiled:,.4g}** compiled "
            f"(after it). {NOT_FASTER}",
        )


def _generated(held: Held | None) -> Iterator[Said]:
    if held is None:
        return
    if held.never is None:
        yield Said(
            "note", "Whether each generated kernel was launched is not known: the trace may lack launches."
        )
    elif held.never:
        names = theme.listed([theme.literal(name) for name in held.never])
        yield Said("note", f"**Generated and never launched** in the batch ({len(held.never):,}): {names}.")
    elif held.both:
        yield Said("good", "Every kernel that was generated for this bucket was launched.")
    if held.others:
        origins = Counter(place or "not known by its name" for _, place in held.others)
        told = ", ".join(f"{place} {count:,}" for place, count in origins.most_common())
        names = theme.listed(
            [theme.literal(one) for one in dict.fromkeys(short(one.name) for one, _ in held.others)]
        )
        yield Said("note", f"**Launched and not generated** ({told}): {names}.")


def _amiss(record: ObservedRecord) -> Iterator[Said]:
    for mode in MODES:
        said = record.modes.get(mode) or {}
        if mode == "compiled" and said.get("regions") == []:
            yield Said("bad", "No compiled region ran in the compiled batch: all of it ran eager.")
        if said.get("compiles_in_batch"):
            found = theme.counted(int(said["compiles_in_batch"]), "compile")
            yield Said("bad", f"{found} fell into the {mode} batch, which is so not steady.")
        if isinstance(said.get("devices"), int) and said["devices"] > 1:
            yield Said("note", f"{said['devices']} devices worked ({mode}): of the one that did most.")
        batch: dict[str, Any] = said.get("batch") or {}
        for name, what, many, lacks in _LACKING:
            if batch.get(name):
                told = theme.counted(int(batch[name]), what, many)
                yield Said(
                    "note", f"The {mode} trace has {told} {lacks}: its counts are the least there were."
                )


def _waits(record: ObservedRecord) -> Iterator[Said]:
    told: dict[str, list[str]] = {}
    for mode in MODES:
        said = record.modes.get(mode)
        if said is None:
            continue
        points, reason = said.get("sync_points"), said.get("sync_reason")
        if isinstance(points, list):
            if not points:
                told.setdefault(
                    "Nothing was found that makes the host wait; torch's sync debugging does not know all that does",
                    [],
                ).append(mode)
        elif isinstance(reason, str):
            told.setdefault(
                f"Where the host is made to wait is not known: {theme.literal(reason)}", []
            ).append(mode)
    for sentence, modes in told.items():
        yield Said("note", f"{sentence} ({' and '.join(modes)}).")


def _per_call(record: ObservedRecord, mode: str, what: str) -> float | None:
    batch = (record.modes.get(mode) or {}).get("batch") or {}
    count = batch.get(what)
    return per_call(count if isinstance(count, int) else None, calls_of(record, mode))
