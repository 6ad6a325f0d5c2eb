"""How the two sides of a comparison are named to a reader, so that no two names are equal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from db.queries.run_sides import SideRef

# More would make a name of a list; a comparison lists all that moved anyway.
_MOST_NAMED: Final = 2


def labels(
    base: tuple[SideRef, Mapping[str, Any]], candidate: tuple[SideRef, Mapping[str, Any]]
) -> tuple[str, str]:
    """Names of two sides, each with its environment's fields: torch's version, and where that is equal the run, or in
    one run what else differs, or which copy of the environment it is."""
    names = [f"torch {side.torch or 'unknown'}" for side, _ in (base, candidate)]
    if names[0] != names[1]:
        return names[0], names[1]
    if base[0].run != candidate[0].run:
        return f"{names[0]} (run {base[0].run})", f"{names[1]} (run {candidate[0].run})"
    told = [list(_told(mine, other)) for mine, other in ((base[1], candidate[1]), (candidate[1], base[1]))]
    first, second = (f" ({', '.join(listed[:_MOST_NAMED])})" if listed else "" for listed in told)
    if first == second:
        return f"{names[0]} ({base[0].position})", f"{names[1]} ({candidate[0].position})"
    return names[0] + first, names[1] + second


def _told(mine: Mapping[str, Any], other: Mapping[str, Any]) -> Iterator[str]:
    """What of a side's fields the other has differently."""
    flat, against = dict(_flat(mine)), dict(_flat(other))
    for name in sorted({*flat, *against}):
        value = flat.get(name)
        if value == against.get(name):
            continue
        if name == "copy":
            if value is not None:
                yield f"copy {value}"
        elif name.startswith("variables."):
            yield f"{name.partition('.')[2]}{' unset' if value is None else f'={value}'}"
        else:
            yield f"{'no ' if value is None else ''}{name.rpartition('.')[2]}{'' if value is None else f' {value}'}"


def _flat(fields: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in fields.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{before}{name}.")
        else:
            yield before + name, value
