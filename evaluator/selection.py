"""Which cells a run is about: globs over what a worker described, and why a cell can't be measured here."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, fields
from fnmatch import fnmatchcase
from typing import Any, Final

from evaluator.errors import NothingSelected, UserError
from evaluator.verdicts.words import is_codegen

Description = dict[str, Any]

DEFAULT_VARIANT: Final = "default"
# Stands for the bucket and the definition of a workload that could not be loaded.
NOT_LOADED: Final = "-"
# Backends that run what was captured without generating code.
_WITHOUT_CODE: Final = frozenset({"eager", "aot_eager"})
# What satisfies each need, by the target's kind, and what to do where it is not met. A GPU's code can be made where
# none is; what needs CUDA itself has to run there.
_SATISFIED_BY: Final = {"cuda": ("cuda",), "gpu": ("cuda", "codegen")}
_REMEDIES: Final = {
    "cuda": "run it on a machine that has it, with --target cuda",
    "gpu": "run it on a machine that has one, with --target cuda, or see its code with --target codegen:<gpu>",
}


@dataclass(frozen=True)
class Selection:
    """What a user asked for. An empty tuple of globs takes all; without ``variants`` each workload's default one.

    ``only``: (workload, variant) pairs to which it is restricted; they then stand for ``variants`` where that is empty.
    ``rungs``: backends (``eager``, ``aot_eager``); the chosen variants' rungs are taken instead of the variants.
    ``card``: the figures of the card that a ``codegen`` target generates for.
    """

    workloads: tuple[str, ...] = ()
    buckets: tuple[str, ...] = ()
    variants: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    max_buckets: int | None = None
    target: str = "cpu"
    rungs: tuple[str, ...] = ()
    only: tuple[tuple[str, str], ...] = ()
    card: tuple[tuple[str, Any], ...] = ()

    def as_json(self) -> dict[str, Any]:
        return {key: _as_lists(value) for key, value in asdict(self).items()}

    @classmethod
    def from_json(cls, stored: dict[str, Any]) -> Selection:
        known = {field.name for field in fields(cls)}
        return cls(**{key: _as_tuples(value) for key, value in stored.items() if key in known})


@dataclass(frozen=True)
class Cell:
    """One workload, bucket, variant and target.

    ``needs_toolchain``: compiling it runs a C++ or Triton compiler. ``unsupported`` says why it can't be measured in
    this environment, ``problem`` why the workload did not load.
    """

    workload: str
    definition_hash: str
    bucket: str
    variant: str
    target: str
    evidence_only: bool = False
    fullgraph: bool = False
    needs_toolchain: bool = True
    unsupported: str | None = None
    problem: str | None = None

    @property
    def measurable(self) -> bool:
        """Whether it is worth a probe."""
        return self.unsupported is None and self.problem is None


def problem_description(problem: Description) -> Description:
    """A workload that could not be loaded, described so that it can be selected and seen: one cell."""
    return {
        "name": problem["name"],
        "definition_hash": NOT_LOADED,
        "problem": problem["problem"],
        "buckets": [{"name": NOT_LOADED, "params": {}}],
        "variants": [{"name": DEFAULT_VARIANT, "options": {}}],
        "tags": [],
    }


def unsupported(
    description: Description, variant: Description | None, target: str, bucket: Description | None = None
) -> str | None:
    """Why a described workload (or this variant or bucket of it) can't be measured on this target; None if it can."""
    for owner in (description, variant or {}, bucket or {}):
        need = owner.get("requires")
        if need and target.partition(":")[0] not in _SATISFIED_BY.get(need, (need,)):
            return f"requires {need}: {_REMEDIES.get(need, f'run it with --target {need}')}"
        if owner.get("unsupported"):
            return str(owner["unsupported"])
    backend = (variant or {}).get("options", {}).get("backend")
    if is_codegen(target) and backend in _WITHOUT_CODE:
        return f"the backend {backend!r} generates no code, so there is nothing to see of a card"
    return None


def select(descriptions: Sequence[Description], selection: Selection) -> list[Cell]:
    """The cells that a selection takes, workloads and buckets in their described order.

    A workload that could not be loaded is taken whatever its buckets, variants and tags would have been. Raises
    UserError where a glob, a tag or their combination matches nothing.
    """
    matching = _matching(descriptions, selection.workloads, "workload")
    broken = _restricted((d for d in matching if "problem" in d), selection.only)
    chosen = [description for description in matching if "problem" not in description]
    if broken and not chosen:
        return _broken_cells(broken, selection)
    chosen = _with_tags(chosen, selection.tags)
    buckets = _names(bucket for description in chosen for bucket in description["buckets"])
    variants = _names(variant for description in chosen for variant in description["variants"])
    _every_glob_matches(selection.buckets, buckets, "bucket")
    _every_glob_matches(selection.variants, variants, "variant")
    # The globs were checked against all: one that only meets workloads now left out is no mistake.
    kept = _restricted(chosen, selection.only)
    cells = [cell for description in kept for cell in _cells(description, selection)]
    cells += _broken_cells(broken, selection)
    if not cells:
        raise NothingSelected(
            "nothing is selected: no workload has both such a bucket and such a variant; see `list`"
        )
    return cells


