"""From what the probes of an evaluation found to its one row of facts. Pure: no database."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from db import values
from db.models import RAN_EAGER, Facts

_FLAGS: Final = frozenset({"recompile_limit_hit", "reused_code", "nothing_compiled"})
_WORDS: Final = {"ran_eager": RAN_EAGER}
# The facts that have a column of their own, in its order.
TYPED: Final = tuple(
    column.name
    for column in Facts.__table__.columns
    if column.name not in ("id", "evaluation_id", "probe_id", "extra")
)


@dataclass(frozen=True)
class ProbeFacts:
    """What one probe found. ``id``: its row; ``replica``: number of the replica in its run."""

    id: int
    replica: int | None
    attempt: int
    probe: str
    cache: str | None
    facts: dict[str, Any]


@dataclass(frozen=True)
class MergedFacts:
    """``typed``: every name of TYPED, None where unknown; ``probe_id``: the walk they come from; ``extra``: the rest."""

    probe_id: int | None
    typed: dict[str, Any]
    extra: dict[str, Any]

    def shown(self) -> dict[str, Any]:
        """All facts by name; a typed one that its column could not take is shown as the probe reported it."""
        known = {name: value for name, value in self.typed.items() if value is not None}
        return {**self.typed, **self.extra, **known}


def merge(probes: Iterable[ProbeFacts]) -> MergedFacts:
    """The facts of an evaluation: the counts of its first walk that has evidence, and what else probes found.

    Counts come from one walk only, so that they belong together: the first replica's, its last attempt. Every
    other fact of that walk stands in ``extra`` by its name, those of other probes below ``compile.cold``,
    ``accuracy`` and so on, where the first replica's last attempt stands too.
    """
    ordered = sorted(probes, key=lambda one: (one.replica is None, one.replica or 0, -one.attempt, one.id))
    walks = [one for one in ordered if one.probe == "walk" and one.facts]
    walk = next(
        (one for one in walks if any(name in one.facts for name in TYPED)), walks[0] if walks else None
    )
    found = walk.facts if walk else {}
    typed = {name: _typed(name, found.get(name)) for name in TYPED}
    extra = {
        name: values.json_value(value)
        for name, value in found.items()
        if name not in typed or (value is not None and typed[name] is None)
    }
    for one in ordered:
        place = f"{one.probe}.{one.cache}" if one.cache else one.probe
        if one.probe != "walk" and one.facts and place not in extra:
            extra[place] = values.json_value(one.facts)
    return MergedFacts(walk.id if walk else None, typed, extra)


def _typed(name: str, value: Any) -> Any:
    if name in _FLAGS:
        return values.flag(value)
    if name in _WORDS:
        return value if value in _WORDS[name] else None
    return values.integer(value)
