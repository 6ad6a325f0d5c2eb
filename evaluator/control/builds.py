"""Between a walk for a card that is not there and the build of what it generated: the kernels, bucket by bucket."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from evaluator import machine
from evaluator.control.probe_records import Files

MANIFEST: Final = "manifest.json"
# What Triton builds; a kernel of another kind is built by nothing here.
_BUILT: Final = frozenset({"triton", "template"})

Record = dict[str, Any]


def builds_folder() -> Path:
    """Where builds stay from run to run, each under what it depends on."""
    return machine.cache_folder() / "builds"


def write_manifest(folder: Path, files: Sequence[Files]) -> None:
    """Write the kernels of a unit's traced walks, each source once, and which bucket generated which.

    A kernel's key is the sha256 of the artifact that keeps its source.
    """
    folder.mkdir(parents=True, exist_ok=True)
    kernels: dict[str, Record] = {}
    buckets: dict[str, list[str]] = {}
    for one in files:
        for evidence in one.evidence.values():
            for bucket, found in evidence.items():
                keys = buckets.setdefault(bucket, [])
                for use in found.kernels:
                    if use.kernel.source is None or use.kernel.kind not in _BUILT:
                        continue
                    key = hashlib.sha256(machine.shorten(use.kernel.source).encode()).hexdigest()
                    if key not in kernels:
                        file = folder / f"{key}.py"
                        file.write_text(use.kernel.source)
                        kernels[key] = {"name": use.kernel.name, "file": str(file)}
                    if key not in keys:
                        keys.append(key)
    (folder / MANIFEST).write_text(json.dumps({"kernels": kernels, "buckets": buckets}))