def _cells(description: Description, selection: Selection) -> list[Cell]:
    buckets = _chosen_buckets(description, selection)
    variants = _chosen_variants(description, selection)
    if selection.rungs:
        variants = [rung for variant in variants for rung in _rungs(description, variant, selection.rungs)]
    return [
        Cell(
            workload=description["name"],
            definition_hash=description["definition_hash"],
            bucket=bucket["name"],
            variant=variant["name"],
            target=selection.target,
            evidence_only=bool(variant.get("evidence_only")),
            fullgraph=bool(variant["options"].get("fullgraph")),
            # For a card that is not there no C++ is generated.
            needs_toolchain=variant["options"].get("backend") not in _WITHOUT_CODE
            and not is_codegen(selection.target),
            unsupported=unsupported(description, variant, selection.target, bucket),
        )
        for variant in variants
        for bucket in buckets
    ]


def _chosen_buckets(description: Description, selection: Selection) -> list[Description]:
    """The first ``max_buckets`` that the target takes, and those named in full that it does not take.

    What can't be measured and nobody named would clutter every run; where nothing else matches, it says why.
    """
    matching = [one for one in description["buckets"] if _takes(selection.buckets, one["name"])]
    fitting = [one for one in matching if unsupported({}, None, selection.target, one) is None]
    if not fitting:
        return matching[: selection.max_buckets]
    first = fitting[: selection.max_buckets]
    return [
        one for one in matching if one in first or (one not in fitting and one["name"] in selection.buckets)
    ]


def _chosen_variants(description: Description, selection: Selection) -> list[Description]:
    described: list[Description] = description["variants"]
    if not selection.only:
        return _variants(described, selection.variants)
    pairs = set(selection.only)
    named = [variant for variant in described if (description["name"], variant["name"]) in pairs]
    return [variant for variant in named if _takes(selection.variants, variant["name"])]


def _rungs(description: Description, variant: Description, backends: Sequence[str]) -> list[Description]:
    """The described rungs of a variant with these backends; they need the device that the variant needs."""
    names = {f"{variant['name']}+{backend}" for backend in backends}
    needs = {name: variant.get(name) for name in ("requires", "unsupported")}
    return [{**rung, **needs} for rung in description.get("rungs", ()) if rung["name"] in names]


def select_descriptions(
    descriptions: Sequence[Description], globs: Sequence[str], tags: Sequence[str]
) -> list[Description]:
    """The workloads whose name matches a glob and that have one of the tags. Raises UserError as ``select`` does."""
    return _with_tags(_matching(descriptions, globs, "workload"), tags)


def _broken_cells(descriptions: Sequence[Description], selection: Selection) -> list[Cell]:
    return [
        Cell(d["name"], NOT_LOADED, NOT_LOADED, DEFAULT_VARIANT, selection.target, problem=d["problem"])
        for d in descriptions
    ]


def _variants(described: Sequence[Description], globs: Sequence[str]) -> list[Description]:
    if globs:
        return [variant for variant in described if _takes(globs, variant["name"])]
    defaults = [variant for variant in described if variant["name"] == DEFAULT_VARIANT]
    return defaults or list(described[:1])


def _matching(descriptions: Sequence[Description], globs: Sequence[str], what: str) -> list[Description]:
    _every_glob_matches(globs, _names(descriptions), what)
    return [description for description in descriptions if _takes(globs, description["name"])]


def _with_tags(descriptions: Sequence[Description], tags: Sequence[str]) -> list[Description]:
    known = sorted({tag for description in descriptions for tag in description.get("tags", ())})
    for tag in tags:
        if tag not in known:
            raise UserError(f"no selected workload has the tag {tag!r}; {_nearest(tag, known)}")
    return [d for d in descriptions if not tags or set(tags) & set(d.get("tags", ()))]


def _takes(globs: Sequence[str], name: str) -> bool:
    # A name given in full is meant, even where it would read as a pattern.
    return not globs or any(name == glob or fnmatchcase(name, glob) for glob in globs)


def _restricted(descriptions: Iterable[Description], only: Sequence[tuple[str, str]]) -> list[Description]:
    names = {workload for workload, _ in only}
    return [description for description in descriptions if not only or description["name"] in names]


def _as_lists(value: Any) -> Any:
    return [_as_lists(item) for item in value] if isinstance(value, tuple) else value


def _as_tuples(value: Any) -> Any:
    return tuple(_as_tuples(item) for item in value) if isinstance(value, list) else value


def _names(described: Iterable[Description]) -> list[str]:
    return list(dict.fromkeys(item["name"] for item in described))


def _every_glob_matches(globs: Sequence[str], names: Sequence[str], what: str) -> None:
    for glob in globs:
        if not any(_takes([glob], name) for name in names):
            raise UserError(f"no {what} matches {glob!r}; {_nearest(glob, names)}")


def _nearest(wanted: str, names: Sequence[str]) -> str:
    if not names:
        return "there is none; see `python -m evaluator list`"
    near = difflib.get_close_matches(wanted.strip("*?"), names, n=3, cutoff=0.5)
    if near:
        return f"did you mean {' or '.join(near)}?"
    shown = ", ".join(names[:8])
    return f"there {'is' if len(names) == 1 else 'are'} {shown}" + (" and more" if len(names) > 8 else "")
