"""The order of torch versions, by release and never by text (2.9.1 comes before 2.12.0), and of targets."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from packaging.version import InvalidVersion, Version

from evaluator.verdicts.words import is_codegen


def version_key(version: str) -> tuple[int, Version, str]:
    """Sort key of a version; what is no version sorts after all that are, by its text."""
    try:
        return 0, Version(version), version
    except InvalidVersion:
        return 1, Version("0"), version


def in_order(versions: Iterable[str]) -> list[str]:
    """Distinct versions, oldest first."""
    return sorted(set(versions), key=version_key)


def targets_in_order(targets: Iterable[str]) -> tuple[str, ...]:
    """Distinct targets by name, those on which nothing runs after all others."""
    return tuple(sorted(set(targets), key=lambda one: (is_codegen(one), one)))


def built_for(environment: Any) -> tuple[Any, Any]:
    """Columns of an environment (a model, or a table's columns) that say what its torch was built for: built_cuda and
    built_hip, versions as text, NULL for a build without."""
    hip = environment.fields["built_hip"].as_string()
    return environment.torch_cuda.label("built_cuda"), hip.label("built_hip")
