"""What defines a workload, as text and as a hash: two runs measured the same work if the hashes are equal."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from workloads.records import PRECISION_VARIANTS, Workload
from workloads.source import NotStandalone, standalone_source


@dataclass(frozen=True)
class DefinitionText:
    """The source that defines a workload, and why it can't run alone (None if it can)."""

    source: str
    standalone_reason: str | None


def definition_text(workload: Workload) -> DefinitionText:
    """The stand-alone text of `build`, `inputs`, `check` and `request` with all they use, or else the whole file."""
    if workload.form == "plain":
        return DefinitionText(_file_text(workload), None)
    parts: dict[str, object] = {"build": workload.build, "inputs": workload.inputs}
    for role in ("check", "request"):
        if getattr(workload, role) is not None:
            parts[role] = getattr(workload, role)
    try:
        return DefinitionText(standalone_source(parts, workload.place.module), None)
    except NotStandalone as reason:
        return DefinitionText(_file_text(workload), str(reason))


def definition_hash(workload: Workload, source: str) -> str:
    """sha256 over the source text and what else decides the work: buckets, variants, tolerance, flags.

    The name, `stands_for`, tags and everything about where the file lies are left out.
    """
    defined = {
        "source": source,
        "buckets": [
            [bucket.name, jsonable(bucket.params), *filter(None, [bucket.requires])]
            for bucket in workload.buckets
        ],
        "variants": [
            [v.name, jsonable(v.options), v.evidence_only, v.requires, *filter(None, [v.precision])]
            for v in workload.variants
            if v not in PRECISION_VARIANTS
        ],
        "tolerance": jsonable(workload.tolerance),
        "training": workload.training,
        "grad": workload.grad,
        "calls": workload.calls,
        "requires": workload.requires,
        "repeats": workload.repeats,
        "precision": workload.precision,
    }
    return hashlib.sha256(json.dumps(defined, sort_keys=True).encode()).hexdigest()


def jsonable(value: Any) -> Any:
    """The value as JSON can hold it: tuples as lists, functions and classes by name, anything else as its text."""
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return value if value - value == 0 else str(value)  # JSON has no infinity and no NaN
    if isinstance(value, Mapping):
        return {str(key): jsonable(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [jsonable(item) for item in value]
    if isinstance(value, (set, frozenset)):
        return sorted(str(item) for item in value)
    if callable(value):
        return getattr(value, "__qualname__", type(value).__qualname__)
    return str(value)


def _file_text(workload: Workload) -> str:
    return Path(workload.place.file).read_text(encoding="utf-8")
