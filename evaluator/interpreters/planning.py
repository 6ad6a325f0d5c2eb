"""The interpreters under test: what is asked for (``2.14.1``, ``.,NAME=value``), found among those given, or made."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Protocol

from evaluator import machine
from evaluator.errors import UserError
from evaluator.interpreters import venvs
from evaluator.interpreters.installing import Versions, closure, installed
from evaluator.interpreters.variables import looks_like_pin, problem_with
from evaluator.interpreters.versions import canonical, is_version, same_version

# What the workloads of this project use besides torch: an interpreter that is made gets the versions of the first
# one, so that torch alone differs.
WORKLOAD_LIBRARIES: Final = ("numpy", "transformers")
# What comes with the torch in question, whoever asks for it.
_TORCHS_OWN: Final = ("torch", "triton")

_VARIABLE: Final = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)=(.*)", re.DOTALL)
_PIN: Final = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]*)\s*==\s*(\S+)")
# A pin with one equals sign too few, where its name could be no variable's.
_ALMOST_PIN: Final = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]*)\s*=\s*([^\s=]\S*)")


@dataclass(frozen=True)
class Interpreter:
    """One side of a run. ``variables`` are set for its processes alone, and count into its environment.

    ``copy``: which of several equal ones it is, from 1: an environment against itself is the control of a comparison.
    """

    python: Path
    variables: tuple[tuple[str, str], ...] = ()
    copy: int = 1


class Says(Protocol):
    """What is told of long work."""

    def say(self, message: str) -> None: ...


@dataclass(frozen=True)
class Spec:
    """An environment as a user asks for it. ``torch`` None: the torch of the first interpreter given, or of this one.

    ``pins``: distribution -> version that must be there; ``variables``: set for this side alone; ``text``: as given.
    """

    torch: str | None
    pins: tuple[tuple[str, str], ...]
    variables: tuple[tuple[str, str], ...]
    text: str

    @classmethod
    def parse(cls, text: str) -> Spec:
        """A spec from ``TORCH[,DISTRIBUTION==VERSION ...][,NAME=value ...]``; TORCH is a version or ``.``.

        A comma in a variable's value is part of it where what follows is neither a pin nor another variable. Raises
        UserError for anything else.
        """
        first, *rest = text.split(",")
        torch: str | None = None
        if first.strip() == ".":
            pass
        elif is_version(first.strip()):
            torch = first.strip()
        else:
            rest = [first, *rest]
        pins: dict[str, str] = {}
        variables: dict[str, str] = {}
        last: str | None = None
        for part in rest:
            if pin := _PIN.fullmatch(part.strip()):
                _add_pin(pins, pin[1], pin[2], text)
                last = None
            elif (almost := _ALMOST_PIN.fullmatch(part.strip())) and looks_like_pin(almost[1], almost[2]):
                raise UserError(
                    f"{part.strip()!r} in {text!r}: did you mean {canonical(almost[1])}=={almost[2]}?"
                )
            elif variable := _VARIABLE.fullmatch(part.lstrip()):
                last = _add_variable(variables, variable[1], variable[2], text)
            elif last is not None:
                variables[last] += f",{part}"
            else:
                raise UserError(
                    f"{part.strip() or text!r} in {text!r} is no environment: give a torch version (2.14.1) or `.`, then "
                    "pins (transformers==5.20.0) and variables (NAME=value), with commas between"
                )
        if "torch" in pins:
            if torch is not None:
                raise UserError(f"{text!r} names torch twice: give one version of it")
            torch = pins.pop("torch")
        return cls(torch, tuple(sorted(pins.items())), tuple(sorted(variables.items())), text)


def _add_pin(pins: dict[str, str], name: str, version: str, text: str) -> None:
    key = canonical(name)
    if key in pins:
        raise UserError(f"{text!r} pins {key} twice: give one version of it")
    if not is_version(version):
        raise UserError(f"{version!r} in {text!r} is no version: pin one exactly, as in {key}==1.2.3")
    pins[key] = version


def _add_variable(variables: dict[str, str], name: str, value: str, text: str) -> str:
    if name in variables:
        raise UserError(f"{text!r} sets {name} twice: give one value")
    problem = problem_with(name, value)
    if problem is not None:
        raise UserError(f"{text!r}: {problem}")
    variables[name] = value
    return name


@dataclass(frozen=True)
class Planned:
    """An interpreter that was asked for: the one that is there, or how it would be made.

    ``python``: where it is, or will be; ``recipe``: None where it is there; ``torch``: its version, with its build
    where that is known.
    """

    spec: Spec
    python: Path
    torch: str
    recipe: venvs.Recipe | None = None

    @property
    def disk_gb(self) -> float:
        """Disk that making it takes for good, in GB; 0 where it is there."""
        return self.recipe.disk_gb if self.recipe else 0.0

    @property
    def sentence(self) -> str:
        """What a dry run says of it."""
        where = machine.shorten(str(self.python))
        if self.recipe is None:
            return f"{self.spec.text}: torch {self.torch} is in {where}"
        return f"{self.spec.text}: {self.recipe.sentence}"


def plan_interpreters(specs: Sequence[Spec], pythons: Sequence[Path]) -> tuple[Planned, ...]:
    """Which interpreter each spec means: one of ``pythons``, else the running one, else one made before or to be made.

    pip is asked what it would install, so that a version that does not exist is refused before anything is made.
    Raises UserError for that, for an interpreter given that no spec means, and for one without torch.
    """
    here = Path(sys.executable)
    known = tuple(dict.fromkeys([*pythons, here]))
    names = {*WORKLOAD_LIBRARIES, "torch", "triton", *(name for spec in specs for name, _ in spec.pins)}
    found = {python: installed(python, names) for python in known}
    for python in pythons:
        if found[python].get("torch") is None:
            raise UserError(f"{machine.shorten(str(python))} has no torch: give --python one that has it")
    base = known[0]
    planned: list[Planned] = []
    for spec in specs:
        taken = {one.python for one in planned if one.spec.variables == spec.variables}
        planned.append(_plan(spec, base, found, pythons, taken))
    used = {base if spec.torch is None else one.python for spec, one in zip(specs, planned, strict=True)}
    for python in pythons:
        if python not in used and python != here:
            raise UserError(
                f"{machine.shorten(str(python))} has torch {found[python]['torch']}, which none of "
                f"{', '.join(spec.text for spec in specs)} means: leave it out, or name that version"
            )
    return tuple(planned)


def _plan(
    spec: Spec, base: Path, found: Mapping[Path, Versions], given: Sequence[Path], taken: set[Path]
) -> Planned:
    torch = spec.torch or found[base].get("torch")
    if torch is None:
        raise UserError(
            f"{spec.text!r} names no torch and {machine.shorten(str(base))} has none: give a version, or --python"
        )
    wanted = {"torch": torch, **dict(spec.pins)}
    if spec.torch is None:
        # "The same torch" is that interpreter's, unless a pin differs from what it has.
        candidates = [base] if _has(found[base], wanted) else []
    else:
        candidates = [python for python, versions in found.items() if _has(versions, wanted)]
    if candidates:
        # Two specs of one version mean two interpreters where two were given, and else one against itself.
        python = next((one for one in candidates if one in given and one not in taken), candidates[0])
        return Planned(spec, python, str(found[python]["torch"]))
    pins = dict(spec.pins)
    others = {name: version for name in WORKLOAD_LIBRARIES if (version := found[base].get(name)) is not None}
    # Another version of a library may need other versions of what it needs: that is held for the others alone.
    kept = [name for name, version in others.items() if same_version(pins.get(name, version), version)]
    held = {
        name: version
        for name, version in closure(base, kept, _TORCHS_OWN).items()
        if name not in others and name not in pins
    }
    recipe = venvs.recipe(base, torch, {**others, **pins}, held)
    made = recipe.made()
    if made is not None:
        return Planned(spec, recipe.python, made)
    recipe = recipe.looked_up()
    return Planned(spec, recipe.python, recipe.torch, recipe)


def _has(versions: Versions, wanted: Mapping[str, str]) -> bool:
    return all(
        (there := versions.get(name)) is not None and same_version(version, there)
        for name, version in wanted.items()
    )


def find_or_make(specs: Sequence[Spec], pythons: Sequence[Path], progress: Says) -> list[Interpreter]:
    """The interpreter of each spec, in order; those that are not there are made, with pip, and kept for next time.

    Equal ones get the numbers 1, 2, ... as ``copy``. Raises UserError as :func:`plan_interpreters` does, and where the
    disk has no room or pip fails.
    """
    return make(plan_interpreters(specs, pythons), progress)


def make(planned: Sequence[Planned], progress: Says) -> list[Interpreter]:
    """The planned interpreters, with those made that are not there yet. Raises UserError as ``find_or_make`` does."""
    recipes = {one.python: one.recipe for one in planned if one.recipe is not None}
    venvs.require_room(list(recipes.values()))
    for recipe in recipes.values():
        venvs.make(recipe, progress.say)
    return numbered([Interpreter(one.python, one.spec.variables) for one in planned])


def numbered(sides: Sequence[Interpreter]) -> list[Interpreter]:
    """The same sides in their order, with those that are equal numbered 1, 2, ... as ``copy``."""
    found: list[Interpreter] = []
    for side in sides:
        equal = [one for one in found if (one.python, one.variables) == (side.python, side.variables)]
        found.append(replace(side, copy=1 + len(equal)))
    return found


def require_torch(python: Path) -> str:
    """The version of torch under an interpreter. Raises UserError where there is none."""
    torch = installed(python, {"torch"}).get("torch")
    if torch is None:
        raise UserError(f"{machine.shorten(str(python))} has no torch: give --python one that has it")
    return torch


def planned_as_given(pythons: Sequence[Path]) -> tuple[Planned, ...]:
    """The interpreters as they are, in their order, one twice where it is given twice. UserError for one without torch."""
    planned = []
    for python in pythons:
        spec = Spec(None, (), (), machine.shorten(str(python)))
        planned.append(Planned(spec, python, require_torch(python)))
    return tuple(planned)
