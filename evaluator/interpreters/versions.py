"""Versions and names of distributions, as far as they must be compared here; standard library only."""

from __future__ import annotations

import re
from typing import Final

# Version scheme: https://packaging.python.org/en/latest/specifications/version-specifiers/ (without epochs).
_VERSION: Final = re.compile(
    r"v?(?P<release>\d+(?:\.\d+)*)(?P<rest>(?:[.]?(?:a|b|rc)\d+)?(?:\.post\d+)?(?:\.dev\d+)?)"
    r"(?:\+(?P<local>[A-Za-z0-9]+(?:[._-][A-Za-z0-9]+)*))?",
    re.IGNORECASE,
)


def is_version(text: str) -> bool:
    """Whether this is one exact version: ``2.14.1``, ``2.13.0+cpu``, ``2.15.0.dev20261101``."""
    return _VERSION.fullmatch(text) is not None


def same_version(wanted: str, found: str) -> bool:
    """Whether ``found`` is what ``wanted`` asks for, as ``==`` of a requirement: zeros at the end do not count, and
    the build behind the plus sign counts only where it is asked for."""
    one, other = _VERSION.fullmatch(wanted), _VERSION.fullmatch(found)
    if one is None or other is None:
        return wanted == found
    if one["local"] is not None and one["local"].lower() != (other["local"] or "").lower():
        return False
    return _release(one["release"]) == _release(other["release"]) and _rest(one) == _rest(other)


def minor(version: str) -> tuple[int, int]:
    """The first two numbers of a version's release. Raises ValueError for what is no version."""
    parsed = _VERSION.fullmatch(version)
    if parsed is None:
        raise ValueError(version)
    numbers = [*_release(parsed["release"]), 0, 0]
    return numbers[0], numbers[1]


def canonical(name: str) -> str:
    """A distribution's name in the spelling that compares equal: ``Flash_Attn`` is ``flash-attn``."""
    return re.sub(r"[-_.]+", "-", name).lower()


def _release(text: str) -> tuple[int, ...]:
    numbers = [int(part) for part in text.split(".")]
    while len(numbers) > 1 and numbers[-1] == 0:
        numbers.pop()
    return tuple(numbers)


def _rest(parsed: re.Match[str]) -> str:
    return parsed["rest"].lower().replace(".", "")
