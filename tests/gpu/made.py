"""Kernels that a card got and those that were generated for it without it: names, bodies, machine code. Needs no GPU."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from evaluator.worker.targets.codegen.cubin import machine_code_hash
from tests.gpu.harness import Check, Record, probes


@dataclass(frozen=True)
class Made:
    """A Triton kernel: the hash of its body, and of the machine code of each configuration that was built.

    ``unbuilt``: why there is no machine code of it.
    """

    body: str | None
    binaries: frozenset[str] = frozenset()
    unbuilt: str | None = None


Kernels = dict[str, Made]


def with_binaries(kernels: Mapping[str, Made], caches: Path) -> Kernels:
    """The kernels with what Triton left of them in a cache folder: a file a configuration, named after the kernel."""
    hashes: dict[str, set[str]] = {}
    for file in caches.rglob("*.cubin"):
        found = machine_code_hash(file.read_bytes())
        if found is not None:
            hashes.setdefault(file.stem, set()).add(found)
    return {name: replace(one, binaries=frozenset(hashes.get(name, ()))) for name, one in kernels.items()}


def recorded(records: list[Record]) -> dict[str, Kernels]:
    """Triton kernels of each workload in the records of a run for a card that is not there."""
    workload_of = {one["uuid"]: one["workload"] for one in records if one.get("type") == "evaluation"}
    found: dict[str, Kernels] = {}
    for probe in probes(records, "walk"):
        mine = found.setdefault(workload_of[probe["evaluation"]], {})
        mine |= triton_kernels(probe.get("kernels") or ())
    for probe in probes(records, "build"):
        mine = found.setdefault(workload_of[probe["evaluation"]], {})
        for build in probe.get("builds") or ():
            known = mine.get(build["name"])
            if known is not None:
                mine[build["name"]] = _with_build(known, build)
    return found


def triton_kernels(kernels: Iterable[Mapping[str, Any]]) -> Kernels:
    """Those of Triton among a walk's kernels, none of them built yet."""
    return {one["name"]: Made(one["source_hash"]) for one in kernels if one["kind"] == "triton"}


def compared(workload: str, here: Kernels, there: Kernels) -> list[Check]:
    """What must hold of a workload's kernels: the same names, equal bodies, and of each the machine code that was built
    without the card is among what the card got, which tries several configurations of some kernels."""
    checks = [
        Check(f"{workload}: kernels by name", here.keys() == there.keys(), [sorted(here), sorted(there)])
    ]
    if not here and not there:
        # All of it is a library's: there is nothing more to hold against one another.
        return checks
    both = sorted(here.keys() & there.keys())
    other = [name for name in both if here[name].body != there[name].body]
    checks.append(
        Check(f"{workload}: bodies of {len(both)} kernels of one name", bool(both) and not other, other)
    )
    unlike = {name: why for name in both if (why := _unlike(here[name], there[name])) is not None}
    good = bool(both) and not unlike
    checks.append(Check(f"{workload}: machine code of {len(both)} kernels of one name", good, unlike))
    return checks


def _unlike(here: Made, there: Made) -> str | None:
    if not there.binaries:
        return f"not built without the card: {there.unbuilt or 'nothing is recorded'}"
    if not here.binaries:
        return "the card's cache has no machine code of it"
    if there.binaries & here.binaries:
        return None
    return f"none of the card's {len(here.binaries)} builds is the one without it"


def _with_build(kernel: Made, build: Mapping[str, Any]) -> Made:
    if build.get("sass_hash"):
        return replace(kernel, binaries=kernel.binaries | {build["sass_hash"]})
    return replace(kernel, unbuilt=build.get("error") or "its file holds no machine code")
