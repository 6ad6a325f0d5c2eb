"""Which workloads there are: the packs, and what a user's own modules and files register.

Loading runs the sources' code, so it belongs in a process that may die. A source that can't be loaded, or a
workload that makes no sense, is a `Problem` and never an exception: one bad file costs its own workloads only.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from workloads.definition import definition_hash, definition_text, jsonable
from workloads.records import Workload
from workloads.registry import Registration
from workloads.sources import SourceError, read_source

PACKS: Final = Path(__file__).parent / "packs"


@dataclass(frozen=True)
class Problem:
    """Why a workload, or all of a source, can't be evaluated. `source` is a module or a file's name."""

    name: str
    source: str
    message: str


@dataclass
class Catalog:
    """What was loaded, in order: the packs by theme, then the sources as given."""

    workloads: dict[str, Workload] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)


def load(sources: Sequence[str] = (), packs: bool = True) -> Catalog:
    """Everything the packs (unless `packs` is false) and the sources register. Never raises for a bad source.

    A source is a dotted module, a file, or a folder of files (those whose name starts with `_` left out).
    """
    catalog = Catalog()
    for source in _all_sources(sources, packs):
        _load_into(catalog, source)
    return catalog


def load_one(sources: Sequence[str], packs: bool, name: str) -> Workload:
    """The workload `load` would give under that name, importing no more than it takes to find it.

    Raises LookupError, with what went wrong in the sources on the way, where there is none.
    """
    theme = name.split(".")[0]
    catalog = Catalog()
    for source in _all_sources(sources, packs):
        if source.startswith("workloads.packs.") and source != f"workloads.packs.{theme}":
            continue
        if _other_plain_file(source, name):
            continue
        _load_into(catalog, source)
        if name in catalog.workloads:
            return catalog.workloads[name]
    reasons = "; ".join(f"{problem.source}: {problem.message}" for problem in catalog.problems)
    raise LookupError(f"there is no workload {name!r}" + (f" ({reasons})" if reasons else ""))


def describe(catalog: Catalog) -> list[dict[str, Any]]:
    """The catalog as JSON-serialisable records, the workloads first, then the problems.

    `source` is the text that defines the workload. Where `standalone` is true it runs alone, with torch and
    `libraries`, and ends with `build`, `inputs` and, if the workload has them, `check` and `request` defined; where it is
    false, `standalone_reason` says why and `source` is the whole file.
    """
    described = [_describe(workload) for workload in catalog.workloads.values()]
    return described + [
        {"name": problem.name, "source": problem.source, "problem": problem.message}
        for problem in catalog.problems
    ]


def _describe(workload: Workload) -> dict[str, Any]:
    text = definition_text(workload)
    return {
        "name": workload.name,
        "stands_for": workload.stands_for,
        "definition_hash": definition_hash(workload, text.source),
        "source": text.source,
        "standalone": text.standalone_reason is None,
        "standalone_reason": text.standalone_reason,
        "origin": workload.place.origin,
        "form": workload.form,
        "training": workload.training,
        "grad": workload.grad,
        "calls": workload.calls,
        "requires": workload.requires,
        "tags": sorted(workload.tags),
        "tolerance": jsonable(workload.tolerance),
        "repeats": workload.repeats,
        "precision": workload.precision,
        "environment": list(workload.environment),
        "libraries": list(workload.libraries),
        "buckets": [
            {"name": b.name, "params": jsonable(b.params), "requires": b.requires} for b in workload.buckets
        ],
        "variants": [
            {
                "name": variant.name,
                "options": jsonable(variant.options),
                "evidence_only": variant.evidence_only,
                "requires": variant.requires,
                "precision": variant.precision,
            }
            for variant in workload.variants
        ],
        "rungs": [
            {"name": rung.name, "options": jsonable(rung.options), "precision": rung.precision}
            for rung in workload.rungs()
        ],
    }


def _all_sources(sources: Sequence[str], packs: bool) -> Iterator[str]:
    if packs:
        yield from (f"workloads.packs.{file.stem}" for file in sorted(PACKS.glob("[!_]*.py")))
    seen: set[str] = set()
    for source in sources:
        folder = Path(source)
        is_folder = folder.is_dir() and ("/" in source or not (folder / "__init__.py").is_file())
        files = sorted(str(file) for file in folder.glob("[!_]*.py")) if is_folder else []
        for one in files or [source]:
            identity = str(Path(one).resolve()) if one.endswith(".py") else one
            if identity not in seen:
                seen.add(identity)
                yield one


def _other_plain_file(source: str, name: str) -> bool:
    """Whether this is, by its text, a plain file that is named after something else and need not be run."""
    file = Path(source)
    if not source.endswith(".py") or file.stem == name:
        return False
    try:
        tree = ast.parse(file.read_bytes())
    except (OSError, SyntaxError, ValueError):
        return False
    uses_registry = any(
        (isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "workloads")
        or (
            isinstance(node, ast.Import)
            and any(alias.name.split(".")[0] == "workloads" for alias in node.names)
        )
        for node in ast.walk(tree)
    )
    return not uses_registry and any(
        isinstance(node, ast.FunctionDef) and node.name == "build" for node in tree.body
    )


def _load_into(catalog: Catalog, source: str) -> None:
    try:
        found = read_source(source)
    except SourceError as error:
        catalog.problems.append(Problem(_free_name(catalog, error.name), error.source, str(error)))
        return
    for registration in found:
        _add(catalog, registration)


def _add(catalog: Catalog, registration: Registration) -> None:
    place, name = registration.place, registration.name
    first = catalog.workloads.get(name)
    if registration.workload is None:
        message = f"{place}: {registration.problem}"
    elif first is not None:
        message = (
            f"the name {name!r} at {place} is already taken by {first.place}: give this one another name"
        )
    else:
        catalog.workloads[name] = registration.workload
        return
    catalog.problems.append(Problem(_free_name(catalog, name, str(place)), place.origin, message))


def _free_name(catalog: Catalog, name: str, place: str = "") -> str:
    """The name, or one with the place (or a number) added where something else is already recorded under it."""
    taken = {*catalog.workloads, *(problem.name for problem in catalog.problems)}
    if name in taken and place:
        name = f"{name} at {place}"
    number, free = 2, name
    while free in taken:
        free, number = f"{name} ({number})", number + 1
    return free
