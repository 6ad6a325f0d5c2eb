"""What differs between two environments, and how much of it may be blamed for what a comparison finds."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from evaluator.verdicts.findings import Moved

Fields = Mapping[str, Any]

TORCH: Final = "torch"
# The fields in the order in which a reader looks for them; PostgreSQL keeps none of what a record held.
_ORDER: Final = (
    *("torch", "torch_git", "built_cuda", "built_hip", "triton", "python", "python_implementation", "os"),
    *("libc", "compiler", "cpu_model", "cpu_count", "cpu_affinity", "cpu_capability", "threads"),
    *("interop_threads", "gpu", "capability", "driver", "libraries", "variables"),
)
_PLACE: Final = {name: place for place, name in enumerate(_ORDER)}

# What a torch build brings with it: these move whenever it moves, and are not a second thing to blame.
_BROUGHT_BY_TORCH: Final = frozenset({"torch", "torch_git", "built_cuda", "built_hip"})
# What torch decides by itself on one machine, unless something named beside it decides for it.
_CHOSEN_BY_TORCH: Final = frozenset({"cpu_capability", "threads", "interop_threads"})
# The machine: not a dependency that an upgrade moves.
_MACHINE: Final = frozenset(
    {
        "cpu_model",
        "cpu_count",
        "cpu_affinity",
        "cpu_capability",
        "gpu",
        "capability",
        "memory_mb",
        "os",
        "libc",
    }
)
# The number of threads follows from these.
_SETS_THREADS: Final = frozenset({"cpu_count", "cpu_affinity"})
_THREAD_VARIABLES: Final = ("OMP_", "MKL_", "KMP_", "GOMP_", "OPENBLAS_", "ATEN_")
# Tells two servers of one interpreter apart; nothing that could matter differs.
_NOT_A_FIELD: Final = frozenset({"copy"})
# Fields that hold named parts, each of which moves by itself.
_GROUPS: Final = ("libraries", "variables")
_SAME_DEPENDENCY: Final = {"python_implementation": "python"}


def moved(base: Fields, candidate: Fields) -> tuple[Moved, ...]:
    """Every field that differs between two fingerprints: torch's first, then dependencies, then the machine.

    One torch with all it brings (its build, CUDA, and Triton, which follows its pin) is one dependency, ``torch``;
    where torch is the same and Triton is not, Triton is one. Each library and each variable is one of its own. A
    library that one side was not asked for is shown, and blames nothing: nobody knows its version there.
    """
    names = [name for name in (*base, *candidate) if name not in _NOT_A_FIELD and name not in _GROUPS]
    differing = [name for name in dict.fromkeys(names) if base.get(name) != candidate.get(name)]
    parts = _follow_torch(list(_parts(base, candidate)), bool(_BROUGHT_BY_TORCH & set(differing)))
    settled = {*differing, *(one.field for one in parts)}
    found = [
        Moved(name, shown(base.get(name)), shown(candidate.get(name)), _dependency(name, settled))
        for name in differing
    ]
    return tuple(
        sorted(
            [*found, *parts],
            key=lambda one: (one.dependency is None, one.dependency != TORCH, place(one.field)),
        )
    )


def place(field: str) -> tuple[int, str]:
    """Where a field stands among all: the known ones first, others by name; ``libraries.numpy`` where libraries do."""
    return _PLACE.get(field.partition(".")[0], len(_ORDER)), field


def dependencies(changes: Iterable[Moved]) -> tuple[str, ...]:
    """The dependencies that moved, each once."""
    return tuple(dict.fromkeys(one.dependency for one in changes if one.dependency is not None))


def build_of(fields: Fields) -> str:
    """What a torch was built for: ``CPU``, ``CUDA`` or ``ROCm``."""
    if fields.get("built_hip"):
        return "ROCm"
    return "CUDA" if fields.get("built_cuda") else "CPU"


def different_builds(base: Fields, candidate: Fields) -> bool:
    """Whether imports and host memory differ by the build alone, so that comparing them says nothing of a version."""
    return build_of(base) != build_of(candidate)


def warnings_of(
    changes: Iterable[Moved], base: Fields, candidate: Fields, same_machine: bool
) -> tuple[str, ...]:
    """What a reader has to know before any verdict, one sentence each."""
    changes = tuple(changes)
    names = dependencies(changes)
    said = []
    if not same_machine:
        said.append("The sides ran on different machines, so times are not compared.")
    if len(names) > 1:
        said.append(
            f"More than one dependency moved ({', '.join(names)}): no difference can be put down to one of them."
        )
    if not names:
        said.append(
            "Nothing that could matter differs between the sides, so this compares an environment with itself."
            if not changes
            else "No dependency moved: what differs is the machine, or was recorded on one side only."
        )
    if different_builds(base, candidate):
        said.append(
            f"The builds of torch differ ({build_of(base)} and {build_of(candidate)}), "
            "so import times and host memory are not compared."
        )
    return tuple(said)


def shown(value: Any) -> str | None:
    """A field's value as text; None where it has none."""
    if value is None or isinstance(value, str):
        return value
    return json.dumps(value, sort_keys=True)


def _parts(base: Fields, candidate: Fields) -> Iterator[Moved]:
    for group in _GROUPS:
        ours, theirs = base.get(group) or {}, candidate.get(group) or {}
        for name in sorted({*ours, *theirs}):
            if ours.get(name) == theirs.get(name) and (name in ours) == (name in theirs):
                continue
            # A variable that is not listed was not set; a library that is not listed was not asked for.
            known = group == "variables" or (name in ours and name in theirs)
            yield Moved(
                f"{group}.{name}", shown(ours.get(name)), shown(theirs.get(name)), name if known else None
            )


def _follow_torch(parts: list[Moved], other_torch: bool) -> list[Moved]:
    """Triton as a library that a workload uses is the one that torch pins: beside another torch it is no second one."""
    return [
        replace(one, dependency=TORCH)
        if other_torch and one.field == "libraries.triton" and one.dependency
        else one
        for one in parts
    ]


def _dependency(name: str, moved_fields: set[str]) -> str | None:
    if name in _BROUGHT_BY_TORCH:
        return TORCH
    other_torch = bool(moved_fields & _BROUGHT_BY_TORCH)
    if name == "triton":
        return TORCH if other_torch else name
    if name in _CHOSEN_BY_TORCH and other_torch and not _decided_elsewhere(name, moved_fields):
        return TORCH
    if name in ("threads", "interop_threads"):
        return None if _decided_elsewhere(name, moved_fields) else "threads"
    if name in _MACHINE:
        return None
    return _SAME_DEPENDENCY.get(name, name)


def _decided_elsewhere(name: str, moved_fields: set[str]) -> bool:
    """Whether another field that moved explains this one."""
    if name == "cpu_capability":
        return "cpu_model" in moved_fields or "variables.ATEN_CPU_CAPABILITY" in moved_fields
    variables = (one.removeprefix("variables.") for one in moved_fields if one.startswith("variables."))
    return bool(moved_fields & _SETS_THREADS) or any(one.startswith(_THREAD_VARIABLES) for one in variables)
