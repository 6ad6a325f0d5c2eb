"""Turning what a record says into what a column takes: the wrong type or a number that is none becomes NULL.

Records come from other machines and other versions. SQLite would store any of this and PostgreSQL refuse it
(a NUL in a text, a NaN in JSON), so one rule holds for both: a typed column takes its type or NULL, a JSON column
takes everything, with what JSON can't say written as text.
"""

from __future__ import annotations

import math
from datetime import UTC, datetime
from typing import Any

# Both databases end their integers there.
_LARGEST_INTEGER = 2**63 - 1


def text(value: Any) -> str | None:
    """A text, or a number or boolean written as one; None for anything else. NUL and lone surrogates are replaced."""
    if isinstance(value, str):
        return value.replace("\x00", "\ufffd").encode("utf-8", "replace").decode("utf-8")
    if isinstance(value, (int, float)):
        return str(value)
    return None


def integer(value: Any) -> int | None:
    """An integer of 64 bits; None for anything else, booleans included."""
    if isinstance(value, bool) or not isinstance(value, int) or abs(value) > _LARGEST_INTEGER:
        return None
    return value


def number(value: Any) -> float | None:
    """A finite number; None for anything else: SQLite has no NaN, and an infinity is no measurement."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    try:
        return float(value) if math.isfinite(value) else None
    except OverflowError:
        return None


def flag(value: Any) -> bool | None:
    """True or false; None for anything else."""
    return value if isinstance(value, bool) else None


def moment(value: Any) -> datetime | None:
    """An ISO 8601 time, taken as UTC where it names no zone; None where it is not one."""
    try:
        parsed = datetime.fromisoformat(value)
    except (TypeError, ValueError):
        return None
    return parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)


def json_value(value: Any) -> Any:
    """A copy that strict JSON can hold: a NaN becomes the text ``nan``, an infinity ``inf`` or ``-inf``."""
    if isinstance(value, dict):
        return {text(str(key)): json_value(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [json_value(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if value is None or isinstance(value, (bool, int, float)):
        return value
    return text(value if isinstance(value, str) else str(value))


def json_object(value: Any) -> dict[str, Any] | None:
    """A JSON object as :func:`json_value` copies it; None for anything else."""
    return json_value(value) if isinstance(value, dict) else None


def json_list(value: Any) -> list[Any] | None:
    """A JSON array as :func:`json_value` copies it; None for anything else, and for an empty one."""
    return json_value(value) if isinstance(value, (list, tuple)) and value else None
