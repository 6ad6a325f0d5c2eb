"""The order of torch versions: by release, never by text (2.9.1 comes before 2.12.0)."""

from __future__ import annotations

from collections.abc import Iterable

from packaging.version import InvalidVersion, Version


def version_key(version: str) -> tuple[int, Version, str]:
    """Sort key of a version; what is no version sorts after all that are, by its text."""
    try:
        return 0, Version(version), version
    except InvalidVersion:
        return 1, Version("0"), version


def in_order(versions: Iterable[str]) -> list[str]:
    """Distinct versions, oldest first."""
    return sorted(set(versions), key=version_key)
